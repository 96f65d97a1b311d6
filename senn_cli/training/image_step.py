"""The training step of a DenseNet: gradient, direction, Optax."""

from __future__ import annotations

from dataclasses import replace
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
from senn_cli.nets.densenet_flax import apply, update_mask
from senn_cli.nets.models import masks as masks_of
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
    masks = masks_of(shape, widths)
    bare = replace(shape, bud=0)

    def mean_loss(params: Any) -> jax.Array:
        signals = apply(bare, params, x, masks, compute_dtype=optimizer.compute_dtype)
        losses, _ = loss_and_gradient(task, signals.outputs, y)
        return jnp.mean(losses)

    with jax.default_matmul_precision(optimizer.precision):
        loss, found = jax.value_and_grad(mean_loss)(without_buds(bare, state.params))
    everything = with_buds(found, state.params)

    curvature = state.curvature
    if isinstance(curvature, Tracked) and optimizer.tracking is not None:
        curvature = observe_step(shape, optimizer.tracking, curvature, everything, state.step)
    used = update_mask(shape, masks)

    def only_trained(tree: Any) -> Any:
        tree = jax.tree.map(lambda u, a: jnp.where(u, a, 0), used, tree)
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


def without_buds(bare: DenseArchitecture, params: Any) -> Any:
    """The parameters that a network without buds has."""
    result = {}
    for wire in bare.maps:
        leaves = [source.leaf for source in wire.sources] + ["bias"] * (
            wire.target.role == "outputs"
        )
        result[wire.name] = {leaf: params[wire.name][leaf] for leaf in leaves}
    return result


def with_buds(tree: Any, params: Any) -> Any:
    """A tree of the parameters' structure, zero where `tree` has nothing: at buds."""
    return {
        name: {
            leaf: tree.get(name, {}).get(leaf, jnp.zeros_like(array))
            for leaf, array in leaves.items()
        }
        for name, leaves in params.items()
    }
