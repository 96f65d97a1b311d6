"""Activation functions and their second derivatives.

The paper's rational function has coefficients per neuron; the others are functions alone. Second
derivatives are those of appendix D's curvature; of piecewise linear functions they are zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.nets.architecture import SLOPE
from senn_cli.spec.activation import Activation, Plain

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


def silu_second(x: jax.Array) -> jax.Array:
    """The second derivative of SiLU (swish), s (1 - s) (2 + x (1 - 2 s)) with s = sigmoid(x)."""
    s, rest = jax.nn.sigmoid(x), jax.nn.sigmoid(-x)  # 1 - s would lose the small values
    return s * rest * (2.0 + x * (rest - s))


def tanh_second(x: jax.Array) -> jax.Array:
    """The second derivative of tanh, -2 t (1 - t^2) with t = tanh(x)."""
    t = jnp.tanh(x)
    return -2.0 * t * (1.0 - t * t)


def rational_second(x: jax.Array, coefficients: jax.Array) -> jax.Array:
    """The second derivative of alpha x + (beta + gamma x) / (1 + x^2), for `x` (..., n).

    With b = 1 / (1 + x^2): b'' = b^2 (6 - 8 b) and (x b)'' = 2 x b^2 (1 - 4 b), the forms in which
    a large x overflows nowhere.
    """
    beta, gamma = coefficients[1], coefficients[2]
    b = 1.0 / (1.0 + x * x)
    return b * (beta * b * (6.0 - 8.0 * b) + gamma * (x * b) * (2.0 - 8.0 * b))


def gelu(x: jax.Array) -> jax.Array:
    """X Phi(x) with the distribution function Phi of the unit normal, not its approximation."""
    return jax.nn.gelu(x, approximate=False)


def gelu_second(x: jax.Array) -> jax.Array:
    """The second derivative of x Phi(x), phi(x) (2 - x^2); no square of a large x is left over."""
    density = jnp.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 2.0 * density - x * (x * density)


def leaky_relu(x: jax.Array) -> jax.Array:
    """X where it is positive, else 0.01 x."""
    return jnp.where(x > 0, x, SLOPE * x)


def softplus_second(x: jax.Array) -> jax.Array:
    """The second derivative of log(1 + e^x), s (1 - s) with s = sigmoid(x)."""
    return jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)


class _Function(NamedTuple):
    """A function of pre-activations, and its second derivative."""

    value: Callable[[jax.Array], jax.Array]
    second: Callable[[jax.Array], jax.Array]


def _same(x: jax.Array) -> jax.Array:
    return x


_FUNCTIONS: dict[Plain, _Function] = {
    "silu": _Function(jax.nn.silu, silu_second),
    "tanh": _Function(jnp.tanh, tanh_second),
    "relu": _Function(jax.nn.relu, jnp.zeros_like),
    "gelu": _Function(gelu, gelu_second),
    "leaky_relu": _Function(leaky_relu, jnp.zeros_like),
    "softplus": _Function(jax.nn.softplus, softplus_second),
    "identity": _Function(_same, jnp.zeros_like),
}


def activate(name: Activation, x: jax.Array, coefficients: jax.Array | None) -> jax.Array:
    """The activation `name` of `x` (..., n); `coefficients` (3, n) where it is rational."""
    if name == "rational":
        if coefficients is None:
            raise ValueError("the rational activation needs coefficients")
        return rational(x, coefficients)
    return _FUNCTIONS[name].value(x)


def second_derivative(
    name: Activation, x: jax.Array, coefficients: jax.Array | None = None
) -> jax.Array:
    """That of activation `name` at `x` (..., n); `coefficients` (3, n) where it is rational."""
    if name == "rational":
        if coefficients is None:
            raise ValueError("the rational activation needs coefficients")
        return rational_second(x, coefficients)
    return _FUNCTIONS[name].second(x)
