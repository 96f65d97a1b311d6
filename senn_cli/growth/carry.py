"""Carrying a whole training state through an edit: on the host, in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from senn_cli.curvature import tracked
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracked
from senn_cli.growth.carry_curvature import tracked_carried
from senn_cli.growth.compensation import compensated, compensation
from senn_cli.growth.edits import (
    Activate,
    AddUnits,
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    Redraw,
    RemoveUnit,
    SplitUnit,
    edit_architecture,
    inserted_at,
)
from senn_cli.growth.insertion import Insertion, receiver
from senn_cli.growth.lineage import NEW, Lineage, lineage, moved, origin, taken, trained
from senn_cli.growth.optimizer_state import Kind
from senn_cli.growth.optimizer_state import moved as optimizer_moved
from senn_cli.nets.activation import IDENTITY
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import (
    Architecture,
    ArrayTree,
    Map,
    feature_named,
    hidden_feature,
    map_named,
    readers,
    standing,
    used_units,
    writer,
)
from senn_cli.nets.leaves import joined, row_mask, split

A = TypeVar("A", bound=Architecture)


def carried(
    state: Any,
    architecture: A,
    edit: Edit,
    *,
    natural: bool,
    settings: TrackSettings | None = None,
) -> tuple[Any, A]:
    """A training state (NumPy leaves) and the architecture after `edit`.

    Args:
      natural: whether an optimizer's momentum is one of natural gradients.
      settings: of the tracking; with them, a removal without a compensation gets the best one by
        the tracked factors.

    Raises:
      UsageError: a state of the optimizer that nothing is known of.
    """
    curvature = state.curvature
    if (
        isinstance(edit, RemoveUnit)
        and edit.compensation is None
        and isinstance(curvature, Tracked)
        and settings is not None
    ):
        found = compensations(settings, curvature, architecture, edit)
        edit = replace(edit, compensation=found)
    after, lines = edit_architecture(architecture, edit), lineage(architecture, edit)

    def change(tree: ArrayTree, kind: Kind) -> ArrayTree:
        return edit_moments(tree, architecture, edit, kind, after, lines)

    if isinstance(curvature, Tracked):
        curvature = tracked_carried(curvature, state.params, architecture, edit, after, lines)
    state = state._replace(
        params=edit_parameters(state.params, architecture, edit, after, lines),
        optimizer=optimizer_moved(state.optimizer, change, natural=natural),
        curvature=curvature,
    )
    return state, after


def compensations(
    settings: TrackSettings, state: Tracked, architecture: Architecture, edit: RemoveUnit
) -> dict[str, np.ndarray]:
    """How the maps that read a unit stand in for it, by their tracked factors."""
    used, found = used_units(architecture), {}
    feature = hidden_feature(architecture, edit.layer).name
    for m in standing(architecture):
        for source in m.reads(feature):
            moment = np.asarray(tracked.consistent(settings, state.factors.maps[m.name].a))
            rows = m.groups(source)[edit.unit]
            found[m.name] = compensation(moment, row_mask(m, used), rows)
    return found


def edit_parameters(
    params: ArrayTree,
    architecture: A,
    edit: Edit,
    after: A | None = None,
    lines: Lineage | None = None,
) -> ArrayTree:
    """Parameters (NumPy) after `edit`, which compute what `params` compute.

    Args:
      after, lines: `edit_architecture` and `lineage`, where they are known already.
    """
    after = edit_architecture(architecture, edit) if after is None else after
    lines = lineage(architecture, edit) if lines is None else lines
    if isinstance(edit, RemoveUnit) and edit.compensation is not None:
        params = _compensated(params, architecture, edit, edit.compensation)
    result = moved(params, architecture, after, lines)
    if isinstance(edit, Enlarge | PromoteBud):
        for m in after.maps:
            if m.target.spare == "dormant":
                where = np.flatnonzero(lines[m.target.name].units == NEW)
                _draw(result, after, m, where, edit)
    elif isinstance(edit, Redraw):
        for m in after.maps:
            if (units := edit.units.get(m.target.name)) is not None:
                _draw(result, after, m, np.array([u for u in units if u >= m.target.width]), edit)
    elif isinstance(edit, InsertLayer):
        new = Insertion(architecture, after, edit)
        for m, matrix in zip(
            (new.first, new.second), new.weights(params, "vector", identity=True), strict=True
        ):
            result[m.name] = split(m, matrix)
        coefficients = result[str(new.first.target.coefficients)]["coefficients"]
        coefficients[:, : edit.weights.shape[1]] = np.array(IDENTITY)[:, None]
    elif isinstance(edit, Activate | RemoveUnit):
        # What comes into use, or leaves it, is read by nobody.
        width, count = architecture.hidden[edit.layer].width, after.hidden[edit.layer].width
        for m, source in readers(after, hidden_feature(after, edit.layer).name):
            matrix = joined(m, result[m.name]).copy()
            matrix[m.groups(source)[min(width, count) : max(width, count)]] = 0
            result[m.name] = split(m, matrix)
    elif isinstance(edit, AddUnits | SplitUnit):
        _add(result, architecture, after, edit)
    return result


def _draw(
    params: ArrayTree,
    architecture: Architecture,
    m: Map,
    where: np.ndarray,
    edit: Enlarge | PromoteBud | Redraw,
) -> None:
    """New input weights for the units `where` of what `m` yields, in place."""
    if len(where) == 0:
        return
    drawn = draw_units(m, used_units(architecture), where, edit.seed, edit.name, edit.step)
    matrix = joined(m, params[m.name]).copy()
    matrix[:, where] = drawn.weights
    params[m.name] = split(m, matrix)
    if drawn.coefficients is not None and m.target.coefficients is not None:
        coefficients = params[m.target.coefficients]["coefficients"].copy()
        coefficients[:, where] = drawn.coefficients
        params[m.target.coefficients] = {"coefficients": coefficients}


def _add(
    params: ArrayTree, architecture: Architecture, after: Architecture, edit: AddUnits | SplitUnit
) -> None:
    """The weights that new units bring, in place."""
    feature, width = hidden_feature(after, edit.layer), architecture.hidden[edit.layer].width
    new, m = slice(width, width + edit.count), writer(after, feature.name)
    matrix = joined(m, params[m.name]).copy()
    if isinstance(edit, SplitUnit):
        if edit.offsets is not None:
            columns = [edit.unit, *range(width, width + edit.count)]
            matrix[: len(edit.offsets), columns] += edit.offsets.astype(matrix.dtype)
            params[m.name] = split(m, matrix)
        return
    matrix[: len(edit.incoming), new] = edit.incoming
    params[m.name] = split(m, matrix)
    if edit.coefficients is not None:
        coefficients = params[str(feature.coefficients)]["coefficients"].copy()
        coefficients[:, new] = edit.coefficients
        params[str(feature.coefficients)] = {"coefficients": coefficients}
    for name, weights in (edit.outgoing or {}).items():
        reader = map_named(after, name)
        (source,) = reader.reads(feature.name)
        matrix = joined(reader, params[name]).copy()
        matrix[reader.groups(source)[new], : weights.shape[2]] = weights
        params[name] = split(reader, matrix)


def _compensated(
    params: ArrayTree,
    architecture: Architecture,
    edit: RemoveUnit,
    compensation: Mapping[str, np.ndarray],
) -> ArrayTree:
    """The parameters with other units standing in for the one that goes."""
    result = dict(params)
    for m, source in readers(architecture, hidden_feature(architecture, edit.layer).name):
        if m.name in compensation:
            share, rows = compensation[m.name], m.groups(source)[edit.unit]
            share = np.pad(share, ((0, m.rows - len(share)), (0, 0)))
            matrix = compensated(joined(m, params[m.name]), share, rows)
            result[m.name] = split(m, matrix)
    return result


def edit_moments(
    tree: ArrayTree,
    architecture: A,
    edit: Edit,
    kind: Kind,
    after: A | None = None,
    lines: Lineage | None = None,
) -> ArrayTree:
    """A tree of the parameters' shape within an optimizer's state, after `edit`.

    What belongs to weights that are trained before and after stays. Weights that come into training
    start at zero, as at the beginning; but a mean of squared gradients (`square`, Adam's) at the
    mean over the trained weights of their map: from zero, long after Adam's bias correction has
    faded, the first steps of new weights would be 3 times too long. A new layer takes that of the
    map that it was put into. What is not trained is zero.
    """
    after = edit_architecture(architecture, edit) if after is None else after
    lines = lineage(architecture, edit) if lines is None else lines
    place = inserted_at(edit)
    behind = None if place is None else receiver(architecture, place)
    result = moved(tree, architecture, after, lines, kind)
    for m in after.maps:
        found, level = origin(architecture, lines, m), 0.0
        here = found.before
        was = np.zeros(m.size, bool)
        if here is not None:
            was = taken(taken(trained(architecture, here), found.rows, 0), found.columns, 1)
        if kind == "square":
            own = here is not None and here.target.role != "bud"
            level = _level(tree, architecture, here if own else behind)
        matrix = joined(m, result[m.name])
        result[m.name] = split(m, _settled(matrix, was, trained(after, m), level))
        if (name := m.target.coefficients) is None:
            continue
        before = lines[m.target.name].before
        old = None if before is None else feature_named(architecture, before)
        known = np.zeros(m.columns, bool)
        if old is not None and old.coefficients is not None:
            known = taken(np.arange(old.capacity) < old.width, found.columns, 0)
            if kind == "square" and old.width:
                values = tree[old.coefficients]["coefficients"][:, : old.width]
                level = float(values.mean(dtype=np.float64))
        now = np.arange(m.columns) < m.target.width
        coefficients = _settled(result[name]["coefficients"], known, now, level)
        result[name] = {"coefficients": coefficients}
    if isinstance(edit, InsertLayer) and kind != "square":
        new = Insertion(architecture, after, edit)
        for m, matrix in zip(
            (new.first, new.second), new.weights(tree, kind, identity=False), strict=True
        ):
            result[m.name] = split(m, matrix)
    return result


def _settled(array: np.ndarray, was: np.ndarray, now: np.ndarray, level: float) -> np.ndarray:
    """`array` where weights stay in training, `level` where they come into it, zero elsewhere."""
    array = np.where(was, array, np.asarray(level, array.dtype))
    return np.where(now, array, np.zeros_like(array))


def _level(tree: ArrayTree, architecture: Architecture, m: Map | None) -> float:
    """The mean over the trained weights of `m`."""
    if m is None:
        return 0.0
    values = joined(m, tree[m.name])[trained(architecture, m)]
    return float(values.mean(dtype=np.float64)) if len(values) else 0.0
