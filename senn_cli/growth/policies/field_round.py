"""One growth round of searched proposals where maps read patches, or several read one feature.

As `search_round`: two samples are looked at once, units are searched for at all sites, and the best
is added until nothing passes, each given those before it (`field_scores`). Layers are proposed by
buds, as they stand; those that do not come are drawn anew, so that another round judges others.
"""

from __future__ import annotations

import time

import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.engine.feed import handed
from senn_cli.growth import judgement
from senn_cli.growth.edits import AddUnits, Edit, PromoteBud, Redraw
from senn_cli.growth.field_moments import Seen
from senn_cli.growth.field_scores import FieldScores
from senn_cli.growth.fields import Fields
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policies import control
from senn_cli.growth.policies.grown import sample_rows
from senn_cli.growth.policy import Candidate, Decision, Round, Site, View, sites
from senn_cli.growth.pricing import Price
from senn_cli.growth.samples import examples_of
from senn_cli.growth.settings import Settings
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import Architecture, feature_named, used_units, writer
from senn_cli.randomness import key_data


def chained(architecture: Architecture) -> bool:
    """Whether every map is dense, has a bias and reads one feature, which no other map reads."""
    maps = architecture.maps
    read = [source.feature.name for m in maps for source in m.sources]
    plain = all(not m.window and m.bias and len(m.sources) == 1 for m in maps)
    return plain and len(set(read)) == len(read)


class FieldRound:
    """One look at two samples, and what is decided by it; `architecture` follows the additions."""

    def __init__(self, settings: Settings, fields: Fields, view: View) -> None:
        self.settings, self.fields, self.view = settings, fields, view
        self.started = time.perf_counter()
        self.architecture, self.shape = view.architecture, view.architecture.shape()
        self.price = Price(settings.price, examples(view.data))
        self.searched, self.scored = self._samples()
        self.loss = float(self.scored.loss)
        self.proposals: dict[str, Neurons] = {}

    def _samples(self) -> tuple[Seen, Seen]:
        """The sample to search on and the sample to decide on, disjoint where `held_out`."""
        s, view, n = self.settings, self.view, examples(self.view.data)
        count = examples_of(self.architecture, s.samples, n, held_out=s.held_out)
        rows = sample_rows(view, count, held_out=s.held_out)

        def look(rows: np.ndarray) -> Seen:
            args = (self.shape, view.params, view.widths, *handed(view.data, rows))
            found: Seen = self.fields.observe(*args)
            return found

        first = look(rows[0])
        return first, look(rows[1]) if s.held_out else first

    def run(self) -> Round:
        """All additions up to a rejection or a layer, and the reason why there are no more.

        They are carried out from the last layer on: room for units of one moves the rows of the
        maps behind it, which those before it have nothing to do with.
        """
        s, added = self.settings, list[Decision]()
        allowed = self._allowed()
        paying = [site for site in allowed if self._can_pay(site)]
        if not paying:
            return Round((self._rejection(judgement.why_not(None, s, poor=bool(allowed))),))
        scores = self._scores(paying)
        while True:
            full = s.exhausted(self.architecture, self.view.added + len(added))
            open_to = [] if full else [site for site in self._allowed() if site in paying]
            judged = [self._judged(site, scores) for site in open_to]
            ranked = judgement.ranked([candidate for candidate, _ in judged])
            chosen = next((c for c in ranked if c.passes), None)
            if chosen is None:
                reason = full or judgement.why_not(ranked[0] if ranked else None, s)
                last = self._rejection(reason, tuple(ranked))
                return Round((*_from_behind(added), *self._redrawn(paying), last))
            bound = scores.bound(chosen.site.at)
            number = next(n for c, n in judged if c is chosen)
            edit = self._accept(chosen.site, number, scores)
            ordered = (chosen, *(c for c in ranked if c is not chosen))
            decision = self._decision(edit, judgement.why(chosen), ordered, bound)
            if chosen.site.kind == "depth":  # at most one layer a round
                return Round((*_from_behind(added), decision))
            added.append(decision)

    def _allowed(self) -> list[Site]:
        """Where units or a bud may come; within a map of such a network no identity does."""
        s, now = self.settings, self.architecture
        found = sites(now, width=s.widens, depth=s.deepens and self.view.layer_allowed)
        return [o for o in found if o.side is None and s.allows(now, o.after(now))]

    def _added(self, site: Site) -> int:
        """The parameters that one addition at `site` brings."""
        return site.after(self.architecture).parameters - self.architecture.parameters

    def _can_pay(self, site: Site) -> bool:
        """Whether any proposal at `site` could pay for its parameters; else none is sought."""
        if self.price.price == 0:
            return True
        # Whatever the present parameters gain: by how much chance raises eta is known only later.
        left = self.price.left(self.loss, 0.0) / self.settings.cost(site.kind)
        return self.price.pays(left, self._added(site))

    def _scores(self, allowed: list[Site]) -> FieldScores:
        """The scores of new proposals on the deciding sample."""
        view, fields = self.view, self.fields
        if self.settings.widens:
            open_to = {site.at for site in allowed}
            grown = [f.name for f in self.shape.features if f.role == "hidden"]
            wanted = {name: np.bool_(name in open_to) for name in grown}
            key = key_data(view.seed, f"search {view.asked}", view.step)
            args = (self.shape, self.settings.width, key, wanted, view.widths, self.searched)
            self.proposals = fields.search(*args)
        sums = fields.score(self.shape, view.widths, self.scored, self.proposals)
        counts = {at: len(neurons.weights) for at, neurons in self.proposals.items()}
        return FieldScores(fields.shares, self.architecture, self.scored, sums, counts)

    def _judged(self, site: Site, scores: FieldScores) -> tuple[Candidate, int]:
        """The best that is proposed at a site, given what has been accepted, and its number."""
        s, gains, eta = self.settings, scores.gains(site.at), scores.eta(site.at)
        value = gains.exact - gains.bias if s.bias_removed else gains.exact
        value = np.where(np.isfinite(value), value, -np.inf)
        number = int(np.argmax(value))
        delta = float(value[number])
        cost, left = s.cost(site.kind), self.price.left(self.loss, eta - scores.eta_bias(site.at))
        candidate = judgement.judged(
            s,
            site,
            delta=delta,
            lower=float(gains.lower[number]),
            noise=float(gains.bias[number]),
            eta=eta,
            score=delta / cost,
            price=self.price,
            parameters=self._added(site),
            gain=self.price.gain(delta, left) / cost,
        )
        return candidate, number

    def _accept(self, site: Site, number: int, scores: FieldScores) -> Edit:
        """The edit for a proposal, which those that follow reckon with."""
        s, view = self.settings, self.view
        scores.take(site.at, number)
        if site.kind == "depth":
            width = feature_named(self.architecture, site.at).capacity
            room = s.room(width, width) if s.widens else 0
            return PromoteBud(site.index, view.seed, view.step, capacity=room)
        feature, m = feature_named(self.architecture, site.at), writer(view.architecture, site.at)
        weights = np.asarray(self.proposals[site.at].weights)[number]
        coefficients = np.asarray(self.proposals[site.at].coefficients)[number]
        if not control.as_proposed(s):
            units = used_units(view.architecture)
            drawn = draw_units(m, units, [feature.width], view.seed, "random", view.step)
            if drawn.coefficients is not None:
                coefficients = drawn.coefficients[:, 0]
            if s.weights == "random":
                weights = drawn.weights[:, 0]
        self.architecture = site.after(self.architecture)
        rational = feature.coefficients is not None
        bend = coefficients[:, None] if rational else None
        return AddUnits(layer=site.index, incoming=weights[:, None], coefficients=bend)

    def _redrawn(self, allowed: list[Site]) -> list[Decision]:
        """Other buds in the place of those that were judged and did not come."""
        buds = [site.at for site in allowed if site.kind == "depth"]
        size = {f.name: f.capacity for f in self.architecture.features}
        units = {name: tuple(range(size[name])) for name in buds}
        edit = Redraw(units, self.view.seed, self.view.step)
        return [Decision(edit, reason="other proposals")] if units else []

    def _rejection(self, reason: str, candidates: tuple[Candidate, ...] = ()) -> Decision:
        return self._decision(None, reason, candidates)

    def _decision(
        self,
        edit: Edit | None,
        reason: str,
        candidates: tuple[Candidate, ...],
        bound: float | None = None,
    ) -> Decision:
        spent, self.started = time.perf_counter() - self.started, time.perf_counter()
        return Decision(
            edit=edit,
            reason=reason,
            candidates=candidates,
            threshold=self.settings.threshold,
            stop=self.settings.stop,
            loss=self.loss,
            bound=bound,
            seconds=spent,
        )


def _from_behind(added: list[Decision]) -> list[Decision]:
    """Additions, those at the last layer first."""
    return sorted(added, key=lambda decision: -decision.candidates[0].site.index)
