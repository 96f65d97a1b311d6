"""What the arrays of an optimizer's state are, and so how they change with the network.

A state is known by its class, which declares each of its fields once, below or by `declare`. One
that is not declared cannot be carried through an edit: its arrays might be steps, gradients or mean
squares, which change differently, and a mean square that is taken for a gradient may turn negative.
Factored squares (Adafactor) and second copies of the weights (schedule-free) are not declared: a
network under such an optimizer is refused before it is trained, unless it stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import numpy as np
import optax
import optax.contrib

from senn_cli.engine.ending import Ending
from senn_cli.engine.frozen import FrozenState
from senn_cli.engine.trust import Trust
from senn_cli.errors import UsageError
from senn_cli.nets.features import ArrayTree
from senn_cli.nets.leaves import is_kernel

Kind = Literal["vector", "covector", "square"]
"""How a tree of the parameters' shape changes: as the weights do, as their gradients do, or as
means of squared gradients do."""

Content = Literal["momentum", "square", "mask", "scalar", "states"]
"""What a field of a state is. A `momentum` adds up what the transformation is given: gradients, or
steps. A `mask` goes with the weights that it marks. A `scalar` stays as it is, whatever the
network; `states` are further states, one or several by name."""

Change: TypeAlias = Callable[[ArrayTree, Kind], ArrayTree]
"""Applies an edit to a tree of the parameters' shape."""


class Declared(NamedTuple):
    """A class of state.

    Attributes:
      fields: what each of its fields is.
      steps: whether its transformation yields steps, whatever it is given, so that what comes
        after it in a chain is given steps, too.
    """

    fields: Mapping[str, Content]
    steps: bool = False


_DECLARED: dict[type, Declared] = {}


def declare(state: type, *, steps: bool = False, **fields: Content) -> None:
    """Makes a class of state known, a named tuple.

    Raises:
      ValueError: `fields` are not the ones that it has.
    """
    if set(fields) != set(getattr(state, "_fields", ())):
        raise ValueError(f"{state.__name__} has the fields {getattr(state, '_fields', ())}")
    _DECLARED[state] = Declared(fields, steps)


_MOMENTS: Mapping[str, Content] = {"mu": "momentum", "nu": "square"}

declare(optax.EmptyState)
declare(optax.ScaleByScheduleState, count="scalar")
declare(optax.MaskedState, inner_state="states")
declare(optax.transforms.PartitionState, inner_states="states")
declare(FrozenState, frozen="mask")
declare(Ending, count="scalar", ended="scalar")
_DECLARED[Trust] = Declared(dict.fromkeys(Trust._fields, "scalar"))
declare(optax.TraceState, trace="momentum")
declare(optax.EmaState, count="scalar", ema="momentum")
declare(optax.ScaleByAdamState, steps=True, count="scalar", **_MOMENTS)
declare(optax.ScaleByAmsgradState, steps=True, count="scalar", nu_max="square", **_MOMENTS)
declare(optax.ScaleByBeliefState, steps=True, count="scalar", **_MOMENTS)
declare(optax.ScaleByRmsState, steps=True, nu="square")
declare(optax.ScaleByRssState, steps=True, sum_of_squares="square")
declare(optax.ScaleByRStdDevState, steps=True, **_MOMENTS)
declare(optax.ScaleByLionState, steps=True, count="scalar", mu="momentum")
declare(optax.contrib.MuonState, steps=True, count="scalar", mu="momentum", ns_coeffs="scalar")


def moved(state: Any, change: Change, *, natural: bool) -> Any:
    """A state after an edit of the network.

    Args:
      state: Optax's, or a tuple of such.
      change: applies the edit to a tree of the parameters' shape, by how it changes.
      natural: whether the optimizer is given natural gradients, which are steps.

    Raises:
      UsageError: a class that is not declared.
    """
    require_known(state)
    return _moved(state, _of_parts(change, _leaves(state)), natural)[0]


def _moved(state: Any, change: Change, steps: bool) -> tuple[Any, bool]:
    """The state after `change`, and whether its transformation yields steps."""
    if isinstance(state, dict):
        found = {name: _moved(part, change, steps) for name, part in state.items()}
        return {n: part for n, (part, _) in found.items()}, any(s for _, s in found.values())
    if type(state) is tuple:
        parts = []
        for part in state:
            part, steps = _moved(part, change, steps)
            parts.append(part)
        return tuple(parts), steps
    declared = _DECLARED.get(type(state), Declared({}))
    kinds: dict[Content, Kind] = {
        "momentum": "vector" if steps else "covector",
        "square": "square",
        "mask": "vector",
    }
    new, yields = {}, steps or declared.steps
    for name, content in declared.fields.items():
        value = getattr(state, name)
        if content == "states":
            new[name], yields = _moved(value, change, steps)
        else:
            new[name] = value if content == "scalar" else change(value, kinds[content])
    return (state._replace(**new) if new else state), yields


def _trees(state: Any) -> Iterator[ArrayTree]:
    """All trees of the parameters' shape in a state."""
    if isinstance(state, dict | tuple) and type(state) not in _DECLARED:
        for part in state.values() if isinstance(state, dict) else state:
            yield from _trees(part)
        return
    for name, content in _DECLARED.get(type(state), Declared({})).fields.items():
        if content == "states":
            yield from _trees(getattr(state, name))
        elif content != "scalar":
            yield getattr(state, name)


def _leaves(state: Any) -> dict[tuple[str, str], np.ndarray]:
    """An array of every parameter's shape that a state has, by the parameter's two names."""
    return {
        (name, leaf): array
        for tree in _trees(state)
        for name, leaves in tree.items()
        for leaf, array in leaves.items()
        if not isinstance(array, optax.MaskedNode)
    }


def _of_parts(change: Change, known: Mapping[tuple[str, str], np.ndarray]) -> Change:
    """`change` for trees that hold kernels alone, or all but kernels, as well.

    The leaves that are missing are filled in, and left out again. In a tree of squares, whose new
    entries start at the mean of a map's, with the mean of what is there.
    """

    def missing(name: str, leaf: str, level: float) -> np.ndarray:
        return np.full_like(known[name, leaf], level)

    def part(tree: ArrayTree, kind: Kind) -> ArrayTree:
        there = {
            (name, leaf)
            for name, leaves in tree.items()
            for leaf, array in leaves.items()
            if not isinstance(array, optax.MaskedNode)
        }
        if len(there) == sum(map(len, tree.values())):
            return change(tree, kind)
        kernels = any(is_kernel(leaf) for _, leaf in there)
        whole: ArrayTree = {}
        for name, leaves in tree.items():
            values = [np.ravel(leaves[leaf]) for leaf in leaves if (name, leaf) in there]
            used = np.concatenate([v[v != 0] for v in values]) if values else np.zeros(0)
            level = float(used.mean()) if kind == "square" and len(used) else 0.0
            whole[name] = {
                leaf: array if (name, leaf) in there else missing(name, leaf, level)
                for leaf, array in leaves.items()
            }
        masked: Any = optax.MaskedNode()
        return {
            name: {
                leaf: array if is_kernel(leaf) == kernels else masked
                for leaf, array in leaves.items()
            }
            for name, leaves in change(whole, kind).items()
        }

    return part


def require_known(state: Any) -> None:
    """Raises `UsageError` for a state that holds arrays which nothing is known of."""
    for unknown in _unknown(state):
        raise UsageError(
            f"this optimizer cannot train a network that grows: nothing says how its state "
            f"{type(unknown).__name__} changes with the network",
            hint="Take another optimizer, or a fixed network (expansion.policy: none). What its "
            f"arrays are would have to be declared by {__name__}.declare.",
        )


def _unknown(state: Any) -> Iterator[Any]:
    """The states within that hold arrays and are not declared."""
    declared = _DECLARED.get(type(state))
    if isinstance(state, dict) or type(state) is tuple:
        for part in state.values() if isinstance(state, dict) else state:
            yield from _unknown(part)
    elif declared is None:
        if jax.tree.leaves(state):
            yield state
    else:
        for name, content in declared.fields.items():
            if content == "states":
                yield from _unknown(getattr(state, name))
