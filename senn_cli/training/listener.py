"""What the training loop tells whoever watches it; the loop knows nothing of terminals or files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Start:
    """What is known when training begins.

    Attributes:
      name: the run's name.
      run_directory: where the run writes, or an empty text.
      device: the device in words, such as `cpu` or `NVIDIA H100`.
      task: `classification` or `regression`.
      train, validation, test: numbers of examples.
      steps_per_epoch: training steps in one epoch.
      total_steps: steps of the whole run, or None when its length is given in minutes.
      step: the step it starts from (0, or more when resumed).
      hidden: widths of the hidden layers.
      parameters: parameters in use.
      unit: what a layer's width counts: `neuron` or `channel`.
      programs: about how many programs will be compiled; 0 where nobody can tell.
      kept: whether the next run finds them compiled.
    """

    name: str
    run_directory: str
    device: str
    task: str
    train: int
    validation: int
    test: int
    steps_per_epoch: int
    total_steps: int | None
    step: int
    hidden: tuple[int, ...]
    parameters: int
    unit: str = "neuron"
    programs: int = 0
    kept: bool = False


class Listener(Protocol):
    """Receives a run's progress in order; every method returns at once.

    Rows and events are the very mappings that are written to `metrics.jsonl` and `history.jsonl`.
    """

    def start(self, start: Start) -> None:
        """Training is about to begin."""

    def phase(self, name: str, what: str = "") -> None:
        """The run enters a phase.

        Args:
          name: `import`, `device` or `data` before training; `train`, `track`, `score`, `surgery`,
            `compile`, `evaluate` or `save`.
          what: of `compile`, the program.
        """

    def step(self, step: int) -> None:
        """Training has come to `step`."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """A row of metrics: step, epoch, seconds, train_loss, validation_loss, validation_accuracy
        or validation_mse, hidden, parameters, learning_rate, eta."""

    def round(self, events: Sequence[Mapping[str, Any]]) -> None:
        """A growth round: its events in order, each with step, epoch, edit (None for a rejection),
        reason, site, ..."""

    def note(self, text: str) -> None:
        """Something that a user should know, in a sentence."""

    def interrupted(self) -> None:
        """A first signal has asked the run to stop; called from another thread, at once."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """The run's summary, as written to `summary.json`."""

    def close(self) -> None:
        """The process may end: gives the terminal back; harmless when repeated."""


class Silent:
    """A listener that ignores everything."""

    def start(self, start: Start) -> None:
        """Ignore."""

    def phase(self, name: str, what: str = "") -> None:
        """Ignore."""

    def step(self, step: int) -> None:
        """Ignore."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Ignore."""

    def round(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def interrupted(self) -> None:
        """Ignore."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """Ignore."""

    def close(self) -> None:
        """Ignore."""
