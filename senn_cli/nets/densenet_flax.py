"""The DenseNet as a Flax module that also shows its inner signals.

Channels that are not in use are computed all the same: they are dormant proposals, whose statistics
decide about growth. Their consumers see a weight of zero, but that weight receives its gradient,
E[g a^T], which a score needs. Nothing flows back into a dormant channel, so that outputs and the
gradients of what is in use depend neither on capacities nor on dormant weights.
"""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from senn_cli.nets.activation import activate
from senn_cli.nets.densenet_architecture import DenseArchitecture, Pool
from senn_cli.nets.dropout import scaled
from senn_cli.nets.features import Map
from senn_cli.nets.registry import Parameters, Shifts, Signals, Used
from senn_cli.nets.silenced import silenced

LAYOUT = ("NHWC", "HWIO", "NHWC")


def pooled(pool: Pool, x: jax.Array) -> jax.Array:
    """`x` (N, H, W, c) pooled with stride 2, padded as SAME: `(N, ceil(H / 2), ceil(W / 2), c)`.

    A mean is taken over the positions that exist. A maximum is built of shifted slices, whose
    derivative costs a third of that of a windowed reduction on the CPU.
    """
    window = 3 if pool == "max3s2" else 2
    if pool == "mean2s2":
        mean: jax.Array = nn.avg_pool(x, (2, 2), (2, 2), "SAME", count_include_pad=False)
        return mean
    for axis in (1, 2):
        size = x.shape[axis]
        half = -(-size // 2)
        room = max(2 * (half - 1) + window - size, 0)
        padding = [(0, 0)] * 4
        padding[axis] = (room // 2, room - room // 2)
        padded = jnp.pad(x, padding, constant_values=-jnp.inf)
        x = jax.lax.slice_in_dim(padded, 0, 2 * half - 1, 2, axis)
        for start in range(1, window):
            shifted = jax.lax.slice_in_dim(padded, start, start + 2 * half - 1, 2, axis)
            x = jnp.maximum(x, shifted)
    return x


class Convolution(nn.Module):
    """A 3x3 convolution without bias, SAME padding, over several groups of channels."""

    wire: Map
    compute_dtype: Any = None
    recompute: bool = False

    @nn.compact
    def __call__(self, parts: list[jax.Array], used: Used) -> jax.Array:
        """Maps `(N, H, W, n_in)`, in parts, to `(N, H, W, n_out)`."""
        kernels = []
        for source in self.wire.sources:
            shape = (3, 3, source.feature.capacity, self.wire.target.capacity)
            kernel = self.param(source.leaf, nn.initializers.lecun_normal(), shape)
            kernels.append(silenced(kernel, used[source.feature.name]))
        dtype = self.compute_dtype or kernels[0].dtype

        def convolved(parts: list[jax.Array], kernels: list[jax.Array]) -> jax.Array:
            x = jnp.concatenate(parts, axis=3).astype(dtype)
            kernel = jnp.concatenate(kernels, axis=2).astype(dtype)
            return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT)

        # One by one: the way back then holds what one convolution read, never what all did.
        chosen = jax.checkpoint(convolved) if self.recompute else convolved
        return chosen(parts, kernels)


class Head(nn.Module):
    """x W + b, rows of channels not in use read as zero."""

    wire: Map

    @nn.compact
    def __call__(self, x: jax.Array, used: Used) -> jax.Array:
        """Maps `(N, n_in)` to `(N, outputs)`."""
        (source,) = self.wire.sources
        shape = (source.feature.capacity, self.wire.target.capacity)
        kernel = self.param("kernel", nn.initializers.lecun_normal(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.wire.target.capacity,))
        return x.astype(kernel.dtype) @ silenced(kernel, used[source.feature.name]) + bias


class DenseNet(nn.Module):
    """The network of a `DenseArchitecture`, at its full capacity; `used` tells what is in use.

    Attributes:
      shape: `DenseArchitecture.shape()`, so that growth within capacity compiles nothing.
      compute_dtype: precision of convolutions and activations; None for the parameters' own. Mean,
        head and outputs keep the parameters' precision.
      recompute: whether derivatives put together anew what a convolution read: of L layers the
        channels are kept once, not L / 2 times. As Pleiss et al. (2017) do it.
    """

    shape: DenseArchitecture
    compute_dtype: Any = None
    recompute: bool = False

    @nn.compact
    def __call__(self, x: jax.Array, used: Used, shifts: Shifts) -> Signals:
        """Runs the network on `x`; arguments as of `Kind.apply`."""
        values = {"image": x.reshape(-1, *self.shape.image)}
        inputs, preactivations = {}, {}
        last = {self.shape.flat(b, len(layers) - 1) for b, layers in enumerate(self.shape.blocks)}
        for wire in self.shape.maps:
            parts = [values[source.feature.name] for source in wire.sources]
            if wire.target.role == "outputs":
                dtype = jnp.promote_types(parts[0].dtype, jnp.float32)
                mean = jnp.mean(parts[0].astype(dtype), axis=(1, 2))
                inputs[wire.name], z = mean, Head(wire, name=wire.name)(mean, used)
            else:
                inputs[wire.name] = jnp.concatenate(parts, axis=3)
                module = Convolution(wire, self.compute_dtype, self.recompute, name=wire.name)
                z = module(parts, used)
            if wire.name in shifts.pre:
                z = z + shifts.pre[wire.name].astype(z.dtype)
            preactivations[wire.name] = z
            if wire.target.role == "outputs":
                break
            h = activate(self.shape.hidden[wire.target.index].activation, z, None)
            if wire.target.name in shifts.post:
                h = h + shifts.post[wire.target.name].astype(h.dtype)
            h = scaled(h, shifts.factors.get(wire.target.name))
            if wire.target.role == "hidden" and wire.target.index in last:
                h = pooled(self.shape.pool, h)
            if wire.target.role == "bud" and unused(used[wire.target.name]):
                h = jax.lax.stop_gradient(h)  # it would be zero; this spares its computation
            values[wire.target.name] = h
        return Signals(preactivations["head"], inputs, preactivations)


def unused(mask: jax.Array | np.ndarray) -> bool:
    """Whether a mask is known to be empty while a program is traced."""
    return isinstance(mask, np.ndarray) and not mask.any()


def apply(
    shape: DenseArchitecture,
    params: Parameters,
    x: jax.Array,
    used: Used,
    shifts: Shifts | None = None,
    *,
    compute_dtype: DTypeLike | None = None,
    recompute: bool = False,
) -> Signals:
    """The signals of the network of `shape`; arguments as of `Kind.apply`.

    Args:
      x: flat `(N, H W C)`, or `(N, H, W, C)`.
    """
    net = DenseNet(shape, compute_dtype, recompute)
    signals: Any = net.apply({"params": params}, x, used, shifts or Shifts({}))
    return Signals(*signals)
