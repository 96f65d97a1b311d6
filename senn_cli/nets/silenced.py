"""Weights that read units which are not in use: zero to the network, and with a gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def silenced(kernel: jax.Array, used: jax.Array | np.ndarray) -> jax.Array:
    """`kernel` (..., n_in, n_out) with rows not in `used` (n_in,) read as zero.

    Their gradient is what it would be at a weight of zero, not zero as behind a mask.
    """
    return kernel - jax.lax.stop_gradient(jnp.where(used[:, None], 0.0, kernel))
