"""Optimizers: a direction (plain or natural gradient), then Optax for the rest of the step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib

from senn_cli.curvature.kronecker import SMALLEST
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracking
from senn_cli.engine.ending import NEVER, Ending, Schedule, scale_by_rate
from senn_cli.engine.frozen import hold_frozen
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.trust import found, hold_trust, remember
from senn_cli.nets.leaves import is_kernel
from senn_cli.spec.optimizer import (
    AdamSpec,
    AdamWSpec,
    LionSpec,
    MuonSpec,
    NaturalGradientSpec,
    OptimizerSpec,
    RmsPropSpec,
    SgdSpec,
)
from senn_cli.spec.schedule import ScheduleSpec


@dataclass(frozen=True)
class CgSettings:
    """Options of conjugate gradients: damping, most iterations, relative tolerance."""

    damping: float
    iterations: int
    tolerance: float


@dataclass(frozen=True)
class RowsSettings:
    """Options of the exact solution by the examples' outputs (rows.py): damping."""

    damping: float


@dataclass(frozen=True)
class Optimizer:
    """How a gradient becomes a step.

    Attributes:
      transform: Optax's part: momentum or Adam, weight decay, the schedule.
      schedule: step, end of growth -> learning rate.
      waits: whether the schedule depends on the end of growth.
      solver: of the natural gradient, or None for a plain gradient.
      metric: on the outputs, for curvature and scores.
      kl_clip: bound on lr^2 d^T F d, or None.
      momentum: share of the last direction that a natural gradient repeats.
      adapts: whether the damping follows how well steps are foretold.
      clip: bound on the norm of the gradient, or None.
      dropout: share of the hidden units that a step leaves out.
      fixed_input_factor: whether KFAC may use the exact second moment of the inputs.
      tracking: how the curvature is tracked; None where it is not.
      compute_dtype: precision of a network's maps in training; None for float32.
      precision: JAX's name for the precision of float32 products there; None for its default.
      recompute: whether the way back of a step puts together anew what maps read.
    """

    transform: optax.GradientTransformationExtraArgs
    schedule: Schedule
    solver: CgSettings | RowsSettings | TrackSettings | None
    metric: Metric
    kl_clip: float | None = None
    momentum: float = 0.0
    adapts: bool = False
    waits: bool = False
    clip: float | None = None
    dropout: float = 0.0
    fixed_input_factor: bool = False
    tracking: Tracking | None = None
    compute_dtype: Any = None
    precision: str | None = None
    recompute: bool = False

    @property
    def in_step(self) -> bool:
        """Whether every step takes the curvature of its own batch.

        Then the length of every step is known exactly, d^T F d (update.py).
        """
        if isinstance(self.solver, TrackSettings):
            return self.tracking is not None and self.tracking.every is None
        return self.solver is not None

    def rate(self, step: Any, state: Any) -> jax.Array:
        """The learning rate of a step, given its number and the optimizer's state."""
        ending = found(state, Ending)
        return jnp.asarray(self.schedule(step, NEVER if ending is None else ending.ended))


RISE = 25.0
"""Peak of a one-cycle schedule over its start, at 10% of the steps."""


def make_schedule(
    spec: ScheduleSpec,
    peak: float,
    total_steps: int | None,
    steps_per_epoch: int,
    until: int | None = None,
) -> Schedule:
    """The learning rate of every step: constant, cosine to `final`, a plateau and a line to it, or
    Optax's one-cycle, repeated.

    Args:
      total_steps: length of the run; None (known in minutes only) allows just `constant`.
      until: the last step at which the network may grow; None where nothing says it.
    """
    warmup = spec.warmup.in_steps(steps_per_epoch) if spec.warmup is not None else 0
    if spec.kind == "wsd" and total_steps is not None:
        return _falling(spec, peak, total_steps, warmup, until)
    if spec.kind == "constant":
        rest: optax.Schedule = optax.constant_schedule(peak)
    elif total_steps is None:
        raise ValueError(f"schedule {spec.kind} needs a length in steps or epochs")
    elif spec.kind == "cosine":
        rest = optax.cosine_decay_schedule(peak, max(total_steps - warmup, 1), alpha=spec.final)
    else:
        # Optax counts the end from the start of the cycle, which is 25 times below the peak.
        final = 1.0 / (RISE * max(spec.final, 1e-6))
        # Cycles of equal length; what does not divide evenly lengthens the last ones.
        ends = [total_steps * (i + 1) // spec.cycles for i in range(spec.cycles)]
        lengths = [max(end - start, 1) for start, end in zip([0, *ends], ends, strict=False)]
        cycles = [
            optax.cosine_onecycle_schedule(
                length, peak, pct_start=0.1, div_factor=RISE, final_div_factor=final
            )
            for length in lengths
        ]
        rest = cycles[0] if len(cycles) == 1 else optax.join_schedules(cycles, ends[:-1])
    if warmup > 0:
        rise = optax.linear_schedule(0.0, peak, warmup)
        rest = optax.join_schedules([rise, rest], [warmup])
    return lambda step, ended=NEVER: rest(step)


def _falling(
    spec: ScheduleSpec, peak: float, total: int, warmup: int, until: int | None
) -> Schedule:
    """`wsd`: it falls from the end of growth, at the latest from its share, to the end of the run.

    So it always arrives, and an early end of growth leaves more steps to the fall, not fewer.
    """
    latest = spec.falls_from(total, until)
    assert latest is not None

    def rate(step: Any, ended: Any = NEVER) -> jax.Array:
        start = jnp.maximum(jnp.minimum(ended, latest), warmup)
        share = jnp.clip((step - start) / jnp.maximum(total - start, 1), 0.0, 1.0)
        risen = jnp.minimum(step / warmup, 1.0) if warmup else 1.0
        return peak * risen * (1.0 - (1.0 - spec.final) * share)

    return rate


def decayed(params: Any) -> Any:
    """Which parameters weight decay concerns: kernels, not biases or rational coefficients."""
    return {name: {leaf: is_kernel(leaf) for leaf in leaves} for name, leaves in params.items()}


def decay_weights(decay: float) -> optax.GradientTransformationExtraArgs:
    """Optax's part that adds decoupled weight decay (Loshchilov and Hutter, 2019).

    Its update takes the `share` of the learning rate that a trust region leaves to a step. A decay
    at the whole rate would outweigh shortened steps: where all of a step is noise of its batch,
    kernels would shrink, biases stay, and the network end in one class.
    """

    def update(
        updates: Any, state: Any, params: Any = None, *, share: Any = 1.0, **_: Any
    ) -> tuple[Any, Any]:
        def with_decay(u: Any, weight: Any, is_decayed: bool) -> Any:
            return u + share * decay * weight if is_decayed else u

        return jax.tree.map(with_decay, updates, params, decayed(params)), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)


def make_optimizer(
    spec: OptimizerSpec,
    objective: Objective,
    total_steps: int | None,
    steps_per_epoch: int,
    *,
    freezing: bool = False,
    until: int | None = None,
) -> Optimizer:
    """The optimizer that `spec` describes.

    Args:
      freezing: whether some parameters may have to stay fixed.
      until: the last step at which the network may grow; None where nothing says it.
    """
    schedule = make_schedule(spec.schedule, spec.learning_rate, total_steps, steps_per_epoch, until)
    waits = spec.schedule.kind == "wsd"
    finish = [
        decay_weights(spec.weight_decay),
        scale_by_rate(schedule) if waits else optax.scale_by_learning_rate(schedule),
        *([hold_trust(spec.damping)] if isinstance(spec, NaturalGradientSpec) else []),
        *([hold_frozen()] if freezing else []),
    ]
    transform = optax.chain(*_direction(spec), *finish)
    if not isinstance(spec, NaturalGradientSpec):
        return Optimizer(transform, schedule, None, objective.metric, waits=waits)
    solver: CgSettings | RowsSettings | TrackSettings
    tracking = None
    if spec.factored:
        solver = TrackSettings(spec.damping, spec.moving_average, spec.invert_every)
        if spec.solver == "ekfac":
            solver = replace(solver, method="ekfac", tolerance=spec.basis_tolerance)
        tracking = Tracking(solver, every=None)
    elif spec.solver == "rows":
        solver = RowsSettings(spec.damping)
    else:
        solver = CgSettings(spec.damping, spec.cg_iterations, spec.cg_tolerance)
    return Optimizer(
        transform=transform,
        schedule=schedule,
        solver=solver,
        metric=objective.metric if spec.metric == "auto" else spec.metric,
        kl_clip=spec.kl_clip,
        momentum=spec.momentum,
        adapts=spec.adapt_damping,
        waits=waits,
        tracking=tracking,
        fixed_input_factor=spec.fixed_input_factor and spec.factored,
    )


def _direction(spec: OptimizerSpec) -> list[optax.GradientTransformation]:
    """What turns gradients, or natural gradients, into the direction of a step."""
    match spec:
        case NaturalGradientSpec():
            return [remember()] if spec.momentum else []
        case SgdSpec():
            return [optax.trace(spec.momentum, nesterov=spec.nesterov)] if spec.momentum else []
        case AdamSpec() | AdamWSpec():
            return [optax.scale_by_adam(b1=spec.b1, b2=spec.b2, eps=spec.eps)]
        case RmsPropSpec():
            momentum = [optax.trace(spec.momentum)] if spec.momentum else []
            return [optax.scale_by_rms(decay=spec.decay, eps=spec.eps), *momentum]
        case LionSpec():
            return [optax.scale_by_lion(b1=spec.b1, b2=spec.b2)]
        case MuonSpec():
            return [_muon(spec)]


def _muon(spec: MuonSpec) -> optax.GradientTransformation:
    """Muon for kernels and Adam for the rest, which has no rows and columns to be orthogonal.

    A kernel (height, width, n_in, n_out) of a convolution is the matrix (height width n_in, n_out).
    Muon's factor by the shape of the matrix is left out: it would count spare capacity, which must
    be invisible. The orthogonalised matrix itself is the same with rows and columns of zeros.
    """
    kernels = optax.contrib.scale_by_muon(
        ns_steps=spec.iterations,
        beta=spec.beta,
        nesterov=spec.nesterov,
        weight_dimension_numbers=_as_matrices,
    )
    rest = optax.chain(
        optax.scale_by_adam(b1=spec.b1, b2=spec.b2, eps=spec.eps), optax.scale(spec.adam_share)
    )
    return optax.partition({"kernel": kernels, "rest": rest}, _labels)


def _labels(params: Any) -> Any:
    return jax.tree.map(lambda matrix: "kernel" if matrix else "rest", decayed(params))


def _as_matrices(params: Any) -> Any:
    numbers = optax.contrib.MuonDimensionNumbers
    return jax.tree.map(lambda kernel: numbers(tuple(range(kernel.ndim - 1)), -1), params)


def kl_scale(form: jax.Array, learning_rate: jax.Array, clip: float) -> jax.Array:
    """The factor <= 1 that keeps lr^2 d^T F d, about twice the step's KL divergence, below `clip`.

    Args:
      form: d^T F d under the batch's own Fisher matrix (`metric.output_form`). The g^T d of Ba,
        Grosse and Martens (2017) is that only where d = F^-1 g exactly; under the Kronecker
        approximation it understates the length of a step, and the loss jumps.
    """
    size = learning_rate**2 * jnp.maximum(form, 0.0)
    return jnp.minimum(1.0, jnp.sqrt(clip / jnp.maximum(size, SMALLEST)))


def norm_scale(square: jax.Array, clip: float) -> jax.Array:
    """The factor <= 1 that brings a gradient, the square of whose norm is given, to a norm `clip`.

    (F + damping I)^-1 g is linear in g, so that a natural gradient becomes that of the clipped
    gradient by the same factor.
    """
    return jnp.minimum(1.0, clip / jnp.maximum(jnp.sqrt(square), SMALLEST))
