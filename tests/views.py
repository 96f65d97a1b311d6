"""What a policy is shown, made by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from senn_cli.engine.arrays import Arrays
from senn_cli.growth.policy import View
from senn_cli.nets.features import Architecture
from senn_cli.nets.mlp import MlpArchitecture


def bare(architecture: Architecture, **changes: Any) -> View:
    """A view with nothing but an architecture, and what is given beside it."""
    nothing: Any = None
    known: dict[str, Any] = {
        "params": nothing,
        "widths": nothing,
        "data": nothing,
        "seed": 0,
        "step": 0,
        "asked": 0,
        "added": 0,
        "every": 1,
        "per_epoch": 1,
        "layer_allowed": True,
        "input_spectrum": None,
    }
    return View(architecture, **{**known, **changes})


def view_of(
    architecture: MlpArchitecture, params: Any, x: np.ndarray, y: np.ndarray, **changes: Any
) -> View:
    """A view of a network for regression, with data that are not standardised."""
    n, m = x.shape[1], y.shape[1]
    host = (x, y, np.zeros(n), np.ones(n), np.zeros(m), np.ones(m))
    seen = {
        "params": jax.device_put(jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), params)),
        "widths": jnp.asarray(architecture.widths, jnp.int32),
        "data": Arrays(*(jnp.asarray(v, jnp.float32) for v in host)),
    }
    return bare(architecture, **{**seen, **changes})
