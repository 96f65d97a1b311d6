"""Finding proposals: many are drawn, the most promising polished, the best returned (ingredient 2).

`search_neurons` proposes neurons for a hidden layer, `search_layers` a new layer within a linear
map. Both maximise Delta eta' (`objective.py`) on one sample of the training data; what is accepted
is decided on another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.growth import ascent, objective
from senn_cli.growth.objective import Neurons
from senn_cli.growth.settings import DepthSearch, WidthSearch
from senn_cli.nets.architecture import initial_gain
from senn_cli.spec.activation import Activation

GROUP = 256
"""Proposals treated at a time: bounds memory at N x GROUP activations."""


def whitening(values: jax.Array, vectors: jax.Array, rank: int) -> tuple[jax.Array, jax.Array]:
    """A map `(d, rank)` onto the leading principal components, scaled to unit second moment.

    Searching in these coordinates is preconditioning: all directions have the same scale.

    Args:
      values, vectors: spectrum of the source's second moment, ascending.

    Returns:
      The map, and which of its columns are usable; the others, where the source has no variance
      or no columns in use, are zero.
    """
    values, vectors = values[-rank:], vectors[:, -rank:]
    usable = values > 1e-5 * values[-1]
    scaled = vectors / jnp.sqrt(jnp.where(usable, values, 1.0))
    return jnp.where(usable, scaled, 0.0), usable


def initial_neurons(
    key: jax.Array, count: int, d: int, active: jax.Array, activation: Activation, dtype: jnp.dtype
) -> Neurons:
    """Neurons from the initial distribution (`nets/mlp.py`) on a source of width `d`."""
    k_w, k_b, k_c = jax.random.split(key, 3)
    gain = initial_gain(activation)
    weights = gain * jax.random.normal(k_w, (count, d), dtype)
    weights = weights / jnp.sqrt(jnp.maximum(active - 1, 1))
    bias = jax.random.normal(k_b, (count,), dtype)
    weights = weights.at[:, 0].set(bias if activation == "rational" else 0.0)
    return Neurons(weights, jax.random.normal(k_c, (count, 3), dtype))


def _spectral_starts(w: jax.Array, r: jax.Array, count: int) -> jax.Array:
    """Directions `(count, rank)` in which the residual varies most, to first and second order.

    First the leading singular vectors of E[w r^T], then the extreme eigenvectors of
    E[(r q) w w^T] with q the residual's main direction.
    """
    n = w.shape[0]
    linear, _, outputs = jnp.linalg.svd(w.T @ r / n, full_matrices=False)
    q = outputs[0]
    values, vectors = jnp.linalg.eigh((w * (r @ q)[:, None]).T @ w / n)
    order = jnp.argsort(-jnp.abs(values))
    both = jnp.concatenate([linear.T, vectors.T[order]], axis=0)
    half = min(-(-count // 2), linear.shape[1])
    return jnp.concatenate([both[:half], both[linear.shape[1] :][: count - half]], axis=0)


def grouping(proposals: int, group: int = GROUP) -> tuple[int, int, jax.Array]:
    """Size and number of groups, and the proposals in them; the last group is filled up."""
    size = min(group, proposals)
    groups = -(-proposals // size)
    return size, groups, jnp.arange(groups * size) % proposals


def best_of(scores: jax.Array, neurons: Neurons, count: int) -> Neurons:
    """The `count` neurons with the highest scores, the best first."""
    top = jax.lax.top_k(jnp.where(jnp.isfinite(scores), scores, -jnp.inf), count)[1]
    return Neurons(neurons.weights[top], neurons.coefficients[top])


def search_neurons(
    key: jax.Array,
    u: jax.Array,
    spectrum: tuple[jax.Array, jax.Array],
    residual: jax.Array,
    active: jax.Array,
    activation: Activation,
    settings: WidthSearch,
) -> Neurons:
    """Proposed neurons with high Delta eta', `polished` of them (one for `mala`).

    Args:
      u: what the new neurons read with the constant in front, `(N, d)`; unused columns zero.
      spectrum: eigenvalues and eigenvectors of u's second moment.
      residual: whitened residual gradients `(N, m)` of the map that will read the neurons.
      active: columns of `u` in use.
      activation: of the layer that is widened.
    """
    if settings.method == "closed_form":
        return _closed_form_search(key, u, spectrum, residual, activation, settings)
    start = initial_neurons(key, settings.proposals, u.shape[1], active, activation, u.dtype)

    def score(neurons: Neurons) -> jax.Array:
        return objective.neuron_score(activation, neurons, u, residual)

    return climbed(key, score, start, jnp.arange(u.shape[1]) < active, settings)


def climbed(
    key: jax.Array,
    score: Callable[[Neurons], jax.Array],
    start: Neurons,
    used: jax.Array,
    settings: WidthSearch,
    group: int = GROUP,
) -> Neurons:
    """The best of `start` after the paper's ascent (`polished` of them), or one sample of `mala`.

    Args:
      score: of some neurons, what is to become large, `(P,)`.
      used: which weights there are, bool `(d,)`; others are zero.
      group: neurons treated at a time.
    """
    start = start._replace(weights=jnp.where(used, start.weights, 0.0))

    def of_used(neurons: Neurons) -> jax.Array:
        return score(neurons._replace(weights=jnp.where(used, neurons.weights, 0.0)))

    def improve(part: tuple[jax.Array, Neurons]) -> Neurons:
        group_key, neurons = part
        if settings.method == "mala":
            result = ascent.mala(
                of_used, neurons, group_key, steps=settings.steps, temperature=settings.temperature
            )
        else:
            result = ascent.gradient_ascent(
                of_used, neurons, steps=settings.steps, learning_rate=settings.learning_rate
            )
        return Neurons(*result)

    size, groups, filled = grouping(settings.proposals, group)
    grouped = jax.tree.map(lambda x: x[filled].reshape(groups, size, -1), start)
    keys = jax.random.split(jax.random.fold_in(key, 1), groups)
    found = jax.lax.map(improve, (keys, grouped))
    found = jax.tree.map(lambda x: x.reshape(groups * size, -1), found)
    found = found._replace(weights=jnp.where(used, found.weights, 0.0))
    scores = jax.lax.map(
        lambda g: of_used(g), jax.tree.map(lambda x: x.reshape(groups, size, -1), found)
    ).reshape(-1)
    if settings.method == "mala":
        # The paper draws from the samples with probability softmax(Delta eta' / T).
        chosen = jax.random.categorical(jax.random.fold_in(key, 2), scores / settings.temperature)
        return Neurons(found.weights[chosen][None], found.coefficients[chosen][None])
    return best_of(scores, found, min(settings.polished, groups * size))


class Draws(NamedTuple):
    """Starts of P neurons in whitened coordinates.

    Attributes:
      directions: not yet of unit length, `(P, rank)`.
      lengths: of the weights, `(P, 1)`; biases `(P, 1)`.
    """

    directions: jax.Array
    lengths: jax.Array
    biases: jax.Array

    def along(self, usable: jax.Array) -> jax.Array:
        """Unit vectors in the `usable` of the first coordinates, `(P, len(usable))`."""
        drawn = jnp.where(usable, self.directions[:, : len(usable)], 0.0)
        found: jax.Array = drawn / jnp.linalg.norm(drawn, axis=1, keepdims=True)
        return found


def draws(key: jax.Array, count: int, rank: int, dtype: jnp.dtype) -> Draws:
    """Starts of `count` neurons.

    The length of the weights is the standard deviation of the pre-activations: from nearly linear
    to wild.
    """
    k_direction, k_scale, k_bias = jax.random.split(key, 3)
    return Draws(
        jax.random.normal(k_direction, (count, rank), dtype),
        jnp.exp(jax.random.uniform(k_scale, (count, 1), dtype, -0.7, 1.1)),
        jax.random.normal(k_bias, (count, 1), dtype),
    )


def _closed_form_search(
    key: jax.Array,
    u: jax.Array,
    spectrum: tuple[jax.Array, jax.Array],
    residual: jax.Array,
    activation: Activation,
    settings: WidthSearch,
) -> Neurons:
    """Screen many by the closed form, polish the best with Adam in whitened coordinates."""
    rank = min(settings.rank, u.shape[1])
    basis, usable = whitening(*spectrum, rank)
    w = u @ basis
    v = jnp.concatenate([jnp.ones((u.shape[0], 1), u.dtype), w], axis=1)
    spectral = min(settings.polished // 2, rank)
    start_at = draws(key, settings.proposals, rank, u.dtype)
    drawn = start_at.along(usable)
    starts = jnp.concatenate([start_at.biases, drawn * start_at.lengths], axis=1)
    size, groups, filled = grouping(settings.proposals)
    scores = jax.lax.map(
        lambda group: objective.closed_form(activation, group, v, residual)[1],
        starts[filled].reshape(groups, size, -1),
    ).reshape(-1)[: settings.proposals]
    screened = best_of(scores, Neurons(starts, starts), settings.polished - spectral).weights
    directions = jnp.where(usable, _spectral_starts(w, residual, spectral), 0.0)
    # Where there are fewer directions than asked for, the rest is noise in unusable ones.
    length = jnp.linalg.norm(directions, axis=1, keepdims=True)
    directions = jnp.where(length > 0.5, directions / length, drawn[:spectral])
    directions = jnp.pad(directions, ((0, 0), (1, 0)))
    start = jnp.concatenate([screened, directions], axis=0)

    def score(weights: jax.Array) -> jax.Array:
        return objective.closed_form(activation, weights, v, residual)[1]

    steps, rate = settings.steps, settings.learning_rate
    weights, _ = ascent.adam(score, start, steps=steps, learning_rate=rate)
    found, scores = objective.closed_form(activation, weights, v, residual)
    found = best_of(scores, found, settings.polished)
    raw = found.weights[:, 1:] @ basis.T
    return Neurons(raw.at[:, 0].add(found.weights[:, 0]), found.coefficients)


def search_layers(
    key: jax.Array,
    v: jax.Array,
    residual: jax.Array,
    active: jax.Array,
    settings: DepthSearch,
) -> Neurons:
    """Proposed rational layers with high Delta eta', the best first.

    Args:
      v: the source with the constant in front, `(N, 1 + q)`: what the map reads or yields.
      residual: whitened residual gradients of the map, `(N, m)`.
      active: neurons in use of the source, `active <= q`.

    Returns:
      Weights `(P, q, 1 + q)`, coefficients `(P, q, 3)`; P is `polished` (1 for `mala`).
    """
    q = v.shape[1] - 1
    used = jnp.arange(q) < active

    def masked(layers: Neurons) -> Neurons:
        kernel = jnp.where(used[:, None] & used[None, :], layers.weights[..., 1:], 0.0)
        bias = jnp.where(used[:, None], layers.weights[..., :1], 0.0)
        return layers._replace(weights=jnp.concatenate([bias, kernel], axis=-1))

    def one(layer: Neurons) -> jax.Array:
        used_alone = masked(layer)
        return objective.layer_score(used_alone, v, residual, active, settings.log_determinant)

    score = ascent.InTurn(one)
    flat = initial_neurons(key, settings.proposals * q, 1 + q, active + 1, "rational", v.dtype)
    start = jax.tree.map(lambda x: x.reshape(settings.proposals, q, -1), flat)
    keep = min(settings.polished, settings.proposals)
    if settings.method == "mala":
        found = Neurons(
            *ascent.mala(
                score,
                start,
                jax.random.fold_in(key, 1),
                steps=settings.steps,
                temperature=settings.temperature,
            )
        )
        scores = score(found)
        chosen = jax.random.categorical(jax.random.fold_in(key, 2), scores / settings.temperature)
        found = masked(found)
        return Neurons(found.weights[chosen][None], found.coefficients[chosen][None])
    steps, rate = settings.steps, settings.learning_rate
    if settings.method == "gradient_ascent":
        climbed_to = ascent.gradient_ascent(score, start, steps=steps, learning_rate=rate)
        found = Neurons(*climbed_to)
        return best_of(score(found), masked(found), keep)
    start = best_of(score(start), start, keep)
    climbed_to, scores = ascent.adam(score, start, steps=steps, learning_rate=rate)
    return best_of(scores, masked(Neurons(*climbed_to)), keep)
