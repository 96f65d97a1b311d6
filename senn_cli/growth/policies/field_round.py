"""One growth round of searched proposals where maps read patches, or several read one feature.

As `search_round`, but that a round asks again after every addition: what it adds changes what
several maps read at many positions, so that both samples are looked at anew. Layers are proposed by
buds, as they stand.
"""

from __future__ import annotations

import time

import jax
import numpy as np

from senn_cli.curvature.observe import Observation
from senn_cli.engine.arrays import examples
from senn_cli.growth import judgement
from senn_cli.growth.edits import AddUnits, Edit, PromoteBud
from senn_cli.growth.fields import Fields, Scored, examples_of
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policies import control
from senn_cli.growth.policy import Candidate, Decision, Round, Site, View, sites
from senn_cli.growth.pricing import Price
from senn_cli.growth.settings import Settings
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import Architecture, feature_named, used_units, writer
from senn_cli.nets.leaves import joined
from senn_cli.randomness import key_data, numpy_generator


def chained(architecture: Architecture) -> bool:
    """Whether every map is dense, has a bias and reads one feature, which no other map reads."""
    maps = architecture.maps
    read = [source.feature.name for m in maps for source in m.sources]
    plain = all(not m.window and m.bias and len(m.sources) == 1 for m in maps)
    return plain and len(set(read)) == len(read)


class FieldRound:
    """One look at two samples, and what is decided by it."""

    def __init__(self, settings: Settings, fields: Fields, view: View) -> None:
        self.settings, self.fields, self.view = settings, fields, view
        self.started = time.perf_counter()
        self.architecture = view.architecture
        self.shape = view.architecture.shape()
        self.price = Price(settings.price, examples(view.data))
        self.searched, self.scored = self._samples()

    def _samples(self) -> tuple[Observation, Observation]:
        """The sample to search on and the sample to decide on, disjoint where `held_out`."""
        s, view, n = self.settings, self.view, examples(self.view.data)
        grown = tuple(f.name for f in self.architecture.features if f.role == "hidden")
        count = examples_of(self.architecture, grown, min(s.samples, n // 2 if s.held_out else n))
        order = numpy_generator(view.seed, "growth sample", view.step).permutation(n)
        order = order.astype(np.int32)

        def look(rows: np.ndarray) -> Observation:
            found: Observation = self.fields.observe(
                self.shape, view.params, view.widths, view.data, rows
            )
            return found

        first = look(order[:count])
        return first, look(order[count : 2 * count]) if s.held_out else first

    def run(self) -> Round:
        """The best proposal that passes, or the reason why none does."""
        s, view, now = self.settings, self.view, self.architecture
        found = sites(now, width=s.widens, depth=s.deepens and view.layer_allowed)
        # Within a map of such a network no identity is proposed.
        allowed = [o for o in found if o.side is None and s.allows(now, o.after(now))]
        proposed = {site: self._proposals(site) for site in allowed}
        judged = {site: self._judged(site, proposed[site]) for site in allowed}
        ranked = judgement.ranked([candidate for candidate, _ in judged.values()])
        chosen = next((c for c in ranked if c.passes), None)
        if chosen is None:
            reason = judgement.why_not(ranked[0] if ranked else None, s)
            return Round((self._decision(None, reason, tuple(ranked)),))
        edit = self._edit(chosen.site, proposed[chosen.site], judged[chosen.site][1])
        others = (c for c in ranked if c is not chosen)
        decision = self._decision(edit, judgement.why(chosen), (chosen, *others))
        return Round((decision,), finished=chosen.site.kind == "depth")

    def _proposals(self, site: Site) -> Neurons:
        """Units for a layer that are searched for, or those of a bud."""
        view = self.view
        if site.kind == "depth":
            m = writer(self.shape, site.at)
            weights = joined(m, {k: np.asarray(v) for k, v in view.params[m.name].items()}).T
            return Neurons(weights, np.zeros((len(weights), 3), np.float32))
        key = key_data(view.seed, f"search {site.at} {view.asked}", view.step)
        found: Neurons = self.fields.search(
            self.shape, site.at, self.settings.width, key, view.params, view.widths, self.searched
        )
        return found

    def _judged(self, site: Site, proposals: Neurons) -> tuple[Candidate, int]:
        """What the deciding sample says, and which unit it says it of."""
        s, view = self.settings, self.view
        scored: Scored = jax.device_get(
            self.fields.score(self.shape, site.at, view.params, view.widths, self.scored, proposals)
        )
        exact, bias = scored.gains.exact, scored.gains.bias
        value = np.where(np.isfinite(exact), exact - bias if s.bias_removed else exact, -np.inf)
        whole = site.kind == "depth"  # all units of a bud, by their mean
        units = np.arange(len(value)) if whole else np.array([np.argmax(value)])
        total, score = float(value[units].sum()), float(value[units].mean())
        parameters = site.after(self.architecture).parameters - self.architecture.parameters
        left = self.price.left(float(self.scored.loss), float(scored.eta))
        candidate = judgement.judged(
            s,
            site,
            delta=total,
            lower=float(scored.gains.lower[units].sum()),
            noise=float(bias[units].sum()),
            eta=float(scored.eta),
            score=score,
            price=self.price,
            parameters=parameters,
            gain=self.price.gain(total, left),
            factor=s.bud_factor if whole else 1.0,
        )
        return candidate, int(units[0])

    def _edit(self, site: Site, proposals: Neurons, unit: int) -> Edit:
        seed, step = self.view.seed, self.view.step
        if site.kind == "depth":
            return PromoteBud(site.index, seed, step)
        feature, m = feature_named(self.architecture, site.at), writer(self.architecture, site.at)
        weights = np.asarray(proposals.weights)[unit]
        coefficients = np.asarray(proposals.coefficients)[unit]
        if not control.as_proposed(self.settings):
            used = used_units(self.architecture)
            drawn = draw_units(m, used, [feature.width], seed, "random", step)
            if drawn.coefficients is not None:
                coefficients = drawn.coefficients[:, 0]
            if self.settings.weights == "random":
                weights = drawn.weights[:, 0]
        rational = feature.coefficients is not None
        return AddUnits(
            layer=site.index,
            incoming=weights[:, None],
            coefficients=coefficients[:, None] if rational else None,
        )

    def _decision(
        self, edit: Edit | None, reason: str, candidates: tuple[Candidate, ...]
    ) -> Decision:
        return Decision(
            edit=edit,
            reason=reason,
            candidates=candidates,
            threshold=self.settings.threshold,
            stop=self.settings.stop,
            loss=float(self.scored.loss),
            seconds=time.perf_counter() - self.started,
        )
