"""Carrying curvature through an edit: Kronecker factors, blocks and averaged gradients.

What belongs to units that stay, stays with them. Inverses are made anew at the next update.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from senn_cli.curvature import sides
from senn_cli.curvature.sides import Block, Pair, Side
from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracking import Tracked
from senn_cli.growth.edits import AddUnits, Edit, InsertLayer, Redraw
from senn_cli.growth.insertion import Insertion
from senn_cli.growth.lineage import NEW, Lineage, origin, shared, taken
from senn_cli.nets.features import (
    Architecture,
    ArrayTree,
    Map,
    feature_named,
    hidden_feature,
    readers,
    standing,
)
from senn_cli.nets.leaves import row_mask

T = TypeVar("T")


def extended(a: np.ndarray, moments: np.ndarray, k: int) -> np.ndarray:
    """The factor A with the rows of `k` new units, by what a sample says of them.

    A is an average over batches, `moments` (c + k, c + k) come from another sample, so that copying
    the new rows could make A indefinite. The sample is asked for the new units' regression on the
    c old ones, B = M_cc^-1 M_cp, and for what that leaves; with the old block of A they give
    A_cp = A_cc B and A_pp = B^T A_cc B + (M_pp - M_pc B), positive semi-definite whatever A_cc. On
    the sample that A was measured on, this is A itself.
    """
    c = moments.shape[0] - k
    m, old = moments.astype(np.float64), a[:c, :c].astype(np.float64)
    b = np.linalg.lstsq(m[:c, :c], m[:c, c:], rcond=1e-6)[0]
    rest = m[c:, c:] - m[c:, :c] @ b
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    rest = (vectors * np.maximum(values, 0.0)) @ vectors.T
    result = a.copy()
    result[:c, c : c + k] = old @ b
    result[c : c + k, :c] = (old @ b).T
    result[c : c + k, c : c + k] = b.T @ old @ b + rest
    return result


def _of(make: Callable[..., T], *fields: Any) -> T:
    """A tuple of the device's arrays with the host's in their place, until it goes back."""
    return make(*fields)


def _with(side: Side, **fields: Any) -> Side:
    """`side` with fields on the host."""
    return side._replace(**fields)


def tracked_carried(
    state: Tracked,
    params: ArrayTree,
    architecture: Architecture,
    edit: Edit,
    after: Architecture,
    lines: Lineage,
) -> Tracked:
    """What is tracked, after `edit`.

    Rows of new units, and of those drawn anew, begin at their next batch; but rows of A that follow
    from measured second moments are known already. An inserted layer's factors follow from the old
    ones by the change of coordinates; only its 3 x 3 blocks begin anew.

    Args:
      params: the parameters before the edit.
    """
    maps: dict[str, Pair] = {}
    blocks: dict[str, Block] = {}
    averages: dict[str, np.ndarray] = {}
    ages: dict[str, np.ndarray] = {}
    for m in standing(after):
        found = origin(architecture, lines, m)
        name = None
        if found.before is not None and found.before.target.role != "bud":
            name = found.before.name  # of the others, nothing was tracked
        fresh = _redrawn(m, edit)
        if name is None:
            maps[m.name] = Pair(_blank(m.rows), _blank(m.columns))
        else:
            pair = state.factors.maps[name]
            maps[m.name] = new = Pair(
                _side(pair.a, found.rows, None, fresh),
                _side(pair.s, found.columns, found.column_shares),
            )
            if all(a is b for a, b in zip(new, pair, strict=True)):
                maps[m.name] = pair
        if (coefficients := m.target.coefficients) is not None:
            before = lines[m.target.name].before
            was = None if before is None else feature_named(architecture, before).coefficients
            blocks[coefficients] = _block(
                None if was is None else state.factors.blocks[was],
                found.columns,
                found.column_shares,
            )
        if state.slow is None:
            continue
        averages[m.name] = np.zeros((2, *m.size), np.float32)
        ages[m.name] = np.zeros((2, m.rows), np.int32)
        if name is not None:
            old = taken(np.asarray(state.slow.averages[name]), found.rows, 1)
            old = shared(taken(old, found.columns, 2), found, "covector")
            averages[m.name] = np.where(fresh[:, None], 0, old).astype(np.float32)
            age = taken(np.asarray(state.slow.ages[name]), found.rows, 1)
            ages[m.name] = np.where(fresh, 0, age).astype(np.int32)
    if isinstance(edit, InsertLayer):
        _inserted(maps, state, params, Insertion(architecture, after, edit))
    elif isinstance(edit, AddUnits) and edit.moments is not None:
        _measured(maps, after, edit, edit.moments)
    diagonals: dict[str, Any] = {}
    for name, pair in (maps if state.factors.diagonals else {}).items():
        if pair is not state.factors.maps.get(name):  # a basis of its own, and all that is in it
            maps[name] = Pair(*(_with(side, used=np.zeros_like(side.used)) for side in pair))
            diagonals[name] = np.zeros((len(pair.a.ages), len(pair.s.ages)), np.float32)
        else:
            diagonals[name] = state.factors.diagonals[name]
    factors = state.factors._replace(maps=maps, blocks=blocks, diagonals=diagonals)
    slow = state.slow and _of(SlowGradient, averages, ages)
    return Tracked(factors, slow)


def _redrawn(m: Map, edit: Edit) -> np.ndarray:
    """Rows of a map that read units which `edit` draws anew, bool `(n_a,)`."""
    units = {}
    if not isinstance(edit, Redraw):
        return np.zeros(m.rows, bool)
    for feature in (source.feature for source in m.sources):
        chosen = edit.units.get(feature.name, ())
        numbers = np.arange(feature.capacity)
        units[feature.name] = np.isin(numbers, chosen) & (numbers >= feature.width)
    found: np.ndarray = row_mask(m, units, bias=False)
    return found


def _side(
    side: Side, index: np.ndarray, shares: np.ndarray | None, fresh: np.ndarray | None = None
) -> Side:
    """One factor of a map, with rows `index`; those that are `fresh` have seen nothing."""
    again = fresh is not None and fresh.any()
    if shares is None and not again and np.array_equal(index, np.arange(len(side.ages))):
        return side
    result = sides.moved(side, index)
    if shares is not None:
        moment = np.asarray(result.moment)
        moment = (moment * np.outer(shares, shares)).astype(moment.dtype)
        result = _with(result, moment=moment)
    old = index[index >= 0]
    if shares is not None or np.bincount(old).max(initial=0) > 1:  # no longer an inverse
        result = _with(result, used=np.zeros(len(index), bool))
    if fresh is not None and again:
        result = sides.renewed(result, fresh)
    return result


def _blank(size: int) -> Side:
    """A factor that has seen nothing."""
    square, never = np.zeros((size, size), np.float32), np.zeros(size, np.int32)
    return _of(Side, square, never, square, np.zeros(size, bool), np.zeros((), np.float32))


def _block(old: Block | None, index: np.ndarray, shares: np.ndarray | None) -> Block:
    """The blocks of units `index`, squared gradients by their shares; new ones begin anew."""
    if old is None:
        none = np.zeros((len(index), 3, 3), np.float32)
        old = _of(Block, none, np.zeros(len(index), np.int32), none)
        index = np.full(len(index), NEW)
    moment, ages, solver = (taken(np.asarray(array), index, 0) for array in old)
    if shares is not None:
        moment = (moment * shares[:, None, None] ** 2).astype(moment.dtype)
    return _of(Block, moment, ages, solver)


def _measured(
    maps: dict[str, Pair], after: Architecture, edit: AddUnits, moments: np.ndarray
) -> None:
    """The rows of A of new units, as a sample measured them, where units are rows; in place."""
    for m, source in readers(after, hidden_feature(after, edit.layer).name):
        if m.name not in maps or len(m.sources) > 1 or m.window or not m.bias or source.size > 1:
            continue
        side, end = maps[m.name].a, len(moments)
        moment = extended(np.asarray(side.moment), moments, edit.count)
        ages = np.array(side.ages)
        ages[end - edit.count : end] = ages[: end - edit.count].min()
        side = _with(side, moment=moment, ages=ages)
        maps[m.name] = maps[m.name]._replace(a=side)


def _inserted(maps: dict[str, Pair], state: Tracked, params: ArrayTree, new: Insertion) -> None:
    """The factors of the two maps that came of one, as old as the youngest row in use; in place."""
    old = state.factors.maps[new.old.name]
    pairs = new.factors(params, np.asarray(old.a.moment), np.asarray(old.s.moment))
    for m, moments, rows in zip((new.first, new.second), pairs, new.blocks, strict=True):
        sides = []
        for before, moment, here, there in zip(old, moments, rows, new.old_block, strict=True):
            age = np.asarray(before.ages)[there].min(initial=np.iinfo(np.int32).max)
            ages = np.zeros(len(moment), np.int32)
            ages[here] = age
            blank = _blank(len(moment))
            sides.append(_with(blank, moment=moment, ages=ages))
        maps[m.name] = Pair(*sides)
