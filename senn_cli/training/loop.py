"""Training a growing network: steps, evaluations and growth rounds in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

import jax
import numpy as np

from senn_cli.curvature.kronecker import Spectrum
from senn_cli.curvature.tracking import Tracked
from senn_cli.data.dataset import Dataset
from senn_cli.engine.arrays import on_device
from senn_cli.engine.ending import NEVER, Ending
from senn_cli.engine.feed import Data, Feed
from senn_cli.engine.hosts import here
from senn_cli.engine.mesh import ONE, Placement
from senn_cli.engine.programs import Aborted, Ledger, Program
from senn_cli.engine.trust import changed
from senn_cli.errors import DivergedError
from senn_cli.growth.policy import Policy, View
from senn_cli.growth.settings import Limits
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.registry import kind_of
from senn_cli.nets.slots import slots_of
from senn_cli.randomness import key_data
from senn_cli.training.ahead import in_thread, shapes_of
from senn_cli.training.best import Best, Watch
from senn_cli.training.exact import LIMIT, gain
from senn_cli.training.forks import Forks
from senn_cli.training.growing import Carried, Grower, events_of
from senn_cli.training.looking import Look
from senn_cli.training.measure import Measure
from senn_cli.training.network import Network, Placed, TrainState, placed_in
from senn_cli.training.observer import Observer
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.region import row_of
from senn_cli.training.snapshot import GrowthMemory, Moment
from senn_cli.training.step import FAULTS, Keys, Progress, no_progress
from senn_cli.training.stepping import RunSteps
from senn_cli.training.timetable import Rate, Timetable
from senn_cli.training.vitals import Vitals

EXPLODED = 100.0
"""Training has diverged when a batch's loss exceeds this many times the larger of 1 and the loss
at the start."""


@dataclass
class Trainer:
    """A run in progress.

    Attributes:
      network, progress, memory, best: what changes; together the run's `moment`.
      watch: what evaluations are judged by; None where nobody asks for the best one.
      vitals: how units fare, and system: their Fisher matrix, for the audit; None where there is
        none.
      place: over which devices the run goes.
      deepens: whether an inserted layer compiles nothing, `nets/slots.py`.
      limit: the loss above which training has diverged.
      last_row: the newest row of metrics.
    """

    dataset: Dataset
    train: Data
    validation: Data | None
    network: Network
    optimizer: Optimizer
    policy: Policy
    limits: Limits
    timetable: Timetable
    rule: CapacityRule
    seed: int
    ledger: Ledger
    run_steps: RunSteps
    evaluate: Program
    added: Program
    track: Look | None
    input_spectrum: Spectrum | None
    watch: Watch | None = None
    vitals: Program | None = None
    system: Program | None = None
    place: Placement = ONE
    deepens: bool = False
    progress: Any = field(default_factory=no_progress)
    memory: GrowthMemory = field(default_factory=GrowthMemory)
    best: Best = field(default_factory=Best)
    limit: float = np.inf
    last_row: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.measure = Measure(self.dataset, self.evaluate, self.added, self.ledger, self.deepens)
        keys = Keys(*(key_data(self.seed, use) for use in ("batches", "fisher", "augment")))
        self.keys, self.progress, self.track_key = self.place.replicated(
            (keys, self.progress, key_data(self.seed, "track"))
        )
        self.network = self.network.on(self.place)
        most = kind_of(self.network.architecture).sample
        first = np.arange(min(most, len(self.dataset.train)))
        self.sample = on_device(self.dataset, self.dataset.train.take(first), self.place)
        self.input_factor = self.input_spectrum if self.optimizer.fixed_input_factor else None
        self.best = self.best.watched_by(self.watch)

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return int(self.network.state.step)

    @property
    def moment(self) -> Moment:
        """Everything that changes, as it is now."""
        return Moment(self.network, self.progress, self.memory, self.best)

    def go_to(self, moment: Moment) -> None:
        """Puts the run where `moment` was."""
        self.network = moment.network.on(self.place)
        self.progress = self.place.replicated(moment.progress)
        self.memory, self.best = moment.memory, moment.best.watched_by(self.watch)

    def run(self, observer: Observer) -> None:
        """Trains to the end of the timetable or of the patience, or until `observer` stops it.

        Raises:
          DivergedError: a loss, gradient or update is not finite or far above its start; the
            network is left as before that step.
        """
        table, step = self.timetable, self.step
        rate = Rate(step)
        self._prepare()
        if self.memory.pending and not self.exhausted:
            self._grow(observer)
        while not (self.finished or step == table.until or _stops(observer)):
            if step == 0:
                # The first step may need the curvature. It follows at once: a moment that has
                # looked and taken no step would look again when it is resumed.
                self.network = self.looked(self.network)
            stop = table.next_stop(step, here().agreed("a step", rate.steps_at_a_time))
            before = self.ledger.seconds["train"]
            with self.ledger.phase("train"):
                self.network, self.progress = self.advanced(
                    self.network, self.progress, stop, ended=self.memory.ended
                )
                step = self.step
            rate.saw(stop, self.ledger.seconds["train"] - before)
            if int(self.progress.fault):
                self._diverged(step)
            improved = table.evaluates(step) and self._report(step, observer)
            if table.tracks(step):
                self.network = self.looked(self.network)
            if table.due(step, self.memory.rest, self.memory.ended):
                self.memory = replace(self.memory, pending=True)
            if improved:
                observer.improved(self.moment)
            if self.memory.pending and not self.exhausted:
                self._grow(observer)
            observer.boundary(self.moment)

    def close(self, observer: Observer) -> None:
        """A last row of metrics, where the clock has ended the run between two evaluations."""
        if int(self.progress.steps) and self._report(self.step, observer):
            observer.improved(self.moment)

    def _report(self, step: int, observer: Observer) -> bool:
        """A row of metrics; whether it is the best so far."""
        self.last_row = self._row(step)
        observer.metrics(self.last_row)
        if self.watch is None:
            return False
        self.best = self.best.after(self.watch, self.last_row)
        return self.best.step == step

    def _grow(self, observer: Observer) -> None:
        """The growth round that is pending; it stays so where it is interrupted."""
        before, grower = self.moment, self._grower()
        try:
            with self.ledger.abortable(lambda: _stops(observer)):
                network, memory, carried = grower.round(self.network, self.memory)
                view = grower.view(self.network, self.memory)
                self._audit(network, carried, grower.sample_loss, memory.ended, view)
        except Aborted:
            return
        self.network, self.memory = network, replace(memory, pending=False)
        self._prepare()
        observer.round(events_of(carried), before, self.moment)

    def _grower(self) -> Grower:
        """What a round needs.

        Rounds by what is tracked are many, so that a smaller sample tells what they did to the
        loss.
        """
        sample_loss = loss = self.measure.loss_on(self.sample)
        if self.track is None:
            loss = self.measure.loss_on(self.train if self.validation is None else self.validation)
        return Grower(
            policy=self.policy,
            optimizer=self.optimizer,
            rule=self.rule,
            ledger=self.ledger,
            data=self.train,
            loss=loss,
            validated=self.track is None and self.validation is not None,
            sample=self.sample,
            sample_loss=sample_loss,
            seed=self.seed,
            limits=self.limits,
            timetable=self.timetable,
            input_spectrum=self.input_spectrum,
        )

    def _audit(
        self,
        after: Network,
        carried: list[Carried],
        loss: Callable[[Network], float],
        ended: int | None,
        view: View,
    ) -> None:
        """What a round's edits are worth by themselves, written into its events; see `Forks`.

        Args:
          ended: the end of growth that the round has found.
          view: what the policy was shown.
        """
        if self.timetable.audit is None or self.vitals is None:
            return
        vitals = self.vitals
        sample, system, exact = self.policy.deciding(view), self.system, None
        if (
            system is not None
            and sample is not None
            and len(sample) * self.dataset.outputs <= LIMIT
        ):
            exact = partial(gain, system, self.train, sample)

        def fare(network: Network) -> dict[str, Vitals]:
            shape, params = network.architecture.shape(), network.state.params
            found: dict[str, Vitals] = vitals(shape, params, network.widths, self.sample)
            return found

        forks = Forks(
            steps=self.timetable.audit,
            timetable=self.timetable,
            begin=lambda: self.place.replicated(no_progress()),
            advance=partial(self.advanced, ended=ended),
            look=self.looked,
            loss=loss,
            vitals=fare,
            gain=exact,
        )
        with self.ledger.phase("audit"):
            forks.tell(self.network, after, carried)

    def _prepare(self) -> None:
        """Compiles for the next rows of metrics and round in a thread, while training goes on."""
        memory, network = self.memory, self.network
        grows = self.timetable.next_round(self.step, memory.rest, memory.ended) is not None
        coming = self.policy.upcoming(network.architecture) if grows else None
        view = None
        if coming is not None:
            network = shapes_of(coming, self.optimizer, self.place)
        if grows:
            view = replace(
                self._grower().view(self.network, memory),
                architecture=network.architecture,
                params=network.state.params,
                widths=network.widths,
                tracked=network.state.curvature,
                loss=lambda: self.limit / EXPLODED,
            )
        in_thread(self._jobs(network, view, enlarged=coming is not None))

    def _jobs(
        self, network: Network, view: View | None, *, enlarged: bool
    ) -> Iterator[Callable[[], None]]:
        """What there is to compile for a network, whose arrays may be shapes; first things first.

        Args:
          view: of the next round, None where none comes.
          enlarged: whether it is the network that the next round will make room for.
        """
        shape, state = network.architecture.shape(), network.state
        if enlarged:
            yield self._first_steps(network)
            if self.track is not None:
                looks = (shape, state.curvature, state.params, network.widths)
                yield self.track.expect(*looks, self.train, self.track_key, np.int32(0))
        for data in (self.validation, None if view is None else self.sample):
            if data is not None and not isinstance(data, Feed):
                yield self.measure.expect(data, network)
        if view is not None:
            yield from self.policy.expect(view)

    def begin(self) -> None:
        """Has a thread compile the steps to come, while all else is made ready for them."""
        in_thread([self._first_steps(self.network)])

    def _first_steps(self, network: Network) -> Callable[[], None]:
        """What compiles the steps of such a network, of arrays or of shapes alone."""
        _, shape, state, widths = self._placed(network, network.state)
        steps = (shape, state, self.progress, widths, self.train, self.keys, self.input_factor)
        return self.run_steps.expect(*steps, np.int32(0), np.float32(0))

    def _placed(self, network: Network, state: TrainState) -> Placed:
        slots = slots_of(network.architecture, 2) if self.deepens else None
        return placed_in(slots, network, state, self.optimizer)

    @property
    def exhausted(self) -> bool:
        """Whether the patience with evaluations that do not improve has ended."""
        patience = None if self.watch is None else self.watch.patience
        return patience is not None and self.best.waited >= patience

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end."""
        table = self.timetable
        if self.exhausted:
            return True
        if table.total is not None:
            return self.step >= table.total
        if table.minutes is None:
            return False
        return bool(here().agreed("the clock", self.ledger.total() >= 60 * table.minutes))

    def advanced(
        self, network: Network, progress: Any, stop: int, *, ended: int | None
    ) -> tuple[Network, Any]:
        """A network after step `stop`, with the sums until there; both are used up.

        Args:
          ended: the step at which growth has ended; None where it has not.
        """
        state = network.state
        if self.optimizer.waits:
            known = self.place.replicated(np.int32(NEVER if ended is None else ended))
            told = changed(state.optimizer, Ending, lambda ending: ending._replace(ended=known))
            state = state._replace(optimizer=told)
        slots, shape, filled, widths = self._placed(network, state)
        found, progress = self.run_steps(
            shape,
            filled,
            progress,
            widths,
            self.train,
            self.keys,
            self.input_factor,
            np.int32(stop),
            np.float32(self.limit),
        )
        if slots is not None:
            found = slots.emptied(found, state)
        return Network(network.architecture, found, network.widths), progress

    def looked(self, network: Network) -> Network:
        """A network after a look at the curvature, where it is tracked; it is used up."""
        if self.track is None:
            return network
        with self.ledger.phase("track"):
            curvature = self.track(
                network.architecture.shape(),
                network.state.curvature,
                network.state.params,
                network.widths,
                self.train,
                self.track_key,
                np.int32(network.state.step),
            )
            state = network.state._replace(curvature=jax.block_until_ready(curvature))
        return replace(network, state=state)

    def _row(self, step: int) -> dict[str, Any]:
        """A row of metrics; the sums start anew."""
        progress: Progress = jax.device_get(self.progress)
        count = max(int(progress.steps), 1)
        architecture = self.network.architecture
        row: dict[str, Any] = {
            "step": step,
            "epoch": step / self.timetable.per_epoch,
            "train_loss": float(progress.loss) / count,
            **self._eta(step, float(progress.eta) / count),
            **row_of(self.network.state.optimizer, adapts=self.optimizer.adapts),
            "learning_rate": float(self.optimizer.rate(step, self.network.state.optimizer)),
            "hidden": list(architecture.widths),
            "parameters": architecture.parameters,
        }
        with self.ledger.phase("evaluate"):
            if self.validation is not None:
                loss, value = self.measure(self.validation, self.network)
                row |= {"validation_loss": loss, f"validation_{self.measure.figure}": value}
        row["seconds"] = round(self.ledger.total(), 3)
        self.progress = self.place.replicated(no_progress())
        return row

    def _eta(self, step: int, decrement: float) -> dict[str, Any]:
        """The score g^T F^-1 g of a row, where the curvature is known.

        Args:
          step: of the row.
          decrement: g^T d over the steps since the last row, of their directions d: that is the
            score where they are natural gradients.
        """
        if self.optimizer.solver is not None:
            return {"eta": decrement}
        network = self.network
        shape, state = network.architecture.shape(), network.state
        if not isinstance(state.curvature, Tracked):
            return {}
        with self.ledger.phase("score"):
            eta = self.policy.eta(shape, state.curvature, state.params, network.widths)
        return {} if eta is None else {"eta": eta, "eta_step": self.timetable.looked(step)}

    def _diverged(self, step: int) -> NoReturn:
        name = FAULTS[int(self.progress.fault)]
        damped = " or raise optimizer.damping" if self.optimizer.solver is not None else ""
        raise DivergedError(
            f"{name} at step {step + 1} is not finite or has exploded (limit {self.limit:g})",
            hint=f"lower optimizer.learning_rate{damped}; the weights of step {step} are kept",
        )


def _stops(observer: Observer) -> bool:
    """Whether an observer of any process asks to stop."""
    return any(here().gathered("a boundary", observer.stops()))
