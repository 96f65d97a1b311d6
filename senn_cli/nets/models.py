"""Networks of every kind behind one interface: outputs, and which parameters are trained."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from senn_cli.nets import densenet_flax, mlp_flax
from senn_cli.nets.densenet import DenseArchitecture, Masks
from senn_cli.nets.kinds import AnyArchitecture


def outputs(shape: AnyArchitecture, params: Any, x: jax.Array, widths: jax.Array) -> jax.Array:
    """The outputs `(N, m)` of the network of `shape` for flat inputs `x` (N, inputs)."""
    if isinstance(shape, DenseArchitecture):
        return densenet_flax.apply(shape, params, x, masks(shape, widths)).outputs
    return mlp_flax.apply(shape, params, x, widths).outputs


def masks(shape: DenseArchitecture, widths: jax.Array) -> Masks:
    """What is in use of a DenseNet, of whose layers the first `widths` channels are."""
    return Masks(tuple(jnp.arange(h.capacity) < widths[i] for i, h in enumerate(shape.hidden)))
