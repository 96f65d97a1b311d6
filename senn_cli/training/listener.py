"""What the training loop tells whoever watches it; the loop knows nothing of terminals or files."""

from __future__ import annotations

from collections.abc import Mapping
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


class Listener(Protocol):
    """Receives a run's progress in order; every method returns at once.

    Rows and events are the very mappings that are written to `metrics.jsonl` and `history.jsonl`.
    """

    def start(self, start: Start) -> None:
        """Training is about to begin."""

    def phase(self, name: str) -> None:
        """The loop enters a phase: `train`, `score`, `surgery`, `compile`, `evaluate` or `save`."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """A row of metrics: step, epoch, seconds, train_loss, validation_loss, validation_accuracy
        or validation_mse, hidden, parameters, learning_rate, eta."""

    def event(self, event: Mapping[str, Any]) -> None:
        """A growth event: step, epoch, edit (None for a rejection), reason, site, ..."""

    def note(self, text: str) -> None:
        """Something that a user should know, in a sentence."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """The run's summary, as written to `summary.json`."""

    def close(self) -> None:
        """The process may end: gives the terminal back; harmless when repeated."""


class Silent:
    """A listener that ignores everything."""

    def start(self, start: Start) -> None:
        """Ignore."""

    def phase(self, name: str) -> None:
        """Ignore."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Ignore."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """Ignore."""

    def close(self) -> None:
        """Ignore."""
