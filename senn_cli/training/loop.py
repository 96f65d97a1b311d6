"""Training a growing network: steps, evaluations and growth rounds in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import jax
import numpy as np

from senn_cli.curvature.kronecker import Spectrum
from senn_cli.data.dataset import Dataset
from senn_cli.errors import DivergedError
from senn_cli.growth.edits import CapacityRule, Edit, EnlargeCapacity, InsertLayer, describe
from senn_cli.growth.policy import Decision, Policy, View
from senn_cli.randomness import key_data
from senn_cli.training.arrays import Arrays
from senn_cli.training.network import Network, apply_edits, capacity_edits
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.programs import Ledger, Program
from senn_cli.training.step import FAULTS, Keys, Progress, no_progress


@dataclass(frozen=True)
class Timetable:
    """When what happens, in steps.

    Attributes:
      total: length of the run, None if only `minutes` limit it.
      minutes: limit in wall time, or None.
      per_epoch: steps in an epoch.
      evaluate: steps between evaluations.
      grow: steps between growth rounds; rounds happen from `grow_start` to `grow_until`.
      layer_every: least steps between two inserted layers.
    """

    total: int | None
    minutes: float | None
    per_epoch: int
    evaluate: int
    grow: int
    grow_start: int
    grow_until: int | None
    layer_every: int

    def next_stop(self, step: int, most: int) -> int:
        """The next step after `step` at which something is due, at most `most` steps away."""
        stops = [step + most, (step // self.evaluate + 1) * self.evaluate]
        stops.append((step // self.grow + 1) * self.grow)
        if self.total is not None:
            stops.append(self.total)
        return min(stops)

    def evaluates(self, step: int) -> bool:
        """Whether a row of metrics is due after `step` steps."""
        return step % self.evaluate == 0 or step == self.total

    def grows(self, step: int) -> bool:
        """Whether a growth round is due after `step` steps; none at the very end."""
        return (
            step % self.grow == 0
            and step >= self.grow_start
            and (self.grow_until is None or step <= self.grow_until)
            and step != self.total
        )


@dataclass
class GrowthMemory:
    """What growth remembers between rounds; plain values, part of every checkpoint."""

    last_layer_step: int | None = None
    accepted: int = 0

    def layer_allowed(self, step: int, every: int) -> bool:
        """Whether the cooldown since the last inserted layer has passed."""
        return self.last_layer_step is None or step - self.last_layer_step >= every


@dataclass(frozen=True)
class Outputs:
    """Where rows of metrics and events go, and who is asked whether to go on."""

    metrics: Callable[[Mapping[str, Any]], None]
    event: Callable[[Mapping[str, Any]], None]
    interrupted: Callable[[], bool] = lambda: False
    boundary: Callable[[Trainer], None] = lambda trainer: None


@dataclass
class Trainer:
    """A run in progress.

    Fields that change: `network`, `progress` (sums since the last row), `memory`.
    """

    dataset: Dataset
    train: Arrays
    validation: Arrays | None
    network: Network
    optimizer: Optimizer
    policy: Policy
    timetable: Timetable
    rule: CapacityRule
    seed: int
    ledger: Ledger
    run_steps: Program
    evaluate: Program
    input_spectrum: Spectrum | None
    progress: Any = field(default_factory=no_progress)
    memory: GrowthMemory = field(default_factory=GrowthMemory)
    limit: float = np.inf

    def __post_init__(self) -> None:
        self.keys = jax.device_put(
            Keys(key_data(self.seed, "batches"), key_data(self.seed, "fisher"))
        )
        self.progress = jax.device_put(self.progress)
        self.input_factor = self.input_spectrum if self.optimizer.fixed_input_factor else None

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return int(self.network.state.step)

    def run(self, outputs: Outputs) -> None:
        """Trains to the end of the timetable, or until `outputs.interrupted()`.

        Raises:
          DivergedError: a loss, gradient or update is not finite or far above its start; the
            network is left as before that step.
        """
        table, step = self.timetable, self.step
        rate = _Rate(step)
        while not self._finished(step) and not outputs.interrupted():
            stop = table.next_stop(step, rate.steps_at_a_time)
            before = self.ledger.seconds["train"]
            with self.ledger.phase("train"):
                self._advance(stop)
                step = self.step
            rate.saw(stop, self.ledger.seconds["train"] - before)
            if int(self.progress.fault):
                self._diverged(step)
            if table.evaluates(step):
                outputs.metrics(self._row(step))
            if table.grows(step):
                self._grow(step, outputs)
            outputs.boundary(self)
        if int(self.progress.steps):  # the clock or a signal ended it between two evaluations
            outputs.metrics(self._row(step))

    def _finished(self, step: int) -> bool:
        table = self.timetable
        if table.total is not None and step >= table.total:
            return True
        return table.minutes is not None and self.ledger.total() >= 60 * table.minutes

    def _advance(self, stop: int) -> None:
        """Steps up to step `stop`, in one dispatch."""
        network = self.network
        state, self.progress = self.run_steps(
            network.architecture.shape(),
            network.state,
            self.progress,
            network.widths,
            self.train,
            self.keys,
            self.input_factor,
            np.int32(stop),
            np.float32(self.limit),
        )
        self.network = Network(network.architecture, state, network.widths)

    def measure(self, data: Arrays) -> tuple[float, float]:
        """Mean loss and figure (accuracy or mean squared error) over all of `data`."""
        network = self.network
        shape = network.architecture.shape()
        loss, value = self.evaluate(shape, network.state.params, network.widths, data)
        return float(loss), float(value)

    @property
    def figure_name(self) -> str:
        """`accuracy` or `mse`."""
        return "accuracy" if self.dataset.task == "classification" else "mse"

    def _row(self, step: int) -> dict[str, Any]:
        """A row of metrics; the sums start anew."""
        progress: Progress = jax.device_get(self.progress)
        count = max(int(progress.steps), 1)
        architecture = self.network.architecture
        row: dict[str, Any] = {
            "step": step,
            "epoch": step / self.timetable.per_epoch,
            "train_loss": float(progress.loss) / count,
            "eta": float(progress.eta) / count,
            "learning_rate": float(self.optimizer.schedule(step)),
            "hidden": list(architecture.widths),
            "parameters": architecture.parameters,
        }
        with self.ledger.phase("evaluate"):
            if self.validation is not None:
                loss, value = self.measure(self.validation)
                row |= {"validation_loss": loss, f"validation_{self.figure_name}": value}
        row["seconds"] = round(self.ledger.total(), 3)
        self.progress = jax.device_put(no_progress())
        return row

    def _grow(self, step: int, outputs: Outputs) -> None:
        """One growth round, and its events."""
        reference = self.validation if self.validation is not None else self.train
        loss_before: float | None = None
        asked, added = 0, 0
        while True:
            with self.ledger.phase("score"):
                result = self.policy.decide(self._view(step, asked, added))
            if not result.decisions:
                return
            if loss_before is None and any(d.edit is not None for d in result.decisions):
                with self.ledger.phase("evaluate"):
                    loss_before, _ = self.measure(reference)
            events = []
            for decision in result.decisions:
                events += self._carried_out(step, decision)
            loss_after = loss_before
            if loss_before is not None:
                with self.ledger.phase("evaluate"):
                    loss_after, _ = self.measure(reference)
            for event in events:
                if event["accepted"]:
                    event |= {"loss_before": loss_before, "loss_after": loss_after}
                outputs.event(event)
            if result.finished:
                return
            asked, added = asked + 1, added + sum(d.edit is not None for d in result.decisions)

    def _carried_out(self, step: int, decision: Decision) -> list[dict[str, Any]]:
        """Applies a decision's edit, if it has one, and returns its events."""
        if decision.edit is None:
            return [self._event(step, decision)]
        started = time.perf_counter()
        with self.ledger.phase("surgery"):
            edits = capacity_edits(self.network.architecture, decision.edit, self.rule)
            events = [self._applied(step, decision, edit) for edit in edits]
        events[-1]["seconds"]["surgery"] = round(time.perf_counter() - started, 4)
        return events

    def _applied(self, step: int, decision: Decision, edit: Edit) -> dict[str, Any]:
        """Applies `edit` and returns its event."""
        self.network = apply_edits(self.network, [edit], self.optimizer, self.rule)
        if isinstance(edit, InsertLayer):
            self.memory.last_layer_step = step
        if isinstance(edit, EnlargeCapacity):
            bare = Decision(edit, reason="a neuron needs room")
            return self._event(step, bare, edit)
        self.memory.accepted += 1
        return self._event(step, decision, edit)

    def _event(self, step: int, decision: Decision, edit: Edit | None = None) -> dict[str, Any]:
        """A line of the history."""
        architecture = self.network.architecture
        event: dict[str, Any] = {
            "step": step,
            "epoch": step / self.timetable.per_epoch,
            "edit": None,
            "accepted": edit is not None,
            "reason": decision.reason,
        }
        if edit is not None:
            event |= describe(edit)
        if decision.candidates:
            chosen = decision.candidates[0]
            event |= {"site": str(chosen.site)} | {
                k: v for k, v in chosen.to_json().items() if k not in ("kind", "site", "passes")
            }
            event["predicted_gain"] = chosen.delta_eta / 2
        event |= {
            "threshold": decision.threshold,
            "stop": decision.stop,
            "bound": decision.bound,
            "train_loss": decision.loss,
            "hidden": list(architecture.widths),
            "capacities": list(architecture.capacities),
            "parameters": architecture.parameters,
            "candidates": [c.to_json() for c in decision.candidates],
            "seconds": {"score": round(decision.seconds, 4)},
        }
        return event

    def _view(self, step: int, asked: int, added: int) -> View:
        spectrum = self.input_spectrum
        return View(
            architecture=self.network.architecture,
            params=self.network.state.params,
            widths=self.network.widths,
            data=self.train,
            seed=self.seed,
            step=step,
            asked=asked,
            added=added,
            layer_allowed=self.memory.layer_allowed(step, self.timetable.layer_every),
            input_spectrum=None if spectrum is None else (spectrum.values, spectrum.vectors),
        )

    def _diverged(self, step: int) -> NoReturn:
        name = FAULTS[int(self.progress.fault)]
        raise DivergedError(
            f"{name} at step {step + 1} is not finite or has exploded (limit {self.limit:g})",
            hint="lower optimizer.learning_rate or raise optimizer.damping; the weights of "
            f"step {step} are kept",
        )


class _Rate:
    """How many steps to take in one dispatch: about a second's worth, so that signals are heard."""

    def __init__(self, step: int) -> None:
        self.steps_at_a_time = 64
        self._last = step

    def saw(self, stop: int, seconds: float) -> None:
        """Learns from steps up to `stop` that took `seconds`."""
        steps, self._last = stop - self._last, stop
        if steps > 0 and seconds > 0:
            self.steps_at_a_time = int(np.clip(steps / seconds, 1, 4096))
