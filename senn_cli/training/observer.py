"""Who is told of a run: one interface for files, trackers, checkpoints, views and callbacks.

A run tells its observers of every moment in this order:

1. what writes rows and events into the run directory: a checkpoint notes how long those files are;
2. trackers (TensorBoard and its like);
3. recordings;
4. checkpoints: one that stands on the disk has the rows and events before it beside it;
5. whoever was passed in (the view on a terminal, callbacks), in the order given: what they are told
   of has been written, and a checkpoint that is due then is under way.

`phase`, `note` and `interrupted` reach those of 5 alone. Nothing is imported here that takes time:
the command line says its first word before JAX is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from senn_cli.training.network import Network
    from senn_cli.training.snapshot import Moment

Halt = Literal["finished", "stopped", "diverged"]
Event = dict[str, Any]
"""A line of the history."""


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


class Observer:
    """Told of a run's moments in their order; this one ignores all of them.

    Whatever is raised ends the run. Rows and events are the very mappings that are written to
    `metrics.jsonl` and `history.jsonl`.
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

    def metrics(self, row: Mapping[str, Any]) -> None:
        """A row of metrics: step, epoch, seconds, train_loss, validation_loss, validation_accuracy
        or validation_mse, hidden, parameters, learning_rate, and eta where it is known."""

    def improved(self, moment: Moment) -> None:
        """The evaluation at `moment` is the best so far; a growth round of its step is to come."""

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """A growth round.

        Args:
          events: in order, each with step, epoch, edit (None for a rejection), reason, site, ...
          before, after: the moments around it; of one network where it changed nothing.
        """

    def boundary(self, moment: Moment) -> None:
        """Between two dispatches of steps, when everything is consistent."""

    def stops(self) -> bool:
        """Whether the run should stop at its next boundary; it can be resumed from there.

        Asked at boundaries, and between the programs of a growth round, which is then begun anew
        by whoever resumes.
        """
        return False

    def halted(self, moment: Moment, how: Halt) -> None:
        """No step follows `moment`; a run that `stopped` can go on from there."""

    def result(self, network: Network) -> None:
        """What a finished run ends with, its last network or its best; its weights and the summary
        are written after this."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """The summary of a run that has finished or diverged, as written to `summary.json`."""

    def note(self, text: str) -> None:
        """Something that a user should know, in a sentence."""

    def interrupted(self) -> None:
        """A first signal has asked the run to stop; called from another thread, at once."""

    def close(self) -> None:
        """Nothing more will come, or the process may end at once: gives the terminal back, and
        whatever else is held. May be called from another thread, and again."""


class Observers(Observer):
    """Tells several of everything, in their order."""

    def __init__(self, members: Sequence[Observer]) -> None:
        self.members = tuple(members)

    def start(self, start: Start) -> None:
        """Passed on."""
        for member in self.members:
            member.start(start)

    def phase(self, name: str, what: str = "") -> None:
        """Passed on."""
        for member in self.members:
            member.phase(name, what)

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Passed on."""
        for member in self.members:
            member.metrics(row)

    def improved(self, moment: Moment) -> None:
        """Passed on."""
        for member in self.members:
            member.improved(moment)

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Passed on."""
        for member in self.members:
            member.round(events, before, after)

    def boundary(self, moment: Moment) -> None:
        """Passed on."""
        for member in self.members:
            member.boundary(moment)

    def stops(self) -> bool:
        """Whether one of them says so."""
        return any(member.stops() for member in self.members)

    def halted(self, moment: Moment, how: Halt) -> None:
        """Passed on."""
        for member in self.members:
            member.halted(moment, how)

    def result(self, network: Network) -> None:
        """Passed on."""
        for member in self.members:
            member.result(network)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Passed on."""
        for member in self.members:
            member.end(summary)

    def note(self, text: str) -> None:
        """Passed on."""
        for member in self.members:
            member.note(text)

    def interrupted(self) -> None:
        """Passed on."""
        for member in self.members:
            member.interrupted()

    def close(self) -> None:
        """Passed on."""
        for member in self.members:
            member.close()
