"""Ways to improve proposals: Adam, the paper's monotone gradient ascent, and its Langevin sampling.

Each takes an objective that scores P independent proposals at once, `(P,)`, and proposals as a tree
whose leaves have a leading axis P. The gradient of the sum is then the gradient of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from senn_cli.curvature.factorisations import in_turn

Proposals = Any
Objective = Callable[[Proposals], jax.Array]


def _rows(values: jax.Array, like: jax.Array) -> jax.Array:
    """`values` (P,) shaped to multiply `like` (P, ...)."""
    return values.reshape(values.shape + (1,) * (like.ndim - 1))


def _select(choice: jax.Array, yes: Proposals, no: Proposals) -> Proposals:
    """Proposal by proposal `yes` where `choice` (P,), else `no`."""
    return jax.tree.map(lambda y, n: jnp.where(_rows(choice, y), y, n), yes, no)


class InTurn:
    """An objective that scores one proposal after the other; so are its gradients taken.

    Differentiated as a whole, the loop would keep what it computes of every proposal.

    Args:
      one: the score of a single proposal.
    """

    def __init__(self, one: Callable[[Proposals], jax.Array]) -> None:
        self._one = one

    def __call__(self, p: Proposals) -> jax.Array:
        """The scores, `(P,)`."""
        return in_turn(self._one, p)

    def with_gradient(self, p: Proposals) -> tuple[jax.Array, Proposals]:
        """The scores, and their gradients in the form of `p`."""
        return in_turn(jax.value_and_grad(self._one), p)


def _value_and_gradient(objective: Objective, p: Proposals) -> tuple[jax.Array, Proposals]:
    if isinstance(objective, InTurn):
        return objective.with_gradient(p)

    def total(q: Proposals) -> tuple[jax.Array, jax.Array]:
        values = objective(q)
        return jnp.sum(values), values

    (_, values), gradient = jax.value_and_grad(total, has_aux=True)(p)
    return values, gradient


def adam(
    objective: Objective, start: Proposals, *, steps: int, learning_rate: float
) -> tuple[Proposals, jax.Array]:
    """`steps` of Adam with a cosine schedule, and the scores there. Insensitive to their scale.

    The scores are of one more step, whose rate is zero: the objective is compiled once, not twice.
    """
    transform = optax.adam(optax.cosine_decay_schedule(learning_rate, steps))

    def step(_: int, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        p, state, _ = carry
        values, gradient = _value_and_gradient(objective, p)
        ascent = jax.tree.map(jnp.negative, gradient)
        updates, state = transform.update(ascent, state, p)
        return optax.apply_updates(p, updates), state, values

    scores = jax.eval_shape(objective, start)
    carry = (start, transform.init(start), jnp.zeros(scores.shape, scores.dtype))
    result, _, values = jax.lax.fori_loop(0, steps + 1, step, carry)
    return result, values


def gradient_ascent(
    objective: Objective, start: Proposals, *, steps: int, learning_rate: float
) -> Proposals:
    """The paper's optimiser for MNIST (appendix B): plain gradient ascent, monotone.

    A step that would lower a proposal's score is not taken and its rate divided by 3.
    """

    def step(_: int, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        p, value, gradient, rate = carry
        trial = jax.tree.map(lambda x, g: x + _rows(rate, x) * g, p, gradient)
        trial_value, trial_gradient = _value_and_gradient(objective, trial)
        better = trial_value >= value
        return (
            _select(better, trial, p),
            jnp.where(better, trial_value, value),
            _select(better, trial_gradient, gradient),
            jnp.where(better, rate, rate / 3.0),
        )

    value, gradient = _value_and_gradient(objective, start)
    rate = jnp.full(value.shape, learning_rate, value.dtype)
    carry = (start, value, gradient, rate)
    result: Proposals = jax.lax.fori_loop(0, steps, step, carry)[0]
    return result


def mala(
    objective: Objective,
    start: Proposals,
    key: jax.Array,
    *,
    steps: int,
    temperature: float,
    step_size: float = 0.3,
    target_acceptance: float = 0.6,
) -> Proposals:
    """Samples of exp(score / temperature) times a unit Gaussian prior (appendix B).

    The Metropolis-adjusted Langevin algorithm: with U = score / T - |x|^2 / 2, propose
    x' = x + eps^2/2 grad U(x) + eps xi and accept with probability
    min(1, exp(U(x') - U(x)) q(x | x') / q(x' | x)). Every 10 steps a proposal's eps is multiplied
    or divided by 3 as its acceptance rate lies above or below the target.
    """

    def log_density(p: Proposals) -> jax.Array:
        leaves = jax.tree.leaves(p)
        squares = [jnp.sum(x**2, axis=tuple(range(1, x.ndim))) for x in leaves]
        return objective(p) / temperature - 0.5 * jnp.sum(jnp.stack(squares), axis=0)

    def log_transition(to: Proposals, mean: Proposals, eps: jax.Array) -> jax.Array:
        squares = jax.tree.map(
            lambda a, b: jnp.sum((a - b) ** 2, axis=tuple(range(1, a.ndim))), to, mean
        )
        return -jnp.sum(jnp.stack(jax.tree.leaves(squares)), axis=0) / (2.0 * eps**2)

    def drift(p: Proposals, gradient: Proposals, eps: jax.Array) -> Proposals:
        return jax.tree.map(lambda x, g: x + 0.5 * _rows(eps, x) ** 2 * g, p, gradient)

    def step(index: int, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        p, value, gradient, eps, accepted = carry
        noise_key, accept_key = jax.random.split(jax.random.fold_in(key, index))
        leaves, treedef = jax.tree.flatten(drift(p, gradient, eps))
        keys = jax.random.split(noise_key, len(leaves))
        moved = [
            m + _rows(eps, m) * jax.random.normal(k, m.shape, m.dtype)
            for m, k in zip(leaves, keys, strict=True)
        ]
        trial = jax.tree.unflatten(treedef, moved)
        trial_value, trial_gradient = _value_and_gradient(log_density, trial)
        forward = log_transition(trial, drift(p, gradient, eps), eps)
        backward = log_transition(p, drift(trial, trial_gradient, eps), eps)
        log_ratio = trial_value - value + backward - forward
        uniform = jax.random.uniform(accept_key, value.shape, value.dtype)
        yes = jnp.log(uniform) < log_ratio  # False where the ratio is NaN
        accepted = accepted + yes
        adapt = (index + 1) % 10 == 0
        # Of 10 proposals, one more or less than wanted leaves the step size as it is.
        surplus = accepted - round(10 * target_acceptance)
        factor = jnp.where(surplus > 1, 3.0, jnp.where(surplus < -1, 1.0 / 3.0, 1.0))
        return (
            _select(yes, trial, p),
            jnp.where(yes, trial_value, value),
            _select(yes, trial_gradient, gradient),
            jnp.where(adapt, eps * factor, eps),
            jnp.where(adapt, jnp.zeros_like(accepted), accepted),
        )

    value, gradient = _value_and_gradient(log_density, start)
    eps = jnp.full(value.shape, step_size, value.dtype)
    carry = (start, value, gradient, eps, jnp.zeros(value.shape, jnp.int32))
    result: Proposals = jax.lax.fori_loop(0, steps, step, carry)[0]
    return result
