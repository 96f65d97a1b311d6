"""The compiled programs of a round that searches where units are fields, or several maps read them.

A look at a sample, a search at all sites, and the sums that their scores are made of: three
programs a shape of the network, whatever is decided by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.curvature.observe import observe
from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.field_moments import ReaderSums, Seen, fitted, reader_sums
from senn_cli.growth.field_search import propose
from senn_cli.growth.objective import Neurons
from senn_cli.growth.reader import Shares
from senn_cli.growth.search import draws
from senn_cli.growth.settings import Settings, WidthSearch
from senn_cli.nets.features import Architecture, writer
from senn_cli.nets.registry import Parameters, used
from senn_cli.randomness import key_data, wrap


class Fields:
    """The programs for one objective, metric and damping of the scores.

    `observe(shape, params, widths, data, rows) -> Seen`;
    `search(shape, settings, key, wanted, widths, seen) -> proposals`, at the features in `wanted`
    for which that is true, zeros for others;
    `score(shape, widths, seen, proposals) -> ReaderSums by the name of the map that reads them`.

    Proposals are `Neurons` by the feature they are for; their weights are columns of the joined
    matrix of the map that yields it.

    Attributes:
      shares: the damping.
    """

    def __init__(
        self, ledger: Ledger, objective: Objective, metric: Metric, shares: Shares
    ) -> None:
        def look(
            shape: Architecture, params: Parameters, widths: jax.Array, data: Arrays, rows: Any
        ) -> Seen:
            x, y, units = inputs(data, rows), targets(data, rows), used(shape, widths)
            seen = observe(shape, params, units, x, y, objective, metric)
            return Seen(seen.reads, seen.told, fitted(shares, shape, units, seen), seen.loss)

        self.shares = shares
        self.observe = Program("observe", look, ledger, static=(0,), rows=(0, 1))
        self.search = Program("search_width", partial(_search, shares), ledger, static=(0, 1))
        self.score = Program("score_width", _score, ledger, static=(0,))

    def compile(
        self, network: tuple[Architecture, Parameters, Any], sample: tuple[Any, ...], s: Settings
    ) -> None:
        """Compiles all of them for a network in another thread; see `Program.results`.

        Args:
          network: its shape, parameters and widths; sample: data and rows.
        """
        (shape, _, widths), key = network, key_data(0, "search")
        seen = self.observe.results(*network, *sample)
        wanted = {f.name: np.bool_(True) for f in shape.features if f.role == "hidden"}
        found: dict[str, Neurons] = {}
        if s.widens:
            found = self.search.results(shape, s.width, key, wanted, widths, seen)
        self.score.results(shape, widths, seen, found)


def _search(
    shares: Shares,
    shape: Architecture,
    settings: WidthSearch,
    key: jax.Array,
    wanted: Mapping[str, jax.Array],
    widths: jax.Array,
    seen: Seen,
) -> dict[str, Neurons]:
    units, found = used(shape, widths), {}
    of_draws, *keys = jax.random.split(wrap(key), 1 + len(wanted))
    # The same at all sites: a program's compilation grows with every draw in it.
    start = draws(of_draws, settings.proposals, settings.rank, jnp.dtype(jnp.float32))
    for number, at in enumerate(sorted(wanted)):
        count = 1 if settings.method == "mala" else settings.polished

        def search(at: str = at, number: int = number) -> Neurons:
            return propose(shape, at, settings, shares.a, keys[number], start, units, seen)

        def none(at: str = at, count: int = count) -> Neurons:
            return Neurons(jnp.zeros((count, writer(shape, at).rows)), jnp.zeros((count, 3)))

        found[at] = jax.lax.cond(wanted[at], search, none)
    return found


def _score(
    shape: Architecture, widths: jax.Array, seen: Seen, proposals: Mapping[str, Neurons]
) -> dict[str, ReaderSums]:
    return reader_sums(shape, used(shape, widths), seen, proposals)
