"""Surgery on parameters, and on whatever in an optimizer's state has their shape.

Matrices here act from the right on rows that begin with the constant 1: a map is the joined
`(1 + n_in, n_out)` of bias and kernel.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from senn_cli.growth.edits import AddNeurons, Edit, InsertLayer, PruneNeuron
from senn_cli.nets.activation import IDENTITY
from senn_cli.nets.mlp import MlpArchitecture

Tree = dict[str, dict[str, np.ndarray]]


def homogeneous(weights: np.ndarray) -> np.ndarray:
    """[[1, b], [0, W]] `(1 + n, 1 + m)` of a joined `(1 + n, m)`: maps [1, x] to [1, x W + b]."""
    first = np.zeros((weights.shape[0], 1), np.float64)
    first[0] = 1.0
    return np.concatenate([first, np.asarray(weights, np.float64)], axis=1)


def _padded(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    room = [(0, wanted - have) for wanted, have in zip(shape, array.shape, strict=True)]
    return np.pad(array, room)


def renumbered(tree: dict[str, Any], first: int) -> dict[str, Any]:
    """Entries of maps behind map `first` and of activations from `first` on, moved up by one."""
    moved = {}
    for name, leaves in tree.items():
        kind, number = name.rsplit("_", 1)
        up = int(number) >= first + (kind == "map")
        moved[f"{kind}_{int(number) + up}"] = leaves
    return moved


def _room_for(tree: Tree, architecture: MlpArchitecture) -> Tree:
    """Every array padded with zeros to the capacities of `architecture`."""
    result: Tree = {}
    for name, leaves in tree.items():
        index = int(name.rsplit("_", 1)[1])
        n_in, n_out = architecture.map_capacity(index)
        shapes = {"kernel": (n_in, n_out), "bias": (n_out,), "coefficients": (3, n_out)}
        result[name] = {k: _padded(v, shapes[k]) for k, v in leaves.items()}
    return result


def swap_out(array: np.ndarray, axis: int, neuron: int, last: int) -> np.ndarray:
    """Neuron `last` moved to the place of `neuron`, its own place zeroed, along `axis`."""
    result = np.moveaxis(array, axis, 0).copy()
    result[neuron] = result[last]
    result[last] = 0
    return np.moveaxis(result, 0, axis)


def joined(leaves: dict[str, np.ndarray], n_in: int, n_out: int) -> np.ndarray:
    """A map's bias and kernel in use as one matrix `(1 + n_in, n_out)`."""
    return np.concatenate([leaves["bias"][None, :n_out], leaves["kernel"][:n_in, :n_out]])


def split(weights: np.ndarray) -> dict[str, np.ndarray]:
    """The inverse of `joined`."""
    return {"kernel": weights[1:], "bias": weights[0]}


def edit_parameters(
    params: Tree, architecture: MlpArchitecture, edit: Edit, after: MlpArchitecture
) -> Tree:
    """Parameters (NumPy) of `after` that compute what `params` of `architecture` compute."""
    if isinstance(edit, InsertLayer):
        return _insert(params, architecture, edit, after, "vector", identity=True)
    result = {name: dict(leaves) for name, leaves in _room_for(params, after).items()}
    if isinstance(edit, AddNeurons):
        width, n_in = architecture.hidden[edit.layer].width, edit.weights.shape[0] - 1
        new = slice(width, width + edit.weights.shape[1])
        linear = result[f"map_{edit.layer}"]
        linear["kernel"][:n_in, new] = edit.weights[1:]
        linear["bias"][new] = edit.weights[0]
        if edit.coefficients is not None:
            result[f"activation_{edit.layer}"]["coefficients"][:, new] = edit.coefficients
    if isinstance(edit, PruneNeuron):
        reader = result[f"map_{edit.layer + 1}"]
        if edit.compensation is not None:
            lost = reader["kernel"][edit.neuron].astype(np.float64)
            share = np.delete(edit.compensation[1:], edit.neuron)
            others = np.delete(np.arange(architecture.hidden[edit.layer].width), edit.neuron)
            reader["kernel"][others] += np.outer(share, lost).astype(reader["kernel"].dtype)
            reader["bias"] += (edit.compensation[0] * lost).astype(reader["bias"].dtype)
        result = _prune(result, architecture, edit)
    return result


def _prune(tree: Tree, architecture: MlpArchitecture, edit: PruneNeuron) -> Tree:
    last = architecture.hidden[edit.layer].width - 1
    result = {name: dict(leaves) for name, leaves in tree.items()}
    feeds, reads = f"map_{edit.layer}", f"map_{edit.layer + 1}"
    for name, leaf, axis in (
        (feeds, "kernel", 1),
        (feeds, "bias", 0),
        (f"activation_{edit.layer}", "coefficients", 1),
        (reads, "kernel", 0),
    ):
        if name in result:
            result[name][leaf] = swap_out(result[name][leaf], axis, edit.neuron, last)
    return result


def _insert(
    tree: Tree,
    architecture: MlpArchitecture,
    edit: InsertLayer,
    after: MlpArchitecture,
    kind: Literal["vector", "covector"],
    *,
    identity: bool,
) -> Tree:
    """A parameter-like tree after an insertion.

    Args:
      kind: how the old map's entries change with the coordinates: as weights and steps do
        (`vector`), or as gradients do (`covector`).
      identity: whether the new map gets its weights (parameters) or zeros (their optimizer state).
    """
    n_in, n_out = architecture.map_width(edit.map)
    dtype = tree[f"map_{edit.map}"]["kernel"].dtype
    old = joined(tree[f"map_{edit.map}"], n_in, n_out).astype(np.float64)
    q = homogeneous(edit.weights)
    inverse = np.linalg.inv(q)
    if edit.side == "inputs":
        first = q[:, 1:] if identity else np.zeros_like(q[:, 1:])
        second = inverse @ old if kind == "vector" else q.T @ old
    else:
        if kind == "vector":
            first = old @ q[1:, 1:]
            if identity:
                first[0] += q[0, 1:]
        else:
            first = old @ inverse[1:, 1:].T
        second = inverse[:, 1:] if identity else np.zeros_like(inverse[:, 1:])
    result = renumbered(tree, edit.map)
    result[f"map_{edit.map}"] = split(first.astype(dtype))
    result[f"map_{edit.map + 1}"] = split(second.astype(dtype))
    width = edit.weights.shape[1]
    start = np.array(IDENTITY if identity else (0.0, 0.0, 0.0), dtype)
    result[f"activation_{edit.map}"] = {"coefficients": np.tile(start[:, None], (1, width))}
    return _room_for(result, after)


def edit_moments(
    tree: Tree,
    architecture: MlpArchitecture,
    edit: Edit,
    after: MlpArchitecture,
    kind: Literal["vector", "covector", "square"],
) -> Tree:
    """A tree of the parameters' shape within an optimizer's state, after `edit`.

    What belongs to old weights stays. New weights start at zero, as at the beginning of training;
    but a mean of squared gradients (`square`, Adam's) starts at the mean over the map's old
    weights: from zero, long after Adam's bias correction has faded, the first steps of new
    weights would be 3 times too long.
    """
    if isinstance(edit, InsertLayer):
        if kind == "square":
            n_in, n_out = architecture.map_width(edit.map)
            level = float(joined(tree[f"map_{edit.map}"], n_in, n_out).mean())
            flat = _insert(tree, architecture, edit, after, "vector", identity=False)
            for name in (f"map_{edit.map}", f"map_{edit.map + 1}", f"activation_{edit.map}"):
                index = int(name.rsplit("_", 1)[1])
                rows, columns = after.map_width(index)
                flat[name] = _filled(flat[name], rows, slice(0, columns), slice(0, rows), level)
            return flat
        return _insert(tree, architecture, edit, after, kind, identity=False)
    result = {name: dict(leaves) for name, leaves in _room_for(tree, after).items()}
    if isinstance(edit, PruneNeuron):
        return _prune(result, architecture, edit)
    if isinstance(edit, AddNeurons) and kind == "square":
        width, new_width = architecture.hidden[edit.layer].width, after.hidden[edit.layer].width
        new = slice(width, new_width)
        for name in (f"map_{edit.layer}", f"activation_{edit.layer}"):
            if name in result:
                rows, columns = architecture.map_width(edit.layer)
                level = _level(tree[name], rows, columns)
                result[name] = _filled(result[name], rows, new, slice(0, rows), level)
        reads = f"map_{edit.layer + 1}"
        rows, columns = architecture.map_width(edit.layer + 1)
        kernel = result[reads]["kernel"].copy()
        kernel[new, :columns] = _level(tree[reads], rows, columns)
        result[reads]["kernel"] = kernel
    return result


def _level(leaves: dict[str, np.ndarray], rows: int, columns: int) -> float:
    """The mean over the entries in use."""
    if "coefficients" in leaves:
        return float(leaves["coefficients"][:, :columns].mean())
    return float(joined(leaves, rows, columns).mean())


def _filled(
    leaves: dict[str, np.ndarray], rows: int, columns: slice, used_rows: slice, level: float
) -> dict[str, np.ndarray]:
    result = {k: v.copy() for k, v in leaves.items()}
    if "coefficients" in result:
        result["coefficients"][:, columns] = level
    else:
        result["kernel"][used_rows, columns] = level
        result["bias"][columns] = level
    return result
