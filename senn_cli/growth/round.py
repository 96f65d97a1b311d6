"""One growth round of the policy `senn`: search, score, accept, take the residual anew; prune."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.growth.compiled import ROOM, Compiled
from senn_cli.growth.edits import AddUnits, Edit, InsertLayer
from senn_cli.growth.insertion import floored
from senn_cli.growth.objective import Neurons
from senn_cli.growth.observed import Observed
from senn_cli.growth.policy import Candidate, Decision, Round, Site, View, sites
from senn_cli.growth.reader import Reader, make_reader
from senn_cli.growth.removal import Bar, prunings
from senn_cli.growth.settings import SennSettings
from senn_cli.growth.target import Target
from senn_cli.nets.architecture import Layer
from senn_cli.nets.features import joined
from senn_cli.nets.mlp import MlpArchitecture, draw_neurons
from senn_cli.randomness import key_data, numpy_generator


@dataclass
class _Pool:
    """Proposals at one site and the best one's fate on the deciding sample."""

    proposals: Neurons
    best: Candidate
    index: int
    bound: float


class GrowthRound:
    """One round in progress: two samples, and the proposals at every site."""

    def __init__(self, settings: SennSettings, compiled: Compiled, view: View) -> None:
        self.settings, self.compiled, self.view = settings, compiled, view
        self.started = time.perf_counter()
        self.widths = list(view.architecture.widths)
        self.room = [ROOM + h.capacity - h.width for h in view.architecture.hidden]
        self.searched, self.scored = self._samples()
        as_proposed = self.settings.weights == "score" and not self.settings.initial_coefficients
        # What is really added, for its moments; another sample only where that differs.
        self.placed = self.scored if as_proposed else Observed(self.compiled, self.scored.sample)
        self.searches = 0
        self.pools: dict[Site, _Pool] = {}

    def _samples(self) -> tuple[Observed, Observed]:
        """The sample to search on and the sample to decide on, disjoint where `held_out`."""
        view, n, wanted = self.view, examples(self.view.data), self.settings.samples
        count = min(wanted, n // 2) if self.settings.held_out else min(wanted, n)
        order = numpy_generator(view.seed, "growth sample", view.step).permutation(n)
        order = order.astype(np.int32)

        def look(rows: np.ndarray) -> Observed:
            shape = view.architecture.shape()
            args = (shape, view.params, view.widths, view.data, rows)
            return Observed(self.compiled, self.compiled.observe(*args))

        second = order[count : 2 * count] if self.settings.held_out else order[:count]
        return look(order[:count]), look(second)

    def _target(self, observed: Observed, site: Site) -> Target:
        sizes = (self.view.architecture.inputs, *self.widths, self.view.architecture.outputs)
        return observed.target(site.target, sizes[site.target], sizes[site.target + 1])

    def _proposed_for(self, site: Site) -> int:
        """Columns of the site's source in use, the constant not counted."""
        width: int = self.view.architecture.map_width(site.index)[site.side == "outputs"]
        return width

    def _architecture(self) -> MlpArchitecture:
        """The architecture with the neurons accepted so far in this round."""
        grown: MlpArchitecture = self.view.architecture
        for index, width in enumerate(self.widths):
            capacity = max(width, grown.hidden[index].capacity)
            grown = grown.with_layer(index, width=width, capacity=capacity)
        return grown

    def _allowed_sites(self) -> tuple[Site, ...]:
        s, now = self.settings, self._architecture()
        depth = s.depth is not None and self.view.layer_allowed
        found = sites(self.view.architecture, width=s.width is not None, depth=depth)
        return tuple(site for site in found if self.settings.allows(now, _after(now, site)))

    def run(self) -> Round:
        """The decisions up to a rejection, an inserted layer or a full capacity."""
        decisions: list[Decision] = []
        loss = float(self.scored.sample.loss)
        while True:
            allowed = self._allowed_sites()
            for site in allowed:
                if site not in self.pools and self._can_pay(site):
                    self.pools[site] = self._search(site)
            found = [self.pools[site].best for site in allowed if site in self.pools]
            ranked = sorted(found, key=lambda c: -c.score)
            passing = [c for c in ranked if c.passes]
            if not passing:
                reason = _why_not(ranked, self.settings, poor=bool(allowed))
                return self.end(*decisions, self._rejection(reason, tuple(ranked), loss))
            chosen = passing[0]
            assert isinstance(chosen.site, Site)
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
            full = self.settings.exhausted(self._architecture(), added)
            if full is not None:
                return self.end(*decisions, self._rejection(full, (), loss))
            if self.room[chosen.site.index] == 0:
                return Round(tuple(decisions), finished=False)

    def end(self, *decisions: Decision) -> Round:
        """The round that `decisions` have brought to its end, with what is pruned then."""
        s, hidden = self.settings, len(self.view.architecture.hidden)
        if s.prune is None:
            return Round(decisions)
        bar = Bar(s.threshold, s.stop, s.noise, s.bias_removed)
        readers = [self._reader(layer) for layer in range(hidden)]
        loss = float(self.placed.sample.loss)
        return Round((*decisions, *prunings(s.prune, bar, readers, loss=loss)))

    def _reader(self, layer: int) -> Reader:
        """The map that reads hidden layer `layer`, the neurons added in this round included."""
        sizes = (*self.widths, self.view.architecture.outputs)
        n_in, n_out = sizes[layer], sizes[layer + 1]
        # Nothing reads the new neurons yet: no gradient, no S, and their own weights don't matter.
        width, outputs = self.view.architecture.map_width(layer + 1)
        new = (0, n_out - outputs)
        sample, linear = self.placed.sample, self.view.params[f"map_{layer + 1}"]
        m = self.view.architecture.maps[layer + 1]
        kernel = joined(m, {k: np.asarray(v) for k, v in linear.items()})[: 1 + width, :outputs]
        return make_reader(
            np.asarray(self.placed.a[layer + 1])[:, : 1 + n_in],
            np.pad(np.asarray(sample.g[layer + 1])[:, :outputs], ((0, 0), new)),
            np.pad(np.asarray(sample.s[layer + 1])[:outputs, :outputs], new),
            np.pad(kernel, ((0, n_in - width), new)),
            self.compiled.shares,
        )

    def _rejection(self, reason: str, candidates: tuple[Candidate, ...], loss: float) -> Decision:
        return Decision(
            edit=None,
            reason=reason,
            candidates=candidates,
            threshold=self.settings.threshold,
            stop=self.settings.stop,
            loss=loss,
            seconds=time.perf_counter() - self.started,
        )

    def _left(self, target: Target) -> float:
        """What additions to a map can gain at most, in nats over all training examples.

        The quadratic model knows no end: where a prediction is sure of itself and wrong, F is next
        to nothing and Delta eta beyond all bounds. Nobody gains more than is left of the loss when
        the present parameters have gained what they promise, eta_c / 2.
        """
        left = float(self.scored.sample.loss) - float(target.eta) / 2
        return examples(self.view.data) * max(left, 0.0)

    def _added(self, site: Site) -> int:
        """The parameters that one addition at `site` brings."""
        now = self._architecture()
        return _after(now, site).parameters - now.parameters

    def _can_pay(self, site: Site) -> bool:
        """Whether any proposal at `site` could pay for its parameters; else none is sought."""
        price = self.settings.price
        if price == 0:
            return True
        return self._left(self._target(self.scored, site)) >= price * self._added(site)

    def _search(self, site: Site) -> _Pool:
        """New proposals at `site`, scored."""
        s, view = self.settings, self.view
        purpose = f"search {site.kind} {site.index} {view.asked} {self.searches}"
        self.searches += 1
        key = key_data(view.seed, purpose, view.step)
        residual = self._target(self.searched, site).residual
        source, active = self.searched.source(site), self._proposed_for(site)
        if site.kind == "width":
            activation = view.architecture.hidden[site.index].activation
            spectrum = view.input_spectrum if site.index == 0 else None
            proposals = self.compiled.search_width(
                key, source, spectrum, residual, np.int32(1 + active), activation, s.width
            )
        else:
            proposals = self.compiled.search_depth(key, source, residual, np.int32(active), s.depth)
        return self._score(site, proposals)

    def _score(self, site: Site, proposals: Neurons) -> _Pool:
        """The best of `proposals` on the deciding sample."""
        s = self.settings
        target, source = self._target(self.scored, site), self.scored.source(site)
        if site.kind == "width":
            activation = self.view.architecture.hidden[site.index].activation
            gain = self.compiled.score_width(target, source, proposals, activation)
        else:
            active = np.int32(self._proposed_for(site))
            gain = self.compiled.score_depth(target, source, proposals, active)
        exact, bias = np.asarray(gain.exact), np.asarray(gain.bias)
        value = exact - bias if s.bias_removed else exact
        value = np.where(np.isfinite(value), value, -np.inf)
        index = int(np.argmax(value))
        # eta_c keeps its bias: on data that training has converged on, the rest is close to zero,
        # and a ratio to nothing would let every proposal pass tau.
        eta = float(target.eta)
        delta = float(value[index])
        score = delta / (s.layer_cost if site.kind == "depth" else 1.0)
        ratio = score / eta if eta > 0 else (np.inf if score > 0 else 0.0)
        parameters = self._added(site)
        promised = min(examples(self.view.data) * score / 2, self._left(target))
        candidate = Candidate(
            site=site,
            delta_eta=delta,
            delta_eta_lower=float(np.asarray(gain.lower)[index]),
            bias=float(bias[index]),
            eta=eta,
            score=score,
            ratio=float(ratio),
            passes=bool(
                ratio > s.threshold
                and score > s.stop
                and delta > s.noise * float(bias[index])
                and promised >= s.price * parameters
            ),
            weights=self._shown(site, proposals, index),
            parameters=parameters if s.price > 0 else 0,
            gain=promised if s.price > 0 else 0.0,
        )
        return _Pool(proposals, candidate, index, float(target.bound))

    def _shown(self, site: Site, proposals: Neurons, index: int) -> tuple[float, ...] | None:
        """The weights of a proposed neuron that reads so little that it can be drawn."""
        readable = 1 + self._proposed_for(site)
        if site.kind == "depth" or site.index > 0 or readable > 3:
            return None
        return tuple(float(w) for w in np.asarray(proposals.weights)[index][:readable])

    def _accept(self, site: Site) -> Edit:
        pool = self.pools[site]
        weights = np.asarray(pool.proposals.weights)[pool.index]
        coefficients = np.asarray(pool.proposals.coefficients)[pool.index]
        if site.kind == "depth":
            return self._layer(site, weights)
        return self._neuron(site, weights, coefficients)

    def _layer(self, site: Site, weights: np.ndarray) -> InsertLayer:
        """The proposed W_q, invertible, in the orientation of `InsertLayer`."""
        proposed = self._proposed_for(site)
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

    def _neuron(self, site: Site, weights: np.ndarray, coefficients: np.ndarray) -> AddUnits:
        """The edit for one neuron; the activations of the proposal join both samples."""
        layer = self.view.architecture.hidden[site.index]
        width = self.widths[site.index]
        readable = self.scored.source(site).shape[1]
        weights = weights[:readable]
        proposal = Neurons(weights[None], coefficients[None])
        self.searched.append(site, proposal, 1 + width, layer.activation)
        moments = self.scored.append(site, proposal, 1 + width, layer.activation)
        if self.placed is not self.scored:
            # The control's neurons leave the score's gain where it was: were they to join the
            # samples, the same proposal would be accepted for ever.
            weights, coefficients = self._control(site, weights, coefficients)
            placed = Neurons(weights[None], coefficients[None])
            moments = self.placed.append(site, placed, 1 + width, layer.activation)
        n_in = (self.view.architecture.inputs, *self.widths)[site.index]
        weights = np.pad(weights, (0, max(0, 1 + n_in - readable)))
        self.widths[site.index] += 1
        self.room[site.index] -= 1
        # The same target again, with a smaller residual. First the proposals at hand; a new search
        # only here, and only when none of them passes any longer.
        for other in list(self.pools):
            if other.target == site.target:
                self.pools[other] = self._score(other, self.pools[other].proposals)
        if not self.pools[site].best.passes:
            del self.pools[site]
        return AddUnits(
            layer=site.index,
            incoming=weights[: 1 + n_in, None],
            coefficients=coefficients[:, None] if layer.activation == "rational" else None,
            moments=moments[: 2 + width, : 2 + width],
        )

    def _control(
        self, site: Site, weights: np.ndarray, coefficients: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weights and coefficients with what the settings want from the initial distribution."""
        layer, width = self.view.architecture.hidden[site.index], self.widths[site.index]
        n_in = self._proposed_for(site)
        rng = numpy_generator(self.view.seed, f"random {site.index} {width}", self.view.step)
        kernel, bias, drawn = draw_neurons(rng, n_in, 1, layer.activation)
        if drawn is not None:
            coefficients = drawn[:, 0]
        if self.settings.weights == "random":
            weights = np.zeros_like(weights)
            weights[0], weights[1 : 1 + n_in] = bias[0], kernel[:, 0]
        return weights, coefficients


def _after(architecture: MlpArchitecture, site: Site) -> MlpArchitecture:
    """The architecture after one addition at `site`, without spare capacity for it."""
    if site.kind == "width":
        layer = architecture.hidden[site.index]
        width = layer.width + 1
        return architecture.with_layer(site.index, width=width, capacity=max(width, layer.capacity))
    q = architecture.map_width(site.index)[site.side == "outputs"]
    hidden = list(architecture.hidden)
    hidden.insert(site.index, Layer(q, q, "rational"))
    return replace(architecture, hidden=tuple(hidden))


def _why_not(ranked: list[Candidate], settings: SennSettings, *, poor: bool) -> str:
    """Why none of the ranked candidates is taken; `poor` where sites are allowed but cannot pay."""
    if not ranked and poor:
        return f"what is left of the loss pays for no addition at price {settings.price:g}"
    if not ranked:
        return "no site allows an addition"
    best, threshold, stop = ranked[0], settings.threshold, settings.stop
    if best.score <= stop:
        return f"score {best.score:.3g} of {best.site} is not above alpha = {stop:g}"
    if best.ratio <= threshold:
        return f"ratio {best.ratio:.3g} of {best.site} is not above tau = {threshold:g}"
    if best.delta_eta <= settings.noise * best.bias:
        return f"Delta eta {best.delta_eta:.3g} of {best.site} is within its noise, {best.bias:.3g}"
    price = settings.price * best.parameters
    return (
        f"gain {best.gain:.3g} of {best.site} does not pay for its {best.parameters} parameters "
        f"at price {settings.price:g}: {price:.3g}"
    )
