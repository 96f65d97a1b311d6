"""KFAC: moving averages of Kronecker factors, amortised inverses, the preconditioned gradient.

Every linear map has factors A and S (section 3.4; Martens and Grosse, 2015). The three coefficients
of a rational neuron have a 3 x 3 Fisher block of their own, E[(dL/dh)^2 phi phi^T] with phi the
activation's basis. Where the network's inputs are fixed data, the first map's A is the exact
second moment of the training set, eigendecomposed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature import kronecker
from senn_cli.curvature.kronecker import Spectrum, with_constant
from senn_cli.nets.activation import rational_basis
from senn_cli.nets.features import joined, split
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import Parameters, Signals

Factors = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class KfacSettings:
    """Options of the solver: Tikhonov damping, decay of the averages, steps between inversions."""

    damping: float
    moving_average: float
    invert_every: int


class KfacState(NamedTuple):
    """What KFAC remembers.

    Attributes:
      seen: batches so far, int32.
      ages: batches that each entry of `factors` has averaged, int32; 0 for one made anew.
      stale: whether the inverses must be made anew at the next step (after an edit).
      factors: `map_<l>`: `a`, `s`, `a_inverse`, `s_inverse`; `activation_<i>`: `c` and
        `c_inverse` `(n, 3, 3)`. Rows and columns of unused neurons are zero in the factors.
    """

    seen: jax.Array
    ages: dict[str, Any]
    stale: Any
    factors: Factors


def active_counts(shape: MlpArchitecture, widths: jax.Array) -> list[jax.Array]:
    """Neurons in use: of the inputs, of every hidden layer, of the outputs."""
    hidden = [widths[i] for i in range(len(shape.hidden))]
    return [jnp.asarray(shape.inputs), *hidden, jnp.asarray(shape.outputs)]


def batch_factors(
    shape: MlpArchitecture, params: Parameters, signals: Signals, gradients: dict[str, jax.Array]
) -> Factors:
    """The factors of one batch.

    Args:
      signals: the forward pass on N examples.
      gradients: per-example gradients of sampled losses with respect to every map's
        pre-activations, by the map's name `(N, n_out)` (`metric.sample_output_gradient` at the
        outputs).
    """
    factors: Factors = {}
    for index in range(len(shape.maps)):
        a = kronecker.second_moment(with_constant(signals.inputs[f"map_{index}"]))
        s = kronecker.second_moment(gradients[f"map_{index}"])
        factors[f"map_{index}"] = {"a": a, "s": s}
        if index < len(shape.hidden) and shape.hidden[index].activation == "rational":
            phi = rational_basis(signals.preactivations[f"map_{index}"])
            upstream = gradients[f"map_{index + 1}"] @ params[f"map_{index + 1}"]["kernel"].T
            weighted = phi * (upstream**2)[..., None]
            c = jnp.einsum("nja,njb->jab", weighted, phi) / phi.shape[0]
            factors[f"activation_{index}"] = {"c": c}
    return factors


def initial_state(shape: MlpArchitecture, dtype: jnp.dtype = jnp.float32) -> KfacState:
    """Empty averages; the first batch replaces them whole."""
    factors: Factors = {}
    for index in range(len(shape.maps)):
        n_in, n_out = shape.map_capacity(index)
        a, s = jnp.zeros((1 + n_in, 1 + n_in), dtype), jnp.zeros((n_out, n_out), dtype)
        factors[f"map_{index}"] = {"a": a, "s": s, "a_inverse": a, "s_inverse": s}
        if index < len(shape.hidden) and shape.hidden[index].activation == "rational":
            c = jnp.zeros((n_out, 3, 3), dtype)
            factors[f"activation_{index}"] = {"c": c, "c_inverse": c}
    zero = jnp.zeros((), jnp.int32)
    return KfacState(zero, dict.fromkeys(factors, zero), jnp.ones((), bool), factors)


def invert(
    shape: MlpArchitecture,
    factors: Factors,
    widths: jax.Array,
    damping: float,
    input_factor: Spectrum | None,
) -> Factors:
    """The factors with damped inverses made anew."""
    counts = active_counts(shape, widths)
    result: Factors = {}
    for index in range(len(shape.maps)):
        a, s = factors[f"map_{index}"]["a"], factors[f"map_{index}"]["s"]
        n_a, n_s = counts[index] + 1, counts[index + 1]
        damp_a, damp_s = kronecker.damping_split(a, s, n_a, n_s, damping)
        if index == 0 and input_factor is not None:
            a_inverse = kronecker.spectral_inverse(input_factor, damp_a)
        else:
            a_inverse = kronecker.inverse(a, damp_a)
        s_inverse = kronecker.inverse(s, damp_s)
        result[f"map_{index}"] = {"a": a, "s": s, "a_inverse": a_inverse, "s_inverse": s_inverse}
        name = f"activation_{index}"
        if name in factors:
            c = factors[name]["c"]
            inverse = jnp.linalg.inv(c + damping * jnp.eye(3, dtype=c.dtype))
            result[name] = {"c": c, "c_inverse": inverse}
    return result


def update(
    settings: KfacSettings,
    shape: MlpArchitecture,
    state: KfacState,
    batch: Factors,
    widths: jax.Array,
    input_factor: Spectrum | None,
) -> KfacState:
    """The state after one more batch: averages updated, inverses every `invert_every` steps.

    The average's weight for old values is min(1 - 1/k, decay) at the k-th batch, so the first
    batches count in full (Martens and Grosse, 2015, section 5).
    """
    ages = {name: age + 1 for name, age in state.ages.items()}
    factors: Factors = {}
    for name, old in state.factors.items():
        decay = jnp.minimum(1.0 - 1.0 / ages[name], settings.moving_average)
        factors[name] = dict(old)
        for symbol, new in batch[name].items():
            mean = decay * old[symbol] + (1.0 - decay) * new
            factors[name][symbol] = mean.astype(old[symbol].dtype)
    if input_factor is not None:
        # The exact moment; averaging batches would only add noise to it.
        factors["map_0"]["a"] = input_factor.matrix
    due = state.stale | (state.seen % settings.invert_every == 0)
    factors = jax.lax.cond(
        due,
        lambda f: invert(shape, f, widths, settings.damping, input_factor),
        lambda f: f,
        factors,
    )
    return KfacState(state.seen + 1, ages, jnp.zeros((), bool), factors)


def precondition(shape: MlpArchitecture, state: KfacState, gradient: Parameters) -> Parameters:
    """F^-1 g with the block-diagonal Kronecker approximation: A^-1 dW S^-1 for every map."""
    direction: Parameters = {}
    for m in shape.maps:
        f = state.factors[m.name]
        direction[m.name] = split(m, f["a_inverse"] @ joined(m, gradient[m.name]) @ f["s_inverse"])
        name = m.target.coefficients
        if name is not None:
            c_inverse, g = state.factors[name]["c_inverse"], gradient[name]["coefficients"]
            direction[name] = {"coefficients": jnp.einsum("jab,bj->aj", c_inverse, g)}
    return direction
