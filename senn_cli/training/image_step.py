"""The training step of a DenseNet: gradient, direction, Optax."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from senn_cli.curvature import fisher
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracked, observe_step, preconditioned
from senn_cli.engine.frozen import trained
from senn_cli.engine.objective import Task, loss_and_gradient
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import trained as trained_of
from senn_cli.nets.features import with_buds, without_buds
from senn_cli.nets.registry import apply, used
from senn_cli.training.optimizer import Optimizer, kl_scale
from senn_cli.training.state import TrainState

Result = tuple[TrainState, jax.Array, jax.Array, jax.Array]


def image_step(
    shape: DenseArchitecture,
    task: Task,
    optimizer: Optimizer,
    state: TrainState,
    widths: jax.Array,
    x: jax.Array,
    y: jax.Array,
) -> Result:
    """One step on the batch (x, y); the new state, mean loss, g^T d, and |update|^2.

    Buds contribute nothing to the outputs: the network is computed without them.
    """
    units = used(shape, widths)
    bare = shape.bare()

    def mean_loss(params: Any) -> jax.Array:
        signals = apply(bare, params, x, units, compute_dtype=optimizer.compute_dtype)
        losses, _ = loss_and_gradient(task, signals.outputs, y)
        return jnp.mean(losses)

    with jax.default_matmul_precision(optimizer.precision):
        loss, found = jax.value_and_grad(mean_loss)(without_buds(shape, state.params))
    everything = with_buds(found, state.params, jnp.zeros_like)

    curvature = state.curvature
    if isinstance(curvature, Tracked) and optimizer.tracking is not None:
        curvature = observe_step(shape, optimizer.tracking, curvature, everything, state.step)
    mask = trained_of(shape, units)

    def only_trained(tree: Any) -> Any:
        tree = jax.tree.map(lambda u, a: jnp.where(u, a, 0), mask, tree)
        return trained(tree, state.optimizer)

    gradient = direction = only_trained(everything)
    if isinstance(optimizer.solver, TrackSettings):
        assert isinstance(curvature, Tracked) and optimizer.tracking is not None
        found = preconditioned(shape, optimizer.tracking, curvature, gradient)
        direction = only_trained(found)
    eta = fisher.inner(gradient, direction)
    if optimizer.kl_clip is not None:
        scale = kl_scale(eta, jnp.asarray(optimizer.schedule(state.step)), optimizer.kl_clip)
        direction = jax.tree.map(lambda d: scale * d, direction)
    updates, inner = optimizer.transform.update(direction, state.optimizer, state.params)
    updates = only_trained(updates)  # weight decay knows of no masks
    params = optax.apply_updates(state.params, updates)
    size = fisher.inner(updates, updates)
    return TrainState(state.step + 1, params, inner, curvature), loss, eta, size
