"""Parameters that stay as they are while others are trained (`transfer.freeze`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class FrozenState(NamedTuple):
    """Which parameters stay as they are.

    Attributes:
      frozen: a tree of the parameters' shape, 1 for an entry that stays and 0 for one that is
        trained. Growth changes it as it changes any such tree: what it adds is trained.
    """

    frozen: Any


def hold_frozen() -> optax.GradientTransformation:
    """Optax's last part where `transfer.freeze` names something: no update of frozen entries.

    Nothing is frozen at first; whoever starts the run fills in the state. A frozen entry keeps its
    every bit, but for numbers below 1.2e-38, which XLA's addition on the CPU takes for 0.
    """

    def init(params: Any) -> FrozenState:
        return FrozenState(jax.tree.map(jnp.zeros_like, params))

    def update(updates: Any, state: FrozenState, params: Any = None) -> tuple[Any, FrozenState]:
        # Not +0, to which -0 + 0 would turn a weight of -0: every bit stays.
        held = jax.tree.map(lambda u, f: jnp.where(f > 0, -0.0, u), updates, state.frozen)
        return held, state

    return optax.GradientTransformation(init, update)


def trained(tree: Any, state: Any) -> Any:
    """`tree`, of the parameters' shape, with zeros where the optimizer's `state` holds them fixed.

    So what is frozen counts neither in g^T d nor in a step's length.
    """
    held = [s for s in jax.tree.leaves(state, is_leaf=_is_frozen) if _is_frozen(s)]
    for found in held:
        tree = jax.tree.map(lambda a, f: jnp.where(f > 0, 0.0, a), tree, found.frozen)
    return tree


def _is_frozen(node: Any) -> bool:
    return isinstance(node, FrozenState)
