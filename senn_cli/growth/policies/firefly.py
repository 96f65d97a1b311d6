"""The policy `firefly` (Wu, Liu, Stone and Liu, NeurIPS 2020).

It answers where and what. Every old unit may split into two and there are fresh units; what they
read by and are read by is optimised for some steps behind small gates (`gates`), and those whose
gates lower the loss most are kept, over all layers together. The function changes by them. When is
given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np

from senn_cli.engine.arrays import Arrays, inputs, targets
from senn_cli.engine.feed import handed
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.edits import AddUnits, Edit, SplitUnit
from senn_cli.growth.gates import Behind, Candidates, Gates
from senn_cli.growth.policies.given import Given, Places, taken
from senn_cli.growth.policies.grown import sample_rows
from senn_cli.growth.policy import Decision, Round, View
from senn_cli.growth.sight import identities
from senn_cli.nets.features import Architecture, hidden_feature
from senn_cli.nets.registry import Parameters, used
from senn_cli.randomness import key_data, wrap
from senn_cli.words import plural

RATE = 0.3
"""The first step of directions, as a share of the length that they may have."""


class Found(NamedTuple):
    """The candidates of one layer on other examples than those that they were optimised on.

    Attributes:
      changes: what each changes the loss by, as its gates' gradients predict it.
      loss: the mean loss without any.
    """

    candidates: Candidates
    changes: Gates
    loss: jax.Array


class Chosen(NamedTuple):
    """A candidate: the unit that splits, or the number of the fresh one."""

    change: float
    layer: int
    splits: bool
    number: int


class Firefly(Given):
    """Adds the best of split and fresh units.

    Args:
      places: the limits, and which layers may get units.
      samples: examples that directions are optimised on, and as many others that decide.
      fresh: candidates a layer that are fresh units.
      steps: of the optimisation.
      size: the gates' size.
      objective: whose loss is lowered.
      ledger: counts what is compiled.
    """

    def __init__(
        self,
        places: Places,
        samples: int,
        *,
        fresh: int,
        steps: int,
        size: float,
        objective: Objective,
        ledger: Ledger,
    ) -> None:
        self.places, self.samples = places, samples
        self.fresh, self.steps, self.size = fresh, steps, size

        def search(
            shape: Architecture,
            at: str,
            key: jax.Array,
            params: Parameters,
            widths: jax.Array,
            data: Arrays,
            rows: tuple[jax.Array, jax.Array],
        ) -> Found:
            units = used(shape, widths)
            first, second = (
                Behind(shape, at, params, units, inputs(data, r), targets(data, r), objective)
                for r in rows
            )
            drawn = first.drawn(wrap(key), fresh)
            found = first.optimised(drawn, size, steps, RATE)
            return Found(found, second.scores(found, size), second.loss())

        self._search = Program("search_width", search, ledger, static=(0, 1))

    def due(self, view: View) -> Round:
        """The best candidates, as many as may come; else the reason why none does."""
        first, second = sample_rows(view, self.samples)
        data, both = handed(view.data, np.concatenate([first, second]))
        rows, layers = (both[: len(first)], both[len(first) :]), self.places.layers
        shape, found = view.architecture.shape(), dict[int, Found]()
        for layer in range(len(view.architecture.hidden)) if layers is None else layers:
            at = hidden_feature(view.architecture, layer).name
            key = key_data(view.seed, f"firefly {at}", view.step)
            args = (shape, at, key, view.params, view.widths, data, rows)
            found[layer] = jax.device_get(self._search(*args))
        ranked = ranking(view.architecture, found)
        best = taken(self.places.limits, view.architecture, ranked)
        loss = float(next(iter(found.values())).loss)
        if not best:
            reason = "no candidate lowers the loss" if not ranked else "a limit forbids them all"
            return Round((Decision(None, reason, loss=loss),))
        edits = self._edits(view.architecture, found, best)
        return Round(
            tuple(
                Decision(edit, told, loss=loss, change=change, keeps=False)
                for edit, change, told in edits
            )
        )

    def _edits(
        self, architecture: Architecture, found: dict[int, Found], best: list[Chosen]
    ) -> Iterator[tuple[Edit, float, str]]:
        """Edits of the last layer first, each with the predicted change and what it is."""
        size = np.float32(self.size)
        for layer in sorted({chosen.layer for chosen in best}, reverse=True):
            candidates, feature = found[layer].candidates, hidden_feature(architecture, layer)
            here = [chosen for chosen in best if chosen.layer == layer]
            for chosen in (c for c in here if c.splits):
                turn = size * candidates.turns[:, chosen.number]
                offsets = np.stack([turn, -turn], axis=1)
                edit = SplitUnit(layer, chosen.number, (0.5, 0.5), offsets)
                yield edit, chosen.change, f"the split lowers the loss by {-chosen.change:.3g}"
            fresh = [chosen for chosen in here if not chosen.splits]
            if fresh:
                numbers = [chosen.number for chosen in fresh]
                change = sum(chosen.change for chosen in fresh)
                outgoing = {
                    n: size * w[numbers, None] for n, w in candidates.fresh.outgoing.items()
                }
                incoming = candidates.fresh.incoming[:, numbers]
                told = f"{plural(len(fresh), 'fresh neuron')} lower the loss by {-change:.3g}"
                yield (
                    AddUnits(layer, incoming, identities(feature, len(fresh)), outgoing),
                    change,
                    told,
                )


def ranking(architecture: Architecture, found: dict[int, Found]) -> list[Chosen]:
    """The candidates of all layers that lower the loss, the best first."""
    every = [
        Chosen(float(change), layer, splits, number)
        for layer, (_, changes, _) in found.items()
        for splits, values in ((True, changes.splits), (False, changes.fresh))
        for number, change in enumerate(values)
        if not splits or number < architecture.hidden[layer].width
    ]
    return sorted(chosen for chosen in every if chosen.change < 0)
