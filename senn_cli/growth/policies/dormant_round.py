"""One growth round of `proposals: dormant` (appendix B): what is decided from tracked scores."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.growth import judgement
from senn_cli.growth.edits import Activate, Edit, Enlarge, PromoteBud, Redraw, RemoveUnit
from senn_cli.growth.policy import Candidate, Decision, Site, View
from senn_cli.growth.pricing import Price
from senn_cli.growth.settings import Settings
from senn_cli.growth.tracked_scores import TrackedScores
from senn_cli.nets.features import feature_named
from senn_cli.randomness import numpy_generator


def within(probability: float, steps: int) -> float:
    """The probability that what happens with `probability` a step happens in `steps` steps."""
    # Summed over the step at which it happens first: precise for small probabilities, too.
    return float(sum(probability * (1.0 - probability) ** step for step in range(steps)))


class DormantRound:
    """One round in progress; `architecture` follows its decisions."""

    def __init__(self, settings: Settings, view: View, scores: TrackedScores) -> None:
        self.settings, self.view, self.scores = settings, view, scores
        self.before = self.architecture = view.architecture
        features = self.before.features
        self.layers = [f for f in features if f.role == "hidden" and f.spare == "dormant"]
        self.buds = [f for f in features if f.role == "bud"]
        # eta tells nothing below its own noise, and may be negative there: a share of that would
        # bar nothing.
        error = math.hypot(*map(float, scores.eta_errors.values()))
        self.eta = max(float(sum(scores.etas.values())), settings.noise * error, 0.0)
        self.least = max(settings.threshold * self.eta, settings.stop)
        epochs = view.step // view.per_epoch - (view.step - view.every) // view.per_epoch
        self.epochs = min(epochs, view.step // view.per_epoch)
        self.fresh = {f.name: np.zeros(f.capacity, bool) for f in (*self.layers, *self.buds)}
        self.price, self.left = Price(0.0, 0), math.inf
        if settings.price > 0:
            self.price = Price(settings.price, examples(view.data))
            self.left = self.price.left(view.loss(), self.eta)

    def decisions(self) -> Iterator[Decision]:
        """All of them, each for the network that those before it leave."""
        quiet = True
        best = self._best_bud()
        yield from self._redrawn(but=None if best is None else best.site.at)
        for steps in (self._rooms(), self._activations(), self._prunings(), self._layer(best)):
            for decision in steps:
                quiet = False
                yield decision
        # A rejection says little and there are many rounds: one an epoch.
        if quiet and self.epochs:
            found = self._ranked()
            reason = judgement.why_not(found[0] if found else None, self.settings)
            yield self._decision(None, reason, found)

    def _drawn(self, purpose: str, probability: float, size: int) -> np.ndarray:
        """Which of `size` things happen; the first ones are the same for any larger size."""
        rng = numpy_generator(self.view.seed, purpose, self.view.step)
        drawn: np.ndarray = rng.random(size) < probability
        return drawn

    def _redrawn(self, but: str | None) -> Iterator[Decision]:
        """New input weights for some proposals; not for the bud of that name."""
        if not self.epochs:
            return
        p = within(self.settings.redraw, self.epochs)
        for f in self.layers:
            dormant = np.arange(f.capacity) >= f.width
            self.fresh[f.name] = dormant & self._drawn(f"redraw {f.index}", p, f.capacity)
        for f in self.buds:
            if f.name != but:
                self.fresh[f.name] = self._drawn(f"redraw bud {f.index}", p, f.capacity)
        units = {name: tuple(map(int, np.flatnonzero(f))) for name, f in self.fresh.items()}
        if any(units.values()):
            edit = Redraw(units, self.view.seed, self.view.step)
            yield Decision(edit, reason="other proposals")

    def _rooms(self) -> Iterator[Decision]:
        """Room for layers of which too much was in use before the round: known since the last."""
        after = self.settings.enlarged(self.before)
        for index, (old, new) in enumerate(zip(self.before.hidden, after.hidden, strict=True)):
            if new.capacity > old.capacity:
                self.architecture = self.architecture.with_layer(index, capacity=new.capacity)
                reason = f"{old.width} of {old.capacity} units are in use"
                edit = Enlarge(index, new.capacity, self.view.seed, self.view.step)
                yield Decision(edit, reason)

    def _activations(self) -> Iterator[Decision]:
        s = self.settings
        if not s.widens:
            return
        p = within(s.activate, self.view.every)
        found: list[tuple[float, int, int]] = []
        for f in self.layers:
            gain = self.scores.gains[f.name]
            drawn = self._drawn(f"activate {f.index}", p, len(gain)) & ~self.fresh[f.name]
            for unit in map(int, np.flatnonzero(drawn)):
                if self._judged(Site.of(f), np.array([unit])).passes:
                    found.append((float(gain[unit]), f.index, unit))
        chosen: dict[int, list[int]] = {}
        for _, index, unit in sorted(found, reverse=True):
            if s.per_round is not None and sum(map(len, chosen.values())) >= s.per_round:
                break
            grown = self._site(index).after(self.architecture)
            if s.allows(self.architecture, grown):
                self.architecture = grown
                chosen.setdefault(index, []).append(unit)
        for index, units in sorted(chosen.items()):
            site = self._site(index)
            together = self._judged(site, np.asarray(units))
            edit = Activate(index, tuple(units))
            yield self._decision(edit, judgement.why(together), (together, *self._ranked(site)))

    def _prunings(self) -> Iterator[Decision]:
        s = self.settings
        if s.prune is None:
            return
        p = within(s.leave, self.view.every)
        found: list[tuple[float, int, int]] = []
        for f in self.layers:
            cost = self.scores.costs[f.name]
            drawn = self._drawn(f"prune {f.index}", p, len(cost))[: f.width]
            taken = np.flatnonzero(drawn & (cost[: f.width] < self.least))
            found += [(float(cost[u]), f.index, int(u)) for u in taken]
        # Costs are those of a single removal: of two that one map reads, each might count on the
        # other to stand in for it. The second one waits for the next round.
        touched: set[str] = set()
        pruned = 0
        for cost, index, unit in sorted(found):
            if s.prune.per_round is not None and pruned >= s.prune.per_round:
                break
            site = self._site(index)
            readers = {m.name for m in site.targets(self.before)}
            width = self.architecture.hidden[index].width - 1
            if width < s.prune.min_width or touched & readers:
                continue
            touched |= readers
            pruned += 1
            self.architecture = self.architecture.with_layer(index, width=width)
            yield self._decision(
                RemoveUnit(index, unit),
                f"removal cost {cost:.3g} < tau eta or alpha = {self.least:.3g}",
                (self._removed(site, cost),),
                change=float(self.scores.changes[site.at][unit]),
            )

    def _removed(self, site: Site, cost: float) -> Candidate:
        ratio = cost / self.eta if self.eta > 0 else float("inf")
        return Candidate(site, cost, cost, 0.0, self.eta, cost, ratio, passes=True)

    def _site(self, index: int) -> Site:
        return Site.of(next(f for f in self.layers if f.index == index))

    def _judged(self, site: Site, units: np.ndarray) -> Candidate:
        """Units at a site together: they compete by their mean score and pay for all of them."""
        gains, errors = self.scores.gains[site.at][units], self.scores.errors[site.at][units]
        total, parameters, bud = float(gains.sum()), 0, site.kind == "depth"
        if self.price.price > 0:
            # A bud brings its layer; of a layer's units each brings the same.
            added = site.after(self.before).parameters - self.before.parameters
            parameters = added * (1 if bud else len(units))
        return judgement.judged(
            self.settings,
            site,
            delta=total,
            lower=total,
            noise=float(errors.mean()) * len(units) ** 0.5,
            eta=self.eta,
            score=float(gains.mean()),
            price=self.price,
            parameters=parameters,
            gain=self.price.gain(total, self.left),
            factor=self.settings.bud_factor if bud else 1.0,
        )

    def _proposed_layers(self) -> list[Candidate]:
        if not self.settings.deepens:
            return []
        return [self._judged(Site.of(bud), np.arange(bud.capacity)) for bud in self.buds]

    def _may_insert(self, site: Site) -> bool:
        now = self.architecture
        return self.view.layer_allowed and self.settings.allows(now, site.after(now))

    def _best_bud(self) -> Candidate | None:
        """The best bud that passes and may become a layer; once an epoch."""
        if not self.epochs:
            return None
        passing = [c for c in self._proposed_layers() if c.passes and self._may_insert(c.site)]
        return max(passing, key=lambda c: (c.score, c.site.index), default=None)

    def _layer(self, best: Candidate | None) -> Iterator[Decision]:
        """The bud becomes a layer, if there is one and what was added leaves room for it."""
        s = self.settings
        if best is None or not self._may_insert(best.site):
            return
        width = feature_named(self.before, best.site.at).capacity
        capacity = s.room(width, width) if s.widens else 0
        edit = PromoteBud(best.site.index, self.view.seed, self.view.step, capacity=capacity)
        yield self._decision(edit, judgement.why(best), (best, *self._ranked(best.site)))

    def _ranked(self, but: Site | None = None) -> tuple[Candidate, ...]:
        """The best unit of every layer and the mean of every bud, best first."""
        found = []
        for f in self.layers if self.settings.widens else []:
            if f.width < f.capacity:
                best = np.array([self.scores.gains[f.name].argmax()])
                found.append(self._judged(Site.of(f), best))
        found += self._proposed_layers()
        return tuple(c for c in judgement.ranked(found) if c.site != but)

    def _decision(
        self,
        edit: Edit | None,
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
