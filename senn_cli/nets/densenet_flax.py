"""The DenseNet as a Flax module that also shows its inner signals.

Channels that are not in use are computed all the same: they are dormant proposals, whose statistics
decide about growth. Their consumers see a weight of zero, but that weight receives its gradient,
E[g a^T], which a score needs. Nothing flows back into a dormant channel, so that outputs and the
gradients of what is in use depend neither on capacities nor on dormant weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from senn_cli.nets.activation import activate
from senn_cli.nets.densenet import TAPS, DenseArchitecture, Masks, Pool
from senn_cli.nets.features import Map

Parameters = dict[str, dict[str, jax.Array]]
"""As `densenet.Tree`, on the device."""
LAYOUT = ("NHWC", "HWIO", "NHWC")


class Signals(NamedTuple):
    """What a forward pass computes, for N images; dictionaries by the name of the map.

    Attributes:
      outputs: `(N, outputs)`, in the parameters' precision.
      inputs: what every map reads, dormant channels and buds as they are, not masked:
        `(N, H, W, n_in)`, of the head `(N, n_in)`.
      preactivations: what every map yields, `(N, H, W, n_out)`, of the head `(N, outputs)`.
    """

    outputs: jax.Array
    inputs: dict[str, jax.Array]
    preactivations: dict[str, jax.Array]


def silenced(kernel: jax.Array, used: jax.Array | np.ndarray) -> jax.Array:
    """`kernel` (..., n_in, n_out) with rows not in `used` (n_in,) read as zero.

    Their gradient is what it would be at a weight of zero, not zero as behind a mask.
    """
    return kernel - jax.lax.stop_gradient(jnp.where(used[:, None], 0.0, kernel))


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

    @nn.compact
    def __call__(self, parts: list[jax.Array], masks: Masks) -> jax.Array:
        """Maps `(N, H, W, n_in)`, in parts, to `(N, H, W, n_out)`."""
        kernels = []
        for source in self.wire.sources:
            shape = (3, 3, source.feature.capacity, self.wire.target.capacity)
            kernel = self.param(source.leaf, nn.initializers.lecun_normal(), shape)
            kernels.append(silenced(kernel, masks.of(source)))
        dtype = self.compute_dtype or kernels[0].dtype
        x = jnp.concatenate(parts, axis=3).astype(dtype)
        kernel = jnp.concatenate(kernels, axis=2).astype(dtype)
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT)


class Head(nn.Module):
    """x W + b, rows of channels not in use read as zero."""

    wire: Map

    @nn.compact
    def __call__(self, x: jax.Array, masks: Masks) -> jax.Array:
        """Maps `(N, n_in)` to `(N, outputs)`."""
        (source,) = self.wire.sources
        shape = (source.feature.capacity, self.wire.target.capacity)
        kernel = self.param("kernel", nn.initializers.lecun_normal(), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.wire.target.capacity,))
        return x.astype(kernel.dtype) @ silenced(kernel, masks.of(source)) + bias


class DenseNet(nn.Module):
    """The network of a `DenseArchitecture`, at its full capacity; masks tell what is in use.

    Attributes:
      shape: `DenseArchitecture.shape()`, so that growth within capacity compiles nothing.
      compute_dtype: precision of convolutions and activations; None for the parameters' own. Mean,
        head and outputs keep the parameters' precision.
    """

    shape: DenseArchitecture
    compute_dtype: Any = None

    @nn.compact
    def __call__(
        self,
        x: jax.Array,
        masks: Masks,
        shifts: Mapping[str, jax.Array] | None = None,
        post_shifts: Mapping[str, jax.Array] | None = None,
    ) -> Signals:
        """Runs the network on `x`; arguments as in `apply`."""
        shifts, post_shifts = shifts or {}, post_shifts or {}
        values = {"image": x.reshape(-1, *self.shape.image)}
        inputs, preactivations = {}, {}
        last = {self.shape.flat(b, len(layers) - 1) for b, layers in enumerate(self.shape.blocks)}
        for wire in self.shape.maps:
            parts = [values[source.feature.name] for source in wire.sources]
            if wire.target.role == "outputs":
                dtype = jnp.promote_types(parts[0].dtype, jnp.float32)
                mean = jnp.mean(parts[0].astype(dtype), axis=(1, 2))
                inputs[wire.name], z = mean, Head(wire, name=wire.name)(mean, masks)
            else:
                inputs[wire.name] = jnp.concatenate(parts, axis=3)
                module = Convolution(wire, self.compute_dtype, name=wire.name)
                z = module(parts, masks)
            if wire.name in shifts:
                z = z + shifts[wire.name].astype(z.dtype)
            preactivations[wire.name] = z
            if wire.target.role == "outputs":
                break
            h = activate(self.shape.hidden[wire.target.index].activation, z, None)
            if wire.name in post_shifts:
                h = h + post_shifts[wire.name].astype(h.dtype)
            if wire.target.role == "hidden" and wire.target.index in last:
                h = pooled(self.shape.pool, h)
            if wire.target.role == "bud" and not masks.buds:
                h = jax.lax.stop_gradient(h)  # it would be zero; this spares its computation
            values[wire.target.name] = h
        return Signals(preactivations["head"], inputs, preactivations)


def apply(
    shape: DenseArchitecture,
    params: Parameters,
    x: jax.Array,
    masks: Masks,
    shifts: Mapping[str, jax.Array] | None = None,
    post_shifts: Mapping[str, jax.Array] | None = None,
    compute_dtype: DTypeLike | None = None,
) -> Signals:
    """The signals of the network of `shape` with `params` on images `x`.

    Args:
      shape: `DenseArchitecture.shape()`.
      x: `(N, H, W, C)`, or flat `(N, H W C)`.
      masks: what is in use; bool arrays, so that a change of them compiles nothing.
      shifts: by map, added to its pre-activations; the derivative of a loss with respect to them is
        that with respect to the pre-activations. Maps may be missing.
      post_shifts: by map of a layer or bud, added to its activations, before any pooling.
      compute_dtype: precision of convolutions and activations; None for the parameters' own.
    """
    net = DenseNet(shape, compute_dtype)
    signals: Any = net.apply({"params": params}, x, masks, shifts, post_shifts)
    return Signals(*signals)


def update_mask(shape: DenseArchitecture, masks: Masks) -> dict[str, dict[str, Any]]:
    """Which parameters are trained, bool, broadcastable to each of them; `(n_in, n_out)`.

    A weight is where both its ends are in use; dormant channels keep their input weights as drawn,
    and the zero output weights of dormant channels stay zero. Works on arrays of NumPy and JAX.
    """
    result: dict[str, dict[str, Any]] = {}
    for wire in shape.maps:
        columns = masks.columns(wire)
        result[wire.name] = {
            source.leaf: masks.of(source)[:, None] & columns[None, :] for source in wire.sources
        }
        if wire.target.role == "outputs":
            result[wire.name]["bias"] = columns
    return result


def joined(wire: Map, leaves: Mapping[str, jax.Array]) -> jax.Array:
    """A map's weights as one matrix, rows as in `feature_rows`.

    Of a convolution `(9 n_in, n_out)`: row p n_in + c belongs to kernel position p (row by row) and
    input channel c in the order of the concatenation. Of the head `(1 + n_in, outputs)`, the bias
    in row 0.
    """
    if wire.target.role == "outputs":
        return jnp.concatenate([leaves["bias"][None], leaves["kernel"]], axis=0)
    kernel = jnp.concatenate([leaves[source.leaf] for source in wire.sources], axis=2)
    return kernel.reshape(-1, wire.target.capacity)


def split(wire: Map, weights: jax.Array) -> dict[str, jax.Array]:
    """The inverse of `joined`."""
    if wire.target.role == "outputs":
        return {"kernel": weights[1:], "bias": weights[0]}
    ends = np.cumsum([source.feature.capacity for source in wire.sources])
    parts = jnp.split(weights.reshape(3, 3, -1, wire.target.capacity), ends[:-1], axis=2)
    return {source.leaf: part for source, part in zip(wire.sources, parts, strict=True)}


def feature_rows(wire: Map) -> np.ndarray:
    """The rows of `joined` of every input channel, int `(n_in, 9)`; of the head `(n_in, 1)`."""
    n_in = sum(source.feature.capacity for source in wire.sources)
    if wire.target.role == "outputs":
        return 1 + np.arange(n_in)[:, None]
    return np.arange(TAPS)[None, :] * n_in + np.arange(n_in)[:, None]
