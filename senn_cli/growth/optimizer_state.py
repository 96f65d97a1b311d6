"""What the arrays of an optimizer's state are, and so how they change with the network.

A state is known by its class. One that is not listed here cannot be carried through an edit: its
arrays might be steps, gradients or mean squares, which change differently, and a mean square that
is taken for a gradient may turn negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import jax
import optax

from senn_cli.engine.frozen import FrozenState
from senn_cli.errors import UsageError

Kind = Literal["vector", "covector", "square"]
"""How a tree of the parameters' shape changes: as the weights do, as their gradients do, or as
means of squared gradients do."""

Content = Literal["momentum", "square", "mask", "scalar", "state"]

CONTENTS: Mapping[type, Mapping[str, Content]] = {
    optax.ScaleByAdamState: {"count": "scalar", "mu": "momentum", "nu": "square"},
    optax.TraceState: {"trace": "momentum"},
    optax.ScaleByScheduleState: {"count": "scalar"},
    optax.MaskedState: {"inner_state": "state"},
    optax.EmptyState: {},
    FrozenState: {"frozen": "mask"},
}
"""The fields of every class of state that can be carried. A `momentum` adds up what the optimizer
is given: gradients, or the steps of natural gradients. A `mask` goes with the weights that it
marks. A `scalar` stays as it is; a `state` holds others."""


def moved(state: Any, change: Callable[[Any, Kind], Any], *, natural: bool) -> Any:
    """A state after an edit of the network.

    Args:
      state: Optax's, or a tuple of such.
      change: applies the edit to a tree of the parameters' shape, by how it changes.
      natural: whether the optimizer is given natural gradients, which are steps.

    Raises:
      UsageError: a class that is not in `CONTENTS`.
    """
    if type(state) is tuple:
        return tuple(moved(part, change, natural=natural) for part in state)
    require_known(state)
    kinds: dict[Content, Kind] = {
        "momentum": "vector" if natural else "covector",
        "square": "square",
        "mask": "vector",
    }

    def field(content: Content, value: Any) -> Any:
        if content == "state":
            return moved(value, change, natural=natural)
        return value if content == "scalar" else change(value, kinds[content])

    contents = CONTENTS.get(type(state))
    if not contents:
        return state
    return state._replace(**{n: field(c, getattr(state, n)) for n, c in contents.items()})


def require_known(state: Any) -> None:
    """Raises `UsageError` for a state that holds arrays which nothing is known of."""
    for unknown in _unknown(state):
        raise UsageError(
            f"this optimizer cannot train a network that grows: nothing says how its state "
            f"{type(unknown).__name__} changes with the network",
            hint="Take another optimizer, or a fixed network (expansion.policy: none). What its "
            f"arrays are would have to be told in {__name__}.",
        )


def _unknown(state: Any) -> Iterator[Any]:
    """The states within that hold arrays and are not in `CONTENTS`."""
    contents = CONTENTS.get(type(state))
    if type(state) is tuple:
        for part in state:
            yield from _unknown(part)
    elif contents is None:
        if jax.tree.leaves(state):
            yield state
    else:
        for name, content in contents.items():
            if content == "state":
                yield from _unknown(getattr(state, name))
