"""One growth round of `proposals: dormant` for DenseNets: what is decided from the scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from senn_cli.growth.dormant_images import ImageScores
from senn_cli.growth.dormant_settings import DormantSettings
from senn_cli.growth.edits import Activate, Enlarge, PromoteBud, Redraw, RemoveUnit
from senn_cli.growth.policy import Candidate, Decision, Place, View
from senn_cli.growth.standing import within
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.randomness import numpy_generator


class DormantRound:
    """One round in progress; `architecture` follows its decisions."""

    def __init__(
        self,
        settings: DormantSettings,
        view: View,
        architecture: DenseArchitecture,
        scores: ImageScores,
    ) -> None:
        self.settings, self.view, self.scores = settings, view, scores
        self.before = self.architecture = architecture
        self.eta = float(sum(scores.etas.values()))
        # A noisy eta may be negative; then nothing is below the threshold, and noise decides alone.
        self.least = max(settings.threshold * max(self.eta, 0.0), settings.stop)
        epochs = view.step // view.per_epoch - (view.step - view.every) // view.per_epoch
        self.epochs = min(epochs, view.step // view.per_epoch)
        self.fresh = [np.zeros(c, bool) for c in architecture.capacities]
        self.fresh_buds = [np.zeros(architecture.bud, bool) for _ in architecture.hidden]

    def decisions(self) -> Iterator[Decision]:
        """All of them, each for the network that those before it leave."""
        quiet = True
        best = self._best_bud()
        yield from self._redrawn(but=None if best is None else best[1])
        for steps in (self._rooms(), self._activations(), self._prunings(), self._layer(best)):
            for decision in steps:
                quiet = False
                yield decision
        # A rejection says little and there are many rounds: one an epoch.
        if quiet and self.epochs:
            yield self._decision(None, self._why_not(), self._ranked())

    def _drawn(self, purpose: str, probability: float, size: int) -> np.ndarray:
        """Which of `size` things happen; the first ones are the same for any larger size."""
        rng = numpy_generator(self.view.seed, purpose, self.view.step)
        drawn: np.ndarray = rng.random(size) < probability
        return drawn

    def _redrawn(self, but: int | None) -> Iterator[Decision]:
        """New input weights for some proposals; not for the bud before layer `but`."""
        if not self.epochs:
            return
        p = within(self.settings.redraw, self.epochs)
        for index, layer in enumerate(self.before.hidden):
            dormant = np.arange(layer.capacity) >= layer.width
            self.fresh[index] = dormant & self._drawn(f"redraw {index}", p, layer.capacity)
            if index != but:
                bud = self.before.bud
                self.fresh_buds[index] = self._drawn(f"redraw bud {index}", p, bud)
        chosen = {}
        for feature in self.before.features:
            if feature.grows:
                fresh = self.fresh if feature.role == "hidden" else self.fresh_buds
                chosen[feature.name] = tuple(map(int, np.flatnonzero(fresh[feature.index])))
        if any(chosen.values()):
            edit = Redraw(chosen, self.view.seed, self.view.step)
            yield Decision(edit, reason="other proposals")

    def _passes(self, gain: np.ndarray, error: np.ndarray) -> np.ndarray:
        return (gain > self.least) & (gain > self.settings.noise * error)

    def _rooms(self) -> Iterator[Decision]:
        """Room for layers of which too much was in use before the round: known since the last."""
        after = self.settings.enlarged(self.before)
        for index, (old, new) in enumerate(zip(self.before.hidden, after.hidden, strict=True)):
            if new.capacity > old.capacity:
                self.architecture = self.architecture.with_layer(index, capacity=new.capacity)
                reason = f"{old.width} of {old.capacity} channels are in use"
                edit = Enlarge(index, new.capacity, self.view.seed, self.view.step)
                yield Decision(edit, reason)

    def _activations(self) -> Iterator[Decision]:
        s = self.settings
        if not s.width:
            return
        p = within(s.activate, self.view.every)
        found: list[tuple[float, int, int]] = []
        for index, gain in enumerate(self.scores.gains):
            taken = self._passes(gain, self.scores.errors[index]) & ~self.fresh[index]
            taken &= self._drawn(f"activate {index}", p, len(gain))
            found += [(float(gain[c]), index, int(c)) for c in np.flatnonzero(taken)]
        chosen: dict[int, list[int]] = {}
        for _, index, channel in sorted(found, reverse=True):
            if s.per_round is not None and sum(map(len, chosen.values())) >= s.per_round:
                break
            layer = self.architecture.hidden[index]
            grown = self.architecture.with_layer(index, width=layer.width + 1)
            if s.allows(grown, index):
                self.architecture = grown
                chosen.setdefault(index, []).append(channel)
        for index, channels in sorted(chosen.items()):
            gains = self.scores.gains[index][channels]
            place = self._place(index)
            candidate = self._candidate(place, float(gains.mean()), float(gains.sum()), True)
            reason = f"mean score {gains.mean():.3g} > tau eta or alpha = {self.least:.3g}"
            edit = Activate(index, tuple(channels))
            yield self._decision(edit, reason, (candidate, *self._ranked(place)))

    def _prunings(self) -> Iterator[Decision]:
        s = self.settings
        p = within(s.prune, self.view.every)
        found: list[tuple[float, int, int]] = []
        for index, cost in enumerate(self.scores.costs):
            width = self.before.hidden[index].width
            drawn = self._drawn(f"prune {index}", p, len(cost))[:width]
            taken = np.flatnonzero(drawn & (cost[:width] < self.least))
            found += [(float(cost[c]), index, int(c)) for c in taken]
        # Costs are those of a single removal: of two that one map reads, each might count on the
        # other to stand in for it. The second one waits for the next round.
        touched: set[str] = set()
        pruned = 0
        for cost, index, channel in sorted(found):
            if s.pruned_per_round is not None and pruned >= s.pruned_per_round:
                break
            readers = {
                wire.name for wire, _ in self.before.readers(index) if wire.target.role != "bud"
            }
            width = self.architecture.hidden[index].width - 1
            if width < s.min_width or touched & readers:
                continue
            touched |= readers
            pruned += 1
            self.architecture = self.architecture.with_layer(index, width=width)
            yield self._decision(
                RemoveUnit(index, channel),
                f"removal cost {cost:.3g} < tau eta or alpha = {self.least:.3g}",
                (self._candidate(self._place(index), cost, cost, True),),
                change=float(self.scores.changes[index][channel]),
            )

    def _best_bud(self) -> tuple[float, int] | None:
        """The mean score of the best bud that passes, and the layer behind it; once an epoch."""
        s = self.settings
        if not (s.depth and self.before.bud and self.epochs):
            return None
        passing = [
            (float(gain.mean()), index)
            for index, gain in enumerate(self.scores.buds)
            if self._bud_passes(index)
        ]
        return max(passing, default=None)

    def _bud_passes(self, index: int) -> bool:
        """Whether the bud before layer `index` passes, and may become a layer."""
        s, gain = self.settings, self.scores.buds[index]
        score = float(gain.mean())
        error = float(self.scores.bud_errors[index].mean()) / np.sqrt(len(gain))
        passes = score > s.bud_factor * self.least and score > s.noise * error
        return passes and self.view.layer_allowed and s.allows_layer(self.before, index)

    def _layer(self, best: tuple[float, int] | None) -> Iterator[Decision]:
        """The bud becomes a layer, if there is one and what was added leaves room for it."""
        s = self.settings
        if best is None or not s.allows_layer(self.architecture, best[1]):
            return
        score, index = best
        place = self._place(index, bud=True)
        total = float(self.scores.buds[index].sum())
        edit = PromoteBud(
            index,
            self.view.seed,
            self.view.step,
            capacity=s.room(self.before.bud, self.before.bud) if s.width else 0,
        )
        reason = f"mean score {score:.3g} > {s.bud_factor:g} times {self.least:.3g}"
        candidate = self._candidate(place, score, total, True)
        yield self._decision(edit, reason, (candidate, *self._ranked(place)))

    def _place(self, index: int, *, bud: bool = False) -> Place:
        block, layer = self.before.place(index)
        what = f"bud {layer}" if bud else f"layer {layer}"
        return Place("depth" if bud else "width", index, f"block {block} {what}")

    def _candidate(self, place: Place, score: float, total: float, passes: bool) -> Candidate:
        ratio = score / self.eta if self.eta > 0 else float("inf")
        return Candidate(
            site=place,
            delta_eta=total,
            delta_eta_lower=total,
            bias=0.0,
            eta=self.eta,
            score=score,
            ratio=ratio,
            passes=passes,
        )

    def _ranked(self, but: Place | None = None) -> tuple[Candidate, ...]:
        """The best channel of every layer and the mean of every bud, best first."""
        found = []
        for index, gain in enumerate(self.scores.gains):
            if self.before.hidden[index].width < len(gain) and self.settings.width:
                best = int(np.argmax(gain))
                passes = bool(self._passes(gain, self.scores.errors[index])[best])
                score = float(gain[best])
                found.append(self._candidate(self._place(index), score, score, passes))
            bud = self.scores.buds[index]
            if len(bud) and self.settings.depth:
                place = self._place(index, bud=True)
                score, total = float(bud.mean()), float(bud.sum())
                found.append(self._candidate(place, score, total, self._bud_passes(index)))
        ranked = sorted(found, key=lambda c: -c.score)
        return tuple(c for c in ranked if c.site != but)

    def _why_not(self) -> str:
        ranked = self._ranked()
        if not ranked:
            return "no site allows an addition"
        best = ranked[0]
        if best.score <= self.least:
            return f"score {best.score:.3g} of {best.site} is not above {self.least:.3g}"
        if best.passes:
            return f"{best.site} passes, but was not drawn"
        if best.site.kind == "width":
            return f"score {best.score:.3g} of {best.site} is within its noise"
        return (
            f"the mean score {best.score:.3g} of {best.site} does not pass, or a limit forbids it"
        )

    def _decision(
        self,
        edit: Any,
        reason: str,
        candidates: tuple[Candidate, ...],
        change: float | None = None,
    ) -> Decision:
        return Decision(
            edit=edit,
            reason=reason,
            candidates=candidates,
            threshold=self.settings.threshold,
            stop=self.settings.stop,
            change=change,
        )
