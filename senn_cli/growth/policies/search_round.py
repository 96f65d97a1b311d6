"""One growth round of the policy `senn`: search, score, accept, take the residual anew; prune."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.engine.feed import handed
from senn_cli.growth import judgement
from senn_cli.growth.compiled import Compiled
from senn_cli.growth.edits import AddUnits, Edit, InsertLayer
from senn_cli.growth.insertion import floored
from senn_cli.growth.objective import Neurons
from senn_cli.growth.observed import Observed
from senn_cli.growth.policies import control
from senn_cli.growth.policies.grown import Grown, sample_rows
from senn_cli.growth.policy import Candidate, Decision, Round, Site, View, sites
from senn_cli.growth.pricing import Price, determined
from senn_cli.growth.reader import Reader, make_reader
from senn_cli.growth.realise import declared
from senn_cli.growth.removal import Bar, prunings
from senn_cli.growth.settings import Settings
from senn_cli.growth.target import Target
from senn_cli.nets.features import Map, hidden_feature, writer
from senn_cli.nets.leaves import joined
from senn_cli.randomness import key_data


@dataclass
class _Pool:
    """Proposals at one site and the best one's fate on the deciding sample."""

    proposals: Neurons
    best: Candidate
    index: int
    bound: float


class SearchRound:
    """One round in progress: two samples, and the proposals at every site."""

    def __init__(self, settings: Settings, compiled: Compiled, view: View) -> None:
        self.settings, self.compiled, self.view = settings, compiled, view
        self.started = time.perf_counter()
        self.price = Price(settings.price, examples(view.data))
        self.maps = {m.name: index for index, m in enumerate(view.architecture.maps)}
        self.grown = Grown(settings, view)
        found = sample_rows(view, settings.samples, held_out=settings.held_out)
        self.rows = found[1]
        self.searched, self.scored = (self._look(rows) for rows in found)
        self.loss = float(self.scored.sample.loss)
        # What is really added, for its moments; another sample only where that differs.
        proposed = control.as_proposed(settings)
        self.placed = self.scored if proposed else Observed(self.compiled, self.scored.sample)
        self.searches = 0
        self.pools: dict[Site, _Pool | None] = {}  # None where nothing that is found could pay
        self.at: int | None = None  # of the last addition
        self.determined: dict[Site, float] = {}

    def _look(self, rows: np.ndarray) -> Observed:
        view = self.view
        args = (view.architecture, view.params, view.widths, *handed(view.data, rows))
        return Observed(self.compiled, self.compiled.look(*args))

    def _target(self, observed: Observed, site: Site) -> Target:
        m = self.grown.map(site)
        return observed.target(self.maps[m.name], *self.grown.size(m))

    def run(self) -> Round:
        """The decisions up to a rejection, an inserted layer or a full capacity.

        Where units are to gain at once they are up to an addition elsewhere, too, as that is scored
        anew by the network that has them.
        """
        found, added = self._additions(), self.grown.widths
        for layer, width in enumerate(self.view.architecture.widths):
            if self.settings.realise and added[layer] > width:
                return replace(found, decisions=self._realised(found, layer, width))
        return found

    def _realised(self, found: Round, layer: int, width: int) -> tuple[Decision, ...]:
        """The decisions with output weights for the units that have come to `layer`."""
        view, count = self.view, self.grown.widths[layer] - width
        feature = hidden_feature(view.architecture, layer)
        (m,) = Site.of(feature).targets(view.architecture)
        target = self.placed.target(self.maps[m.name], *self.grown.size(m))
        args = (view.architecture.shape(), m.name, view.params, view.widths)
        g, first = self.placed.sample.g[self.maps[m.name]], 1 + width
        sample = handed(view.data, self.rows)
        told = self.compiled.realise(*args, *sample, target, g, np.int32(first), np.int32(count))
        return tuple(declared(list(found.decisions), m.name, jax.device_get(told), first))

    def _additions(self) -> Round:
        """The decisions, all output weights at zero."""
        decisions: list[Decision] = []
        while True:
            allowed = self.grown.sites()
            for site in allowed:
                if site not in self.pools and self._can_pay(site):
                    self.pools[site] = self._search(site)
            pools = {site: pool for site in allowed if (pool := self.pools.get(site))}
            found = [pool.best for pool in pools.values()]
            ranked = judgement.ranked(found)
            chosen = next((c for c in ranked if c.passes), None)
            if chosen is None:
                best = ranked[0] if ranked else None
                reason = judgement.why_not(best, self.settings, poor=bool(allowed))
                return self.end(*decisions, self._decision(None, reason, tuple(ranked)))
            here = (chosen.site.kind, chosen.site.index) == ("width", self.at)
            if self.settings.realise and decisions and not here:
                return Round(tuple(decisions), finished=False)
            self.at = chosen.site.index
            ordered = (chosen, *(c for c in ranked if c is not chosen))
            pool = pools[chosen.site]
            edit = self._accept(chosen.site, pool)
            decisions.append(self._decision(edit, judgement.why(chosen), ordered, pool.bound))
            if isinstance(edit, InsertLayer):
                return Round(tuple(decisions))  # at most one layer a round
            added = self.view.added + len(decisions)
            full = self.settings.exhausted(self.grown.architecture(), added)
            if full is not None:
                return self.end(*decisions, self._decision(None, full, ()))
            if self.grown.room[chosen.site.index] == 0:
                return Round(tuple(decisions), finished=False)

    def end(self, *decisions: Decision) -> Round:
        """The round that `decisions` have brought to its end, with what is pruned then."""
        s, architecture = self.settings, self.view.architecture
        if s.prune is None:
            return Round(decisions)
        if s.realise and decisions[0].edit is not None:  # of the network that has these units
            return Round(decisions[:-1], finished=False)
        bar = Bar(s.threshold, s.stop, s.noise, s.bias_removed)
        found = sites(architecture, width=True, depth=False)
        places = [(site, self.grown.map(site)) for site in found]
        readers = [self._reader(m) for _, m in places]
        return Round((*decisions, *prunings(s.prune, bar, readers, places=places, loss=self.loss)))

    def _reader(self, m: Map) -> Reader:
        """A map that reads a hidden layer, the units added in this round included."""
        index, width, outputs = self.maps[m.name], m.rows_used, m.target.width
        n_in, n_out = self.grown.size(m)
        # Nothing reads the new units yet: no gradient, no S, and their own weights don't matter.
        new = (0, n_out - outputs)
        sample = self.placed.sample
        kernel = joined(m, {k: np.asarray(v) for k, v in self.view.params[m.name].items()})
        return make_reader(
            np.asarray(self.placed.a[index])[:, : 1 + n_in],
            np.pad(np.asarray(sample.g[index])[:, :outputs], ((0, 0), new)),
            np.pad(np.asarray(sample.s[index])[:outputs, :outputs], new),
            np.pad(kernel[:width, :outputs], ((0, 1 + n_in - width), new)),
            self.compiled.shares,
        )

    def _decision(
        self,
        edit: Edit | None,
        reason: str,
        candidates: tuple[Candidate, ...],
        bound: float | None = None,
    ) -> Decision:
        seconds = time.perf_counter() - self.started
        self.started = time.perf_counter()
        s = self.settings
        return Decision(
            edit,
            reason,
            candidates,
            s.threshold,
            s.stop,
            loss=self.loss,
            bound=bound,
            seconds=seconds,
        )

    def _parameters(self, site: Site) -> float:
        """The parameters that an addition brings, of input weights those that data determine."""
        if self.price.price == 0:
            return 0.0
        read = self.grown.readable(site)
        if site not in self.determined:
            spectrum = self.view.input_spectrum
            if spectrum is None or site.index > 0 or site.side is not None:
                source = np.asarray(self._source(self.scored, site), np.float64)
                values = np.linalg.eigvalsh(source.T @ source / len(source))
            else:
                values = np.asarray(spectrum[0])
            self.determined[site] = determined(values, 1 + read)
        units = 1 if site.side is None else read
        return self.grown.parameters(site) - units * (1 + read - self.determined[site])

    def _can_pay(self, site: Site, cost: float = 1.0) -> bool:
        """Whether what is left of the loss, over `cost`, pays for an addition at `site`."""
        if self.price.price == 0:
            return True
        target = self._target(self.scored, site)
        left = self.price.left(self.loss, float(target.eta) - float(target.eta_bias))
        return self.price.pays(left / cost, self._parameters(site))

    def _search(self, site: Site) -> _Pool | None:
        """New proposals at `site`, scored; None where none could pay, whatever it promised."""
        s, view = self.settings, self.view
        purpose = f"search {site.kind} {site.index} {view.asked} {self.searches}"
        # Counted in any case: what others draw does not depend on it.
        self.searches += 1
        if not self._can_pay(site, s.cost(site.kind)):
            return None
        key = key_data(view.seed, purpose, view.step)
        residual = self._target(self.searched, site).residual
        source, active = self._source(self.searched, site), self.grown.readable(site)
        if site.kind == "width":
            activation = view.architecture.hidden[site.index].activation
            known = view.input_spectrum if site.index == 0 else None
            spectrum = self.compiled.spectrum(source, known)
            proposals = self.compiled.search_width(
                key, source, spectrum, residual, np.int32(1 + active), activation, s.width
            )
        else:
            args = self._narrowed(site, source, residual)
            proposals = self.compiled.search_depth(key, *args, np.int32(active), s.depth)
        return self._score(site, proposals)

    def _score(self, site: Site, proposals: Neurons) -> _Pool:
        """The best of `proposals` on the deciding sample."""
        s = self.settings
        target = self._target(self.scored, site)
        if site.kind == "width":
            made = self._activations(self.scored, site, proposals)
            gain = self.compiled.score_width(target, made)
        else:
            active = np.int32(self.grown.readable(site))
            read, _ = self._narrowed(site, self._source(self.scored, site), target.residual)
            gain = self.compiled.score_depth(target, read, proposals, active)
        told = (gain, target.eta, target.eta_bias, target.bound)
        found, eta, eta_bias, bound = jax.device_get(told)
        exact, bias, eta = found.exact, found.bias, float(eta)
        value = exact - bias if s.bias_removed else exact
        value = np.where(np.isfinite(value), value, -np.inf)
        index = int(np.argmax(value))
        # eta_c keeps its bias: on data that training has converged on, the rest is close to zero,
        # and a ratio to nothing would let every proposal pass tau.
        delta = float(value[index])
        cost = s.cost(site.kind)
        candidate = judgement.judged(
            s,
            site,
            delta=delta,
            lower=float(found.lower[index]),
            noise=float(bias[index]),
            eta=eta,
            score=delta / cost,
            price=self.price,
            parameters=self._parameters(site),
            gain=self.price.gain(delta, self.price.left(self.loss, eta - float(eta_bias))) / cost,
            weights=self._shown(site, proposals, index),
        )
        return _Pool(proposals, candidate, index, float(bound))

    def _narrowed(self, site: Site, source: jax.Array, residual: jax.Array) -> tuple[Any, Any]:
        """`Compiled.narrowed` for a layer at `site`, in search and score alike."""
        _, outputs = self.grown.size(self.grown.map(site))
        return self.compiled.narrowed(source, residual, max(self.grown.readable(site), outputs))

    def _shown(self, site: Site, proposals: Neurons, index: int) -> tuple[float, ...] | None:
        """The weights of a proposed neuron that reads so little that it can be drawn."""
        readable = 1 + self.grown.readable(site)
        if site.kind == "depth" or site.index > 0 or readable > 3:
            return None
        return tuple(float(w) for w in np.asarray(proposals.weights)[index][:readable])

    def _accept(self, site: Site, pool: _Pool) -> Edit:
        weights = np.asarray(pool.proposals.weights)[pool.index]
        coefficients = np.asarray(pool.proposals.coefficients)[pool.index]
        if site.kind == "depth":
            return self._layer(site, weights)
        return self._unit(site, pool, weights, coefficients)

    def _source(self, observed: Observed, site: Site) -> jax.Array:
        """What proposals at `site` read, the constant in front."""
        if site.side is None:
            return observed.sample.reads[self.maps[writer(self.view.architecture, site.at).name]]
        sample, index = observed.sample, self.maps[site.at]
        return sample.reads[index] if site.side == "inputs" else sample.yields[index]

    def _layer(self, site: Site, weights: np.ndarray) -> InsertLayer:
        """The proposed W_q, invertible, in the orientation of `InsertLayer`."""
        proposed = self.grown.readable(site)
        # Units added in this round were not proposed for: the identity carries them through.
        q = self.grown.size(self.grown.map(site))[site.side == "outputs"]
        if self.settings.weights == "random":
            kernel, bias = control.drawn_layer(self.view, q)
        else:
            kernel, bias = np.eye(q), np.zeros(q)
            kernel[:proposed, :proposed] = weights[:proposed, 1 : 1 + proposed].T
            bias[:proposed] = weights[:proposed, 0]
        kernel = floored(kernel, self.settings.singular_floor)
        assert site.side is not None
        return InsertLayer(site.index, site.side, np.concatenate([bias[None], kernel]))

    def _unit(
        self, site: Site, pool: _Pool, weights: np.ndarray, coefficients: np.ndarray
    ) -> AddUnits:
        """The edit for the best of `pool`, of these weights; its activations join both samples."""
        layer, width = self.view.architecture.hidden[site.index], self.grown.widths[site.index]
        readable = self._source(self.scored, site).shape[1]
        weights = weights[:readable]
        self._append(self.searched, site, pool.proposals, pool.index)
        moments = self._append(self.scored, site, pool.proposals, pool.index)
        if self.placed is not self.scored:
            # The control's units leave the score's gain where it was: were they to join the
            # samples, the same proposal would be accepted for ever.
            weights, coefficients = control.drawn_unit(
                self.settings,
                self.view,
                (site.index, width),
                self.grown.readable(site),
                layer.activation,
                Neurons(weights, coefficients),
            )
            drawn = Neurons(weights[None], coefficients[None])
            moments = self._append(self.placed, site, drawn, 0)
        n_in, _ = self.grown.size(writer(self.view.architecture, site.at))
        weights = np.pad(weights, (0, max(0, 1 + n_in - readable)))
        self.grown.add(site.index)
        # The same target again, with a smaller residual. First the proposals at hand; a new search
        # only here, and only when none of them passes any longer.
        # What can no longer be added, or pay, cannot later in the round either: it is not scored.
        allowed = self.grown.sites()
        for other, known in list(self.pools.items()):
            if known and self.grown.map(other) == self.grown.map(site):
                cost = self.settings.cost(other.kind)
                open_to = other == site or (other in allowed and self._can_pay(other, cost))
                self.pools[other] = self._score(other, known.proposals) if open_to else None
        again = self.pools[site]
        if again and not again.best.passes:
            del self.pools[site]
        return AddUnits(
            layer=site.index,
            incoming=weights[: 1 + n_in, None],
            coefficients=coefficients[:, None] if layer.activation == "rational" else None,
            moments=moments[: 2 + width, : 2 + width],
        )

    def _activations(self, observed: Observed, site: Site, proposals: Neurons) -> jax.Array:
        activation = self.view.architecture.hidden[site.index].activation
        source = self._source(observed, site)
        return observed.activations(site.at, source, proposals, activation)

    def _append(
        self, observed: Observed, site: Site, proposals: Neurons, number: int
    ) -> np.ndarray:
        """The activations of a unit join a sample; returns the second moments of all columns."""
        made = self._activations(observed, site, proposals)
        index = self.maps[self.grown.map(site).name]
        return observed.append(index, made, number, 1 + self.grown.widths[site.index])
