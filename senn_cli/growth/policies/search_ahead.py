"""The programs of a round of searched proposals, compiled before it comes.

They are those that `search_round` calls, in the order in which another thread does best to come to
them: a search for layers takes longest to compile.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from senn_cli.engine.arrays import Arrays, examples
from senn_cli.growth.compiled import Compiled, Sample
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policies.grown import Grown, sample_size
from senn_cli.growth.policy import Site, View
from senn_cli.growth.pricing import Price
from senn_cli.growth.settings import Settings
from senn_cli.growth.target import Target
from senn_cli.nets.features import Map, writer
from senn_cli.randomness import key_data


class SearchAhead:
    """What there is to compile for the round of a view; see `Policy.expect`.

    Args:
      data: those of `view`, whole on one device: what is put in the place of results lies nowhere.
    """

    def __init__(self, settings: Settings, compiled: Compiled, view: View, data: Arrays) -> None:
        self.settings, self.compiled, self.view, self.data = settings, compiled, view, data
        self.grown = Grown(settings, view)
        self.maps = {m.name: index for index, m in enumerate(view.architecture.maps)}

    def compile(self) -> None:
        """Compiles all that the round is sure to need, and what it may: layers only if they pay.

        Raises:
          Aborted: nothing is compiled ahead any more.
        """
        view, s, n = self.view, self.settings, examples(self.data)
        rows = np.zeros(sample_size(n, s.samples, held_out=s.held_out), np.int32)
        look = (view.architecture, view.params, view.widths, self.data, rows)
        sample: Sample = _blank(self.compiled.look(*look, ahead=True))
        price = Price(s.price, n)
        allowed = self.grown.sites()
        # The last map is the likeliest to be searched for layers: those before it promise more than
        # is left of the loss.
        *others, last = [None, *(site for site in allowed if site.kind == "depth")]
        units = [site for site in allowed if site.kind == "width"]
        for site in (last, *units, *reversed(others)):
            if site is None:
                continue
            left = price.left(view.loss(), 0.0) / s.cost(site.kind)
            if not price.pays(left, self.grown.parameters(site)):
                continue
            target = self._target(sample, self.grown.map(site))
            if site.kind == "width":
                self._width(site, sample, target)
            else:
                self._depth(site, sample, target)
        for site in allowed:
            self._target(sample, self.grown.map(site))

    def _target(self, sample: Sample, m: Map) -> Target:
        index, (n_in, n_out) = self.maps[m.name], self.grown.size(m)
        args = (sample.a[index], sample.g[index], sample.s[index])
        found: Target = _blank(
            self.compiled.target.results(*args, np.int32(1 + n_in), np.int32(n_out))
        )
        return found

    def _width(self, site: Site, sample: Sample, target: Target) -> None:
        view, compiled, index = self.view, self.compiled, self.maps[self.grown.map(site).name]
        activation = view.architecture.hidden[site.index].activation
        source = sample.reads[self.maps[writer(view.architecture, site.at).name]]
        known = view.input_spectrum if site.index == 0 else None
        spectrum = compiled.spectrum(source, known)
        args = (_key(), source, spectrum, target.residual, np.int32(0), activation)
        found: Neurons = _blank(compiled.search_width.results(*args, self.settings.width))
        made = _blank(compiled.activate.results(source, found, activation))
        compiled.score_width.results(target, made)
        compiled.append.results(sample.a[index], made, np.int32(0), np.int32(0))

    def _depth(self, site: Site, sample: Sample, target: Target) -> None:
        m = self.grown.map(site)
        of_map = sample.reads if site.side == "inputs" else sample.yields
        active = max(self.grown.readable(site), self.grown.size(m)[1])
        read, residual = self.compiled.narrowed(of_map[self.maps[m.name]], target.residual, active)
        args = (_key(), read, residual, np.int32(active), self.settings.depth)
        found: Neurons = _blank(self.compiled.search_depth.results(*args))
        self.compiled.score_depth.results(target, read, found, np.int32(active))


def _key() -> np.ndarray:
    return key_data(0, "search")


def _blank(results: Any) -> Any:
    """Zeros in the form of results, whose memory nobody touches."""
    return jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), results)
