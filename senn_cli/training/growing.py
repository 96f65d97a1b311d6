"""A growth round as the loop sees it: ask the policy, apply its edits, write events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from senn_cli.curvature.kronecker import Spectrum
from senn_cli.curvature.tracking import Tracked
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.feed import Data
from senn_cli.engine.programs import Ledger
from senn_cli.growth.edits import (
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    Redraw,
    RemoveUnit,
    Reorder,
    describe,
)
from senn_cli.growth.judgement import full
from senn_cli.growth.policy import Decision, Policy, View
from senn_cli.growth.settings import Limits
from senn_cli.growth.told import told
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.features import Architecture
from senn_cli.training.network import Network, apply_edits, capacity_edits
from senn_cli.training.observer import Event
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.snapshot import GrowthMemory
from senn_cli.training.timetable import Timetable

_ITS_OWN = ("kind", "passes", "weights", "layer")
"""What of a candidate is no part of its event, which tells it otherwise."""


class Carried(NamedTuple):
    """One thing that a round did.

    Attributes:
      architecture: before it.
      edit: None for a rejection.
      event: its line of the history, None where it has none.
    """

    architecture: Architecture
    edit: Edit | None
    event: Event | None


@dataclass(frozen=True)
class Grower:
    """What a round needs and does not change.

    Attributes:
      loss: the loss of a network on the reference data, for decisions; for the history before and
        after a round, too, where these are a validation part.
      validated: whether these are a validation part.
      sample: training examples; sample_loss: the loss on them, for what an edit does to it, and
        for the history where there is no validation part.
      limits: how far anything may grow.
      timetable: when rounds are due.
    """

    policy: Policy
    optimizer: Optimizer
    rule: CapacityRule
    ledger: Ledger
    data: Data
    loss: Callable[[Network], float]
    validated: bool
    sample: Arrays
    sample_loss: Callable[[Network], float]
    seed: int
    limits: Limits
    timetable: Timetable
    input_spectrum: Spectrum | None

    def round(
        self, network: Network, memory: GrowthMemory
    ) -> tuple[Network, GrowthMemory, list[Carried]]:
        """The network and memory after a round, and what it did; the arguments stay as they are."""
        # All training examples would hold the next step up for longer than the edits do.
        told_loss = self.loss if self.validated else self.sample_loss
        loss_before: float | None = None
        asked, added, carried = 0, 0, list[Carried]()
        idle = memory.idle + 1
        if self.policy.compares(memory.idle):
            self.loss(network)  # for `reference`: a phase of its own, not one within that of scores
        while True:
            with self.ledger.phase("score"):
                result = told(self.policy.decide(self.view(network, memory, asked, added)))
            accepted = sum(decision.edit is not None for decision in result.decisions)
            changes = _changes(result.decisions)
            if loss_before is None and changes:
                loss_before = told_loss(network)
            if not all(isinstance(edit, RemoveUnit) for edit in changes):
                idle = 0
            for decision in result.decisions:
                network, memory, more = self._carry_out(network, memory, decision)
                carried += more
            if result.kept is not None:
                memory = replace(memory, kept=result.kept)
            asked, added = asked + 1, added + accepted
            if result.finished:
                break
        step, rest = int(network.state.step), self.timetable.rest(idle)
        if rest > (self.timetable.grow or 1):
            memory = replace(memory, rest=step + rest)
        if memory.ended is None and (result.ended or full(self.limits, network.architecture)):
            memory = replace(memory, ended=step)
        memory = replace(memory, idle=idle)
        for event in events_of(carried)[-1:]:
            event["next_round"] = self.timetable.next_round(step, memory.rest, memory.ended)
        if loss_before is not None:
            loss_after = told_loss(network)
            for event in events_of(carried):
                if event["accepted"]:
                    event |= {"loss_before": loss_before, "loss_after": loss_after}
        return network, memory, carried

    def view(self, network: Network, memory: GrowthMemory, asked: int = 0, added: int = 0) -> View:
        """What the policy is shown."""
        spectrum, step = self.input_spectrum, int(network.state.step)
        curvature = network.state.curvature
        return View(
            architecture=network.architecture,
            params=network.state.params,
            widths=network.widths,
            data=self.data,
            seed=self.seed,
            step=step,
            asked=asked,
            added=added,
            every=self.timetable.grow or 1,
            per_epoch=self.timetable.per_epoch,
            layer_allowed=memory.layer_allowed(step, self.timetable.layer_every),
            input_spectrum=None if spectrum is None else (spectrum.values, spectrum.vectors),
            tracked=curvature if isinstance(curvature, Tracked) else None,
            sample=self.sample,
            loss=lambda: self.sample_loss(network),
            reference=lambda: self.loss(network),
            validated=self.validated,
            kept=memory.kept,
            idle=memory.idle,
        )

    def _carry_out(
        self, network: Network, memory: GrowthMemory, decision: Decision
    ) -> tuple[Network, GrowthMemory, list[Carried]]:
        """Applies a decision's edit, if it has one."""
        if decision.edit is None:
            event = self._event(network, decision)
            return network, memory, [Carried(network.architecture, None, event)]
        started, carried = time.perf_counter(), list[Carried]()
        before = network
        with self.ledger.phase("surgery"):
            step = int(network.state.step)
            for edit in capacity_edits(
                network.architecture, decision.edit, self.rule, seed=self.seed, step=step
            ):
                smaller = network.architecture
                network = apply_edits(network, [edit], self.optimizer)
                if isinstance(edit, Redraw):  # other proposals: the network is what it was
                    return network, memory, [Carried(smaller, edit, None)]
                if isinstance(edit, Enlarge):
                    reason = decision.reason if edit is decision.edit else "more room is needed"
                    event = self._event(network, Decision(edit, reason=reason), edit, before)
                    carried.append(Carried(smaller, edit, event))
                    continue
                memory = replace(memory, accepted=memory.accepted + 1)
                if isinstance(edit, InsertLayer | PromoteBud):
                    memory = replace(memory, last_layer_step=step)
                event = self._event(network, decision, edit, before)
                carried.append(Carried(smaller, edit, event))
        event["seconds"]["surgery"] = round(time.perf_counter() - started, 4)
        if decision.change is not None:
            losses = self.sample_loss(before), self.sample_loss(network)
            event |= {"predicted_change": decision.change}
            event |= {"realised_change": losses[1] - losses[0]}
            if isinstance(decision.edit, RemoveUnit):
                event |= {"loss_before": losses[0], "loss_after": losses[1]}
        return network, memory, carried

    def _event(
        self,
        network: Network,
        decision: Decision,
        edit: Edit | None = None,
        before: Network | None = None,
    ) -> Event:
        """A line of the history, with the architecture as it is after `edit`."""
        architecture, step = network.architecture, int(network.state.step)
        event: Event = {
            "step": step,
            "epoch": step / self.timetable.per_epoch,
            "edit": None,
            "accepted": edit is not None,
            "reason": decision.reason,
        }
        if edit is not None:
            event |= describe(edit, (network if before is None else before).architecture)
            if not decision.keeps:
                event["keeps_function"] = False
        if decision.candidates:
            chosen = decision.candidates[0].to_json()
            event |= {k: v for k, v in chosen.items() if k not in _ITS_OWN}
            if not isinstance(edit, RemoveUnit):
                event["predicted_gain"] = decision.candidates[0].delta_eta / 2
        return event | {
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


def events_of(carried: Iterable[Carried]) -> list[Event]:
    """The lines of the history."""
    return [each.event for each in carried if each.event is not None]


def _changes(decisions: tuple[Decision, ...]) -> list[Edit]:
    """The edits by which units or layers come or go: of their round the loss is measured."""
    edits = [decision.edit for decision in decisions if decision.edit is not None]
    return [edit for edit in edits if not isinstance(edit, Enlarge | Redraw | Reorder)]
