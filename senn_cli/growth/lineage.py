"""Where every unit after an edit comes from, and what has a network's shape, moved along that.

Everything here is done on the host in NumPy, so that no edit compiles anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from senn_cli.growth.edits import (
    Activate,
    AddUnits,
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    Redraw,
    RemoveUnit,
    Reorder,
    SplitUnit,
    edit_architecture,
    inserted_at,
)
from senn_cli.growth.optimizer_state import Kind
from senn_cli.nets.features import (
    Architecture,
    ArrayTree,
    Feature,
    Map,
    feature_named,
    used_units,
    writer,
)
from senn_cli.nets.leaves import joined, row_mask, split

NEW = -1
"""In a lineage: a unit that was not there before."""


class Line(NamedTuple):
    """Where the units of a feature come from.

    Attributes:
      before: the name of the feature that it was, None for a new one.
      units: for each of its units the number it had there, int `(capacity,)`, or `NEW`. One that
        comes twice was split.
      shares: what the output weights of each unit were multiplied by, `(capacity,)`; None for 1.
    """

    before: str | None
    units: np.ndarray
    shares: np.ndarray | None = None


Lineage = Mapping[str, Line]
"""For every feature after an edit, by its name, where it comes from."""


def lineage(architecture: Architecture, edit: Edit) -> Lineage:
    """Where every unit after `edit` comes from; for everything that has rows or columns."""
    after, at = edit_architecture(architecture, edit), inserted_at(edit)
    old: dict[tuple[str, int], Feature] = {(f.role, f.index): f for f in architecture.features}
    found: dict[str, Line] = {}
    for feature in after.features:
        before: Feature | None = feature
        if at is not None and feature.grows:
            before = old.get(_origin(feature, at, isinstance(edit, PromoteBud)))
        else:
            before = feature_named(architecture, feature.name)
        here = np.arange(feature.capacity)
        if before is None:
            found[feature.name] = Line(None, np.full(feature.capacity, NEW))
        elif at is None and feature.role == "hidden" and feature.index == _edited(edit):
            found[feature.name] = _line(before, feature.capacity, edit)
        else:
            found[feature.name] = Line(before.name, np.where(here < before.capacity, here, NEW))
    return found


def _origin(feature: Feature, at: int, promoted: bool) -> tuple[str, int]:
    """Role and index of what `feature` was before layer `at` was inserted, ("", 0) if it is new.

    Every kind counts later layers up by one, and gives the new layer and the one behind it buds of
    their own.
    """
    if feature.index < at:
        return feature.role, feature.index
    if feature.role == "hidden" and feature.index == at:
        return ("bud", at) if promoted else ("", 0)
    if feature.role == "bud" and feature.index <= at + 1:
        return "", 0
    return feature.role, feature.index - 1


def _edited(edit: Edit) -> int | None:
    """The hidden layer whose units an edit concerns."""
    return None if isinstance(edit, Redraw | InsertLayer) else edit.layer


def _line(before: Feature, capacity: int, edit: Edit) -> Line:
    """The units of the layer that `edit` is about.

    After a removal the others close ranks where spare units are dormant, and the one that went
    stands behind them; where they are empty, the last unit in use takes the place.
    """
    here, width, shares = np.arange(capacity), before.width, None
    if isinstance(edit, Enlarge):
        here = np.where(here < before.capacity, here, NEW)
    elif isinstance(edit, Reorder):
        here = np.array(edit.order)
    elif isinstance(edit, Activate):
        rest = np.setdiff1d(here[width:], edit.units)
        here = np.concatenate([here[:width], edit.units, rest])
    elif isinstance(edit, RemoveUnit) and before.spare == "dormant":
        here = np.concatenate([np.delete(here[:width], edit.unit), [edit.unit], here[width:]])
    elif isinstance(edit, RemoveUnit):
        here[edit.unit] = width - 1
        here[width - 1] = NEW
    elif isinstance(edit, AddUnits):
        here[width : width + edit.count] = NEW
        if edit.scale is not None:
            shares = np.ones(capacity)
            shares[:width] = edit.scale
    elif isinstance(edit, SplitUnit):
        here[width : width + edit.count] = edit.unit
        shares = np.ones(capacity)
        shares[edit.unit], shares[width : width + edit.count] = edit.shares[0], edit.shares[1:]
    return Line(before.name, here, shares)


class Origin(NamedTuple):
    """Where a map after an edit comes from.

    Attributes:
      before: the map that it was; None for a new one, and for one that reads nothing that it read.
      rows: the old number of every row of the joined matrix, or `NEW`; `(n_a,)`.
      columns: that of every column; `(n_s,)`. They tell of the old feature where `before` is None.
      row_shares, column_shares: the shares of the units that rows read and that columns are.
    """

    before: Map | None
    rows: np.ndarray
    columns: np.ndarray
    row_shares: np.ndarray | None
    column_shares: np.ndarray | None


def origin(architecture: Architecture, lines: Lineage, m: Map) -> Origin:
    """Where the map `m` of the network after an edit comes from."""
    target = lines[m.target.name]
    before = None if target.before is None else writer(architecture, target.before)
    reads = {} if before is None else {s.feature.name: s for s in before.sources}
    rows, known = np.full(m.rows, NEW), False
    for source in m.sources:
        line = lines[source.feature.name]
        if before is None or line.before not in reads:
            continue
        known = True
        old = before.groups(reads[line.before])[line.units]
        rows[m.groups(source)] = np.where(line.units[:, None] == NEW, NEW, old)
    if before is not None and m.bias and before.bias:
        rows[0] = 0
    if not known:
        before, rows = None, np.full(m.rows, NEW)
    shares = [lines[source.feature.name].shares for source in m.sources]
    row_shares = None
    if any(s is not None for s in shares):
        row_shares = np.ones(m.rows)
        for source, share in zip(m.sources, shares, strict=True):
            if share is not None:
                row_shares[m.groups(source)] = share[:, None]
    return Origin(before, rows, target.units, row_shares, target.shares)


def taken(array: np.ndarray, index: np.ndarray, *axes: int) -> np.ndarray:
    """Entries `index` of `array` along each of `axes`, zero where they are `NEW`.

    Where every entry stays in its place the array itself: do not write to it.
    """
    here = np.arange(len(index))
    for axis in axes:
        if array.shape[axis] == len(index) and np.array_equal(index, here):
            continue
        array = np.take(array, index, axis=axis)
        if (index == NEW).any():
            array[(slice(None),) * axis + (index == NEW,)] = 0
    return array


def moved(
    tree: ArrayTree,
    architecture: Architecture,
    after: Architecture,
    lines: Lineage,
    kind: Kind = "vector",
) -> ArrayTree:
    """A tree of the parameters' shape, moved along `lines`; new entries are zero.

    Args:
      kind: what it changes like where units were split. Of a unit that has the share c of the
        output weights, weights and steps (`vector`) have c times the output weights, the gradient
        of its input weights (`covector`) is c times as large, and their squares (`square`) c^2.
    """
    dtype = next(iter(tree[architecture.maps[0].name].values())).dtype
    result: ArrayTree = {}
    for m in after.maps:
        found = origin(architecture, lines, m)
        if found.before is None:
            result[m.name] = split(m, np.zeros(m.size, dtype))
        else:
            matrix = taken(joined(found.before, tree[found.before.name]), found.rows, 0)
            matrix = taken(matrix, found.columns, 1)
            result[m.name] = split(m, shared(matrix, found, kind))
        if (name := m.target.coefficients) is not None:
            old = _coefficients(architecture, lines[m.target.name])
            array = np.zeros((3, m.columns), dtype)
            if old is not None:
                array = taken(tree[old]["coefficients"], found.columns, 1)
                array = shared(array, found._replace(row_shares=None), kind)
            result[name] = {"coefficients": array}
    return result


def _coefficients(architecture: Architecture, line: Line) -> str | None:
    """The name of the coefficients that a feature had before an edit."""
    return None if line.before is None else feature_named(architecture, line.before).coefficients


def shared(matrix: np.ndarray, found: Origin, kind: Kind) -> np.ndarray:
    """A joined matrix whose units have the shares that `found` tells; see `moved`."""
    if kind == "vector":
        shares = None if found.row_shares is None else found.row_shares[:, None]
    else:
        shares = found.column_shares
        shares = shares if shares is None or kind == "covector" else shares**2
    return matrix if shares is None else (matrix * shares).astype(matrix.dtype)


def trained(architecture: Architecture, m: Map) -> np.ndarray:
    """Which entries of a map are trained: those between units in use; bool `(n_a, n_s)`."""
    used = used_units(architecture)
    return np.outer(row_mask(m, used), used[m.target.name])
