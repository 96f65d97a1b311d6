"""Pruning is reversed addition: section 3.5 of the paper.

A neuron p of a hidden layer may go if, once it is gone, it would not be added again: the removal
cost (`score.removals`) is by how much re-enabling it would raise the score. It is twice the
predicted change of the loss plus the fall of the score eta, and is compared with tau eta (of what
remains) and alpha, as an addition is. The compensation is that of the undamped A, so that a copy
costs nothing, while scores are damped as everywhere.

After every removal the costs are taken anew, so that of two copies one stays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from senn_cli.growth import score
from senn_cli.growth.compensation import SHARE, compensation
from senn_cli.growth.edits import RemoveUnit
from senn_cli.growth.policy import Candidate, Decision, Site
from senn_cli.growth.reader import Reader
from senn_cli.growth.score import Removals
from senn_cli.growth.settings import PruneSettings
from senn_cli.nets.features import Map


def removals(reader: Reader) -> Removals:
    """The costs of all neurons that `reader` reads, each on its own.

    The compensation is nearly undamped, so that a copy costs nothing.
    """
    groups = 1 + np.arange(reader.used - 1)[:, None]
    slight = SHARE * reader.mean_power
    left = np.maximum(1.0 / np.diagonal(reader.inverse(SHARE)) - slight, 0.0)
    kernel = np.pad(reader.kernel, ((0, len(reader.a) - reader.used), (0, 0)))
    return score.removals(reader.statistics, kernel, groups, left=left[1:, None, None])


@dataclass(frozen=True)
class Bar:
    """What an addition has to pass, and a neuron in use too if it is to stay.

    Attributes:
      threshold, stop: tau and alpha.
      noise: a neuron goes only if its cost would be low enough with this many times the bias of the
        sample on top, as an addition has to rise above that: what looks cheap may be chance.
      bias_removed: whether the upward bias of the sample is taken off the cost.
    """

    threshold: float
    stop: float
    noise: float
    bias_removed: bool


def prunings(
    settings: PruneSettings,
    bar: Bar,
    readers: Sequence[Reader],
    *,
    places: Sequence[tuple[Site, Map]],
    loss: float | None = None,
) -> list[Decision]:
    """The neurons to be removed: layer by layer from the inputs on, in each the cheapest first.

    Where a neuron has gone from a layer, the weights of its map have changed, and with them the
    gradients that reach all layers before: those have been seen to by then. Layers behind read the
    same values as before, as far as the compensation goes.

    Args:
      readers: the map that reads each hidden layer; of a chain, each of which feeds the next.
      places: for each of them the layer and the map.
      loss: mean training loss over the sample, for the record.

    Returns:
      Decisions to be carried out in this order: the last neuron of a layer takes the number of a
      removed one, and each decision uses the numbers of its time.
    """
    started = time.perf_counter()
    now = list(readers)
    decisions: list[Decision] = []
    for layer, (site, m) in enumerate(places):
        while now[layer].used - 1 > settings.min_width:
            reader = now[layer]
            chosen, neuron = _cheapest(bar, site, removals(reader))
            if chosen.passes or len(decisions) == settings.per_round:
                break
            combination = stand_in(reader, neuron)
            decisions.append(
                Decision(
                    edit=RemoveUnit(site.index, neuron, {m.name: combination[:, None]}),
                    reason=_why(bar, chosen, neuron),
                    candidates=(chosen,),
                    threshold=bar.threshold,
                    stop=bar.stop,
                    loss=loss,
                    change=reader.change(neuron, combination),
                    seconds=time.perf_counter() - started,
                )
            )
            started = time.perf_counter()
            now[layer] = reader.without_input(neuron, combination)
            if layer > 0:
                now[layer - 1] = now[layer - 1].without_output(neuron)
    return decisions


def stand_in(reader: Reader, neuron: int) -> np.ndarray:
    """How the other rows in use stand in for a neuron, `(used,)`."""
    kept, everything = reader.a[: reader.used, : reader.used], np.ones(reader.used, bool)
    rows = np.array([1 + neuron])
    return compensation(kept, everything, rows)[:, 0]


def _cheapest(bar: Bar, site: Site, found: Removals) -> tuple[Candidate, int]:
    """The neuron of a layer that is the first to go; it `passes` where it is to stay."""
    value = found.cost - found.bias if bar.bias_removed else found.cost
    value = np.where(np.isfinite(value), value, np.inf)
    limit = np.maximum(bar.threshold * found.eta, bar.stop)
    surely = value + bar.noise * found.bias
    goes = surely <= limit
    neuron = int(np.argmin(np.where(goes, value, np.inf) if np.any(goes) else value))
    cost, eta = float(value[neuron]), float(found.eta[neuron])
    ratio = cost / eta if eta > 0 else (np.inf if cost > 0 else 0.0)
    candidate = Candidate(
        site=site,
        delta_eta=cost,
        delta_eta_lower=float(found.lower[neuron]),
        bias=float(found.bias[neuron]),
        eta=eta,
        score=cost,
        ratio=float(ratio),
        passes=not goes[neuron],
    )
    return candidate, neuron


def _why(bar: Bar, chosen: Candidate, neuron: int) -> str:
    level = bar.threshold * chosen.eta
    name, limit = ("tau eta", level) if level >= bar.stop else ("alpha", bar.stop)
    return (
        f"removal cost {chosen.score:.3g} of {chosen.site} neuron {neuron} is not above "
        f"{name} = {limit:.3g}"
    )
