"""The fully connected network as a Flax module that also shows its inner signals.

Dormant neurons are computed and read by weights of zero, as a DenseNet's channels (densenet_flax).
"""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from senn_cli.nets.activation import activate
from senn_cli.nets.dropout import scaled
from senn_cli.nets.features import there
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import Parameters, Shifts, Signals, Used
from senn_cli.nets.silenced import silenced
from senn_cli.spec.activation import Activation


class LinearMap(nn.Module):
    """x W + b, in the precision of `compute_dtype`, or of the parameters."""

    features: int
    compute_dtype: Any = None

    @nn.compact
    def __call__(self, x: jax.Array, read: jax.Array | np.ndarray | None) -> jax.Array:
        """Maps `(N, n_in)` to `(N, features)`; rows of W not in `read` (n_in,) count as zero."""
        kernel = self.param("kernel", nn.initializers.lecun_normal(), (x.shape[-1], self.features))
        kernel = kernel if read is None else silenced(kernel, read)
        bias = self.param("bias", nn.initializers.zeros, (self.features,))
        dtype = self.compute_dtype or kernel.dtype
        return x.astype(dtype) @ kernel.astype(dtype) + bias.astype(dtype)


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
            coefficients = coefficients.astype(x.dtype)
        return activate(self.activation, x, coefficients)


class MLP(nn.Module):
    """The network of an `MlpArchitecture`, at its full capacity; `used` tells what is in use.

    Attributes:
      shape: `MlpArchitecture.shape()`, so that growth within capacity compiles nothing.
      compute_dtype: precision of all but the last map; None for the parameters' own.
    """

    shape: MlpArchitecture
    compute_dtype: Any = None

    @nn.compact
    def __call__(self, x: jax.Array, used: Used, shifts: Shifts) -> Signals:
        """Runs the network on `x` (N, inputs); arguments as of `Kind.apply`."""
        inputs, preactivations = {}, {}
        for index, m in enumerate(self.shape.maps):
            inputs[m.name] = read = x
            (source,) = m.sources
            dormant = source.feature.spare == "dormant"
            dtype = None if m.target.role == "outputs" else self.compute_dtype
            module = LinearMap(m.columns, dtype, name=m.name)
            x = module(x, used[source.feature.name] if dormant else None)
            if m.name in shifts.pre:
                x = x + shifts.pre[m.name].astype(x.dtype)
            preactivations[m.name] = x
            feature = m.target
            if feature.activation is not None:
                h = Neurons(feature.activation, name=f"activation_{index}")(x)
                if feature.name in shifts.post:
                    h = h + shifts.post[feature.name].astype(h.dtype)
                h = scaled(h, shifts.factors.get(feature.name))
                # `where` rather than a product: an empty neuron must not even pass on a NaN.
                x = h if feature.spare == "dormant" else jnp.where(used[feature.name], h, 0.0)
                if feature.passes:
                    x = jnp.where(used[there(feature.name)], x, read)
        return Signals(x, inputs, preactivations)


def apply(
    shape: MlpArchitecture,
    params: Parameters,
    x: jax.Array,
    used: Used,
    shifts: Shifts | None = None,
    *,
    compute_dtype: DTypeLike | None = None,
) -> Signals:
    """The signals of the network of `shape`; arguments as of `Kind.apply`."""
    signals: Any = MLP(shape, compute_dtype).apply(
        {"params": params}, x, used, shifts or Shifts({})
    )
    return Signals(*signals)
