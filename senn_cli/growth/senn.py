"""The policy `senn`: additions when, where and as the natural expansion score says (section 3).

A round looks at two disjoint samples of the training data. On the first, proposals are searched
for at every site; on the second they are scored. The best that passes the threshold tau and the
stop alpha (ingredient 4) is accepted, its activations join those of its layer, the residual
gradient is taken anew and the round goes on until nothing passes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from senn_cli.growth.compiled import ROOM, Compiled, Sample
from senn_cli.growth.edits import AddNeurons, Edit, InsertLayer, floored
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policy import Candidate, Decision, Round, Site, View, sites
from senn_cli.growth.search import DepthSearch, WidthSearch
from senn_cli.nets.initial import draw_neurons
from senn_cli.randomness import key_data, numpy_generator
from senn_cli.training.arrays import examples


@dataclass(frozen=True)
class SennSettings:
    """Options of the policy; the spec's `expansion` section describes each.

    Attributes:
      weights: `score` for the proposals' own weights, `random` for draws from the initial
        distribution at the same times and sites (the control).
    """

    threshold: float
    stop: float
    samples: int
    held_out: bool
    bias_removed: bool
    max_hidden: int | None
    max_parameters: int | None
    width: WidthSearch | None
    per_round: int | None
    max_width: int | None
    initial_coefficients: bool
    depth: DepthSearch | None
    layer_cost: float
    max_layers: int | None
    singular_floor: float
    weights: Literal["score", "random"] = "score"


@dataclass
class _Pool:
    """Proposals at one site and the best one's fate on the deciding sample."""

    proposals: Neurons
    best: Candidate
    index: int
    bound: float


class SennPolicy:
    """Decides by the natural expansion score."""

    def __init__(self, settings: SennSettings, compiled: Compiled) -> None:
        self.settings = settings
        self.compiled = compiled

    def decide(self, view: View) -> Round:
        """One round, or its part up to an inserted layer or a full capacity."""
        started = time.perf_counter()
        reason = self._exhausted(view, view.added)
        if reason is not None:
            return Round((self._rejection(reason, (), None, started),))
        return _RoundInProgress(self, view, started).run()

    def _exhausted(self, view: View, added: int) -> str | None:
        """Why nothing at all may be added, if so."""
        s, architecture = self.settings, view.architecture
        width = sum(architecture.widths)
        if s.max_hidden is not None and width >= s.max_hidden:
            return f"max_hidden: {width} hidden neurons of at most {s.max_hidden}"
        if s.max_parameters is not None and architecture.parameters >= s.max_parameters:
            return f"max_parameters: {architecture.parameters} of at most {s.max_parameters}"
        if s.per_round is not None and added >= s.per_round:
            return f"per_round: {added} neurons added in this round"
        return None

    def _rejection(
        self, reason: str, candidates: tuple[Candidate, ...], loss: float | None, started: float
    ) -> Decision:
        return Decision(
            edit=None,
            reason=reason,
            candidates=candidates,
            threshold=self.settings.threshold,
            stop=self.settings.stop,
            loss=loss,
            seconds=time.perf_counter() - started,
        )


class _RoundInProgress:
    """The state of one round: two samples that grow by a column with every accepted neuron."""

    def __init__(self, policy: SennPolicy, view: View, started: float) -> None:
        self.settings, self.compiled, self.view = policy.settings, policy.compiled, view
        self.policy, self.started = policy, started
        self.shape = view.architecture.shape()
        self.widths = list(view.architecture.widths)
        self.room = [ROOM + h.capacity - h.width for h in view.architecture.hidden]
        self.searched, self.scored = self._samples()
        self.searches = 0
        self.pools: dict[Site, _Pool] = {}

    def _samples(self) -> tuple[Sample, Sample]:
        """The sample to search on and the sample to decide on, disjoint where `held_out`."""
        n, wanted = examples(self.view.data), self.settings.samples
        count = min(wanted, n // 2) if self.settings.held_out else min(wanted, n)
        order = numpy_generator(
            self.view.seed, "growth sample", self.view.step
        ).permutation(n)
        rows = [order[:count], order[count : 2 * count]]
        if not self.settings.held_out:
            rows[1] = rows[0]
        first, second = (
            self.compiled.observe(
                self.shape, self.view.params, self.view.widths, self.view.data, r.astype(np.int32)
            )
            for r in rows
        )
        return first, second

    def _allowed_sites(self) -> tuple[Site, ...]:
        s, architecture = self.settings, self.view.architecture
        layers = len(architecture.hidden)
        depth = s.depth is not None and self.view.layer_allowed
        depth = depth and (s.max_layers is None or layers < s.max_layers)
        allowed = []
        for site in sites(architecture, width=s.width is not None, depth=depth):
            if site.kind == "width":
                if s.max_width is not None and self.widths[site.index] >= s.max_width:
                    continue
            elif s.max_hidden is not None:
                narrow = min(architecture.map_width(site.index))
                if sum(self.widths) + narrow > s.max_hidden:
                    continue
            allowed.append(site)
        return tuple(allowed)

    def run(self) -> Round:
        decisions: list[Decision] = []
        loss = float(self.scored.loss)
        while True:
            allowed = self._allowed_sites()
            for site in allowed:
                if site not in self.pools:
                    self.pools[site] = self._search(site)
            ranked = sorted(
                (self.pools[site].best for site in allowed), key=lambda c: -c.score
            )
            passing = [c for c in ranked if c.passes]
            if not passing:
                reason = _why_not(ranked, self.settings.threshold, self.settings.stop)
                decisions.append(
                    self.policy._rejection(reason, tuple(ranked), loss, self.started)
                )
                return Round(tuple(decisions))
            chosen = passing[0]
            ordered = (chosen, *(c for c in ranked if c is not chosen))
            bound = self.pools[chosen.site].bound
            edit = self._accept(chosen.site)
            decisions.append(
                Decision(
                    edit=edit,
                    reason=f"ratio {chosen.ratio:.3g} > tau and score {chosen.score:.3g} > alpha",
                    candidates=ordered,
                    threshold=self.settings.threshold,
                    stop=self.settings.stop,
                    loss=loss,
                    bound=bound,
                    seconds=time.perf_counter() - self.started,
                )
            )
            self.started = time.perf_counter()
            if isinstance(edit, InsertLayer):
                return Round(tuple(decisions))  # at most one layer a round
            added = self.view.added + len(decisions)
            grown = self.view.architecture
            for index, width in enumerate(self.widths):
                capacity = max(width, grown.hidden[index].capacity)
                grown = grown.with_layer(index, width=width, capacity=capacity)
            reason = self.policy._exhausted(replace(self.view, architecture=grown), added)
            if reason is not None:
                decisions.append(self.policy._rejection(reason, (), loss, self.started))
                return Round(tuple(decisions))
            if self.room[chosen.site.index] == 0:
                return Round(tuple(decisions), finished=False)

    def _search(self, site: Site) -> _Pool:
        """New proposals at `site`, scored."""
        purpose = f"search {site.kind} {site.index} {self.view.asked} {self.searches}"
        self.searches += 1
        key = key_data(self.view.seed, purpose, self.view.step)
        spectrum = self.view.input_spectrum if site.index == 0 else None
        search = self.settings.width if site.kind == "width" else self.settings.depth
        assert search is not None
        proposals = self.compiled.search(self.shape, self.searched, site, spectrum, search, key)
        return self._score(site, proposals)

    def _score(self, site: Site, proposals: Neurons) -> _Pool:
        """The best of `proposals` on the deciding sample."""
        s = self.settings
        gain, target = self.compiled.score(self.shape, self.scored, site, proposals)
        exact, bias = np.asarray(gain.exact), np.asarray(gain.bias)
        value = exact - bias if s.bias_removed else exact
        value = np.where(np.isfinite(value), value, -np.inf)
        index = int(np.argmax(value))
        eta = float(target.eta) - (float(target.eta_bias) if s.bias_removed else 0.0)
        eta = max(eta, 0.0)
        delta = float(value[index])
        score = delta / (s.layer_cost if site.kind == "depth" else 1.0)
        ratio = score / eta if eta > 0 else (np.inf if score > 0 else 0.0)
        candidate = Candidate(
            site=site,
            delta_eta=delta,
            delta_eta_lower=float(np.asarray(gain.lower)[index]),
            bias=float(bias[index]),
            eta=eta,
            score=score,
            ratio=float(ratio),
            passes=bool(ratio > s.threshold and score > s.stop),
        )
        return _Pool(proposals, candidate, index, float(target.bound))

    def _accept(self, site: Site) -> Edit:
        pool = self.pools[site]
        weights = np.asarray(pool.proposals.weights[pool.index])
        coefficients = np.asarray(pool.proposals.coefficients[pool.index])
        if site.kind == "depth":
            return self._layer(site, weights)
        return self._neuron(site, weights, coefficients)

    def _layer(self, site: Site, weights: np.ndarray) -> InsertLayer:
        """The proposed W_q, invertible, in the orientation of `InsertLayer`."""
        proposed = self.view.architecture.map_width(site.index)[0 if site.side == "inputs" else 1]
        # Neurons added in this round were not proposed for: the identity carries them through.
        sizes = (self.view.architecture.inputs, *self.widths, self.view.architecture.outputs)
        q = sizes[site.index + (site.side == "outputs")]
        if self.settings.weights == "random":
            rng = numpy_generator(self.view.seed, "random layer", self.view.step)
            kernel, bias, _ = draw_neurons(rng, q, q, "rational")
        else:
            kernel, bias = np.eye(q), np.zeros(q)
            kernel[:proposed, :proposed] = weights[:proposed, 1 : 1 + proposed].T
            bias[:proposed] = weights[:proposed, 0]
        kernel = floored(kernel, self.settings.singular_floor)
        assert site.side is not None
        return InsertLayer(site.index, site.side, np.concatenate([bias[None], kernel]))

    def _neuron(self, site: Site, weights: np.ndarray, coefficients: np.ndarray) -> AddNeurons:
        """The edit for one neuron; its activations join both samples."""
        layer = self.view.architecture.hidden[site.index]
        width = self.widths[site.index]
        n_in = (self.view.architecture.inputs, *self.widths)[site.index]
        weights = np.pad(weights, (0, max(0, 1 + n_in - len(weights))))
        if self.settings.weights == "random" or self.settings.initial_coefficients:
            purpose = f"random neuron {site.index} {width}"
            rng = numpy_generator(self.view.seed, purpose, self.view.step)
            kernel, bias, drawn = draw_neurons(rng, n_in, 1, layer.activation)
            if drawn is not None:
                coefficients = drawn[:, 0]
            if self.settings.weights == "random":
                weights = np.zeros_like(weights)
                weights[0], weights[1 : 1 + n_in] = bias[0], kernel[:, 0]
        readable = 1 + self.shape.map_capacity(site.index)[0]
        neuron = Neurons(weights[None, :readable], coefficients[None])
        column = np.int32(1 + width)
        self.searched, _ = self.compiled.append(self.shape, self.searched, site, neuron, column)
        self.scored, moments = self.compiled.append(self.shape, self.scored, site, neuron, column)
        self.widths[site.index] += 1
        self.room[site.index] -= 1
        # The same target again, with another residual: first the proposals at hand, and a new
        # search only when none of them passes any longer.
        for other in list(self.pools):
            if other.target == site.target:
                self.pools[other] = self._score(other, self.pools[other].proposals)
                if not self.pools[other].best.passes:
                    del self.pools[other]
        return AddNeurons(
            layer=site.index,
            weights=weights[: 1 + n_in, None],
            coefficients=coefficients[:, None] if layer.activation == "rational" else None,
            moments=np.asarray(moments)[: 1 + width + 1, None],
        )


def _why_not(ranked: list[Candidate], threshold: float, stop: float) -> str:
    if not ranked:
        return "no site allows an addition"
    best = ranked[0]
    if best.score <= stop:
        return f"score {best.score:.3g} of {best.site} is not above alpha = {stop:g}"
    return f"ratio {best.ratio:.3g} of {best.site} is not above tau = {threshold:g}"

