"""The fully connected network as a Flax module that also shows its inner signals."""

from __future__ import annotations

from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp

from senn_cli.nets.activation import activate
from senn_cli.nets.architecture import Activation
from senn_cli.nets.mlp import MlpArchitecture

Parameters = dict[str, dict[str, jax.Array]]
"""`map_<l>`: `kernel` (n_in, n_out), `bias` (n_out,); `activation_<i>`: `coefficients` (3, n)."""


class Signals(NamedTuple):
    """What a forward pass computes, for N examples.

    Attributes:
      outputs: `(N, outputs)`, the last map's pre-activations (logits or predictions).
      inputs: what every map reads, `(N, n_in)` each, unused neurons zero.
      preactivations: what every map yields, `(N, n_out)` each.
    """

    outputs: jax.Array
    inputs: tuple[jax.Array, ...]
    preactivations: tuple[jax.Array, ...]


class LinearMap(nn.Module):
    """x W + b."""

    features: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Maps `(N, n_in)` to `(N, features)`."""
        kernel = self.param("kernel", nn.initializers.lecun_normal(), (x.shape[-1], self.features))
        return x @ kernel + self.param("bias", nn.initializers.zeros, (self.features,))


class Neurons(nn.Module):
    """A hidden layer's activation function; rational ones have coefficients per neuron."""

    activation: Activation

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """The activations of pre-activations `(N, n)`."""
        coefficients = None
        if self.activation == "rational":
            shape = (3, x.shape[-1])
            coefficients = self.param("coefficients", nn.initializers.normal(1.0), shape)
        return activate(self.activation, x, coefficients)


class MLP(nn.Module):
    """The network of an `Architecture`, at its full capacity; what is in use is told by `widths`.

    Attributes:
      shape: `Architecture.shape()`, so that growth within capacity compiles nothing.
    """

    shape: MlpArchitecture

    @nn.compact
    def __call__(
        self, x: jax.Array, widths: jax.Array, shifts: tuple[jax.Array, ...] | None = None
    ) -> Signals:
        """Runs the network on `x` (N, inputs).

        Args:
          x: network inputs.
          widths: neurons in use, int `(layers,)`; the others yield 0.
          shifts: added to the pre-activations of every map; the derivative of a loss with respect
            to them is that with respect to the pre-activations.
        """
        inputs, preactivations = [], []
        for index in range(len(self.shape.maps)):
            inputs.append(x)
            z = LinearMap(self.shape.map_capacity(index)[1], name=f"map_{index}")(x)
            if shifts is not None:
                z = z + shifts[index]
            preactivations.append(z)
            if index < len(self.shape.hidden):
                layer = self.shape.hidden[index]
                x = Neurons(layer.activation, name=f"activation_{index}")(z)
                # `where` rather than a product: an unused neuron must not even pass on a NaN.
                x = jnp.where(jnp.arange(layer.capacity) < widths[index], x, 0.0)
        return Signals(preactivations[-1], tuple(inputs), tuple(preactivations))


def apply(
    shape: MlpArchitecture,
    params: Parameters,
    x: jax.Array,
    widths: jax.Array,
    shifts: tuple[jax.Array, ...] | None = None,
) -> Signals:
    """The signals of the network of `shape` with `params` on `x` (N, inputs)."""
    signals: Any = MLP(shape).apply({"params": params}, x, widths, shifts)
    return Signals(*signals)


def with_constant(a: jax.Array) -> jax.Array:
    """`a` (N, n) with the constant 1 put in front, `(N, 1 + n)`: the bias is a weight."""
    return jnp.concatenate([jnp.ones((a.shape[0], 1), a.dtype), a], axis=1)


def joined(linear: dict[str, jax.Array]) -> jax.Array:
    """A map's bias and kernel as one matrix `(1 + n_in, n_out)`, the bias in row 0."""
    return jnp.concatenate([linear["bias"][None], linear["kernel"]], axis=0)


def split(weights: jax.Array) -> dict[str, jax.Array]:
    """The inverse of `joined`."""
    return {"kernel": weights[1:], "bias": weights[0]}
