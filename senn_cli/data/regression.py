"""`source: regression`: a curve drawn from a random rational network, sampled at x ~ N(0, 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from senn_cli.data.dataset import Array, Part, Source
from senn_cli.data.split import generator

_GRID = 20_001
_BLOCK = 65_536


@dataclass(frozen=True)
class _Layer:
    """An affine map and, but for the last layer, the rational coefficients of its neurons."""

    kernel: Array
    bias: Array
    coefficients: Array | None


def load(train: int, test: int, noise: float, hidden: Sequence[int], *, seed: int) -> Source:
    """Draws a target function and independent training and test points on it.

    The function is a network of rational neurons

        sigma(z) = (l z + (2 v z + c) / (1 + z^2)) / sqrt(v^2 + c^2 + l^2 + 1e-8)

    with l, v, c ~ N(0, 1) a neuron, kernels ~ N(0, 1/inputs) and biases ~ N(0, 1). It is shifted
    and scaled to mean zero and variance one under x ~ N(0, 1) (over quantiles of the normal
    distribution, so without randomness): a mean squared error is a share of the target's variance,
    and 1 is what the best constant reaches.

    Args:
      train: number of training examples (a later validation part is taken from these).
      test: number of test examples.
      noise: standard deviation of Gaussian noise on the targets of both parts, in units of the
        function's own standard deviation.
      hidden: widths of the hidden layers of the function.
      seed: the spec's seed. The function, the points and the noise each have their own draws:
        another number of points or more noise leaves the function as it is.

    Returns:
      Inputs float32 `(N, 1)`, targets float32 `(N, 1)`.
    """
    layers = _draw_network(hidden, generator(seed, "regression/function"))
    normal = NormalDist()
    grid = np.array([normal.inv_cdf((i + 0.5) / _GRID) for i in range(_GRID)])
    values = _evaluate(layers, grid)
    mean, deviation = values.mean(), values.std()

    def draw(count: int, purpose: str, first_id: int) -> Part:
        x = generator(seed, f"regression/{purpose}").standard_normal(count).astype(np.float32)
        # The function sees the rounded inputs, as the network that learns it will.
        y = (_evaluate(layers, x.astype(np.float64)) - mean) / deviation
        y += noise * generator(seed, f"regression/{purpose}/noise").standard_normal(count)
        ids = np.arange(first_id, first_id + count, dtype=np.int64)
        return Part(x[:, None], y.astype(np.float32)[:, None], ids)

    return Source(
        name="regression",
        task="regression",
        train=draw(train, "train", 0),
        test=draw(test, "test", train),
    )


def _draw_network(hidden: Sequence[int], rng: np.random.Generator) -> list[_Layer]:
    widths = [1, *hidden, 1]
    layers = []
    for index, (fan_in, fan_out) in enumerate(pairwise(widths)):
        kernel = rng.standard_normal((fan_in, fan_out)) / np.sqrt(fan_in)
        bias = rng.standard_normal(fan_out)
        last = index == len(hidden)
        layers.append(_Layer(kernel, bias, None if last else rng.standard_normal((3, fan_out))))
    return layers


def _evaluate(layers: Sequence[_Layer], x: Array) -> Array:
    """The network's outputs `(N,)` at inputs `(N,)`, in float64; no more than a block at a time."""
    blocks = [x[start : start + _BLOCK] for start in range(0, len(x), _BLOCK)]
    return np.concatenate([_outputs(layers, block) for block in blocks])


def _outputs(layers: Sequence[_Layer], x: Array) -> Array:
    h = x[:, None]
    for layer in layers:
        h = h @ layer.kernel + layer.bias
        if layer.coefficients is not None:
            slope, odd, even = layer.coefficients
            norm = np.sqrt(odd**2 + even**2 + slope**2 + 1e-8)
            h = (slope * h + (2 * odd * h + even) / (1 + h**2)) / norm
    return np.asarray(h[:, 0])
