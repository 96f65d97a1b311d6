"""Activation functions: the paper's rational function with coefficients per neuron, SiLU, tanh."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from senn_cli.nets.architecture import Activation

IDENTITY = (1.0, 0.0, 0.0)
"""The coefficients (alpha, beta, gamma) that make the rational function the identity."""


def rational_basis(x: jax.Array) -> jax.Array:
    """The three functions that the rational activation combines, `(..., 3)` for `x` of `(...)`.

    x, 1 / (1 + x^2) and x / (1 + x^2); section 3.1 of the paper.
    """
    bell = 1.0 / (1.0 + x * x)
    return jnp.stack([x, bell, x * bell], axis=-1)


def rational(x: jax.Array, coefficients: jax.Array) -> jax.Array:
    """The rational activation alpha x + (beta + gamma x) / (1 + x^2), section 3.1 of the paper.

    Args:
      x: pre-activations, `(..., n)`.
      coefficients: alpha, beta, gamma in the rows of `(3, n)`.
    """
    alpha, beta, gamma = coefficients[0], coefficients[1], coefficients[2]
    return alpha * x + (beta + gamma * x) / (1.0 + x * x)


def activate(name: Activation, x: jax.Array, coefficients: jax.Array | None) -> jax.Array:
    """The activation `name` of `x` (..., n); `coefficients` (3, n) where it is rational."""
    if name == "rational":
        if coefficients is None:
            raise ValueError("the rational activation needs coefficients")
        return rational(x, coefficients)
    return jax.nn.silu(x) if name == "silu" else jnp.tanh(x)
