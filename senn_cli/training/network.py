"""A growing network in training: its architecture with all state that has its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from senn_cli.curvature import kfac, tracking
from senn_cli.curvature.kfac import KfacSettings
from senn_cli.growth.carry import edit_curvature, edit_optimizer
from senn_cli.growth.conv_carry import edit_images
from senn_cli.growth.edits import AddNeurons, EnlargeCapacity, edit_architecture
from senn_cli.growth.surgery import edit_parameters
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import ArrayTree
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.state import TrainState


@dataclass(frozen=True)
class Network:
    """An architecture, the training state of its shape, and its widths on the device."""

    architecture: AnyArchitecture
    state: TrainState
    widths: jax.Array


def widths_of(architecture: AnyArchitecture) -> np.ndarray:
    """The dynamic argument that tells compiled functions what is in use."""
    return np.asarray(architecture.widths, np.int32)


def new_network(architecture: AnyArchitecture, params: ArrayTree, optimizer: Optimizer) -> Network:
    """A network about to be trained, on the device."""
    curvature: Any = None
    if isinstance(architecture, DenseArchitecture):
        if optimizer.tracking is not None:
            curvature = tracking.initial(architecture.shape(), optimizer.tracking)
    elif isinstance(optimizer.solver, KfacSettings):
        curvature = kfac.initial_state(architecture.shape())
    state = TrainState(np.int32(0), params, optimizer.transform.init(params), curvature)  # type: ignore[arg-type]
    return on_device(architecture, jax.device_get(state))


def on_device(architecture: AnyArchitecture, state: Any) -> Network:
    """A network from a state in NumPy arrays."""
    # Optax makes some scalars without a fixed dtype; compiled programs want to know.
    state, widths = jax.device_put((jax.tree.map(np.asarray, state), widths_of(architecture)))
    return Network(architecture, state, widths)


def apply_edits(
    network: Network, edits: list[Any], optimizer: Optimizer, rule: CapacityRule
) -> Network:
    """The network after `edits`, in order; its state goes to the host once and back once."""
    if not edits:
        return network
    host: Any = jax.device_get(network.state)
    architecture = network.architecture
    natural = optimizer.solver is not None
    for edit in edits:
        if isinstance(architecture, DenseArchitecture):
            settings = None if optimizer.tracking is None else optimizer.tracking.settings
            host, architecture = edit_images(
                host, architecture, edit, natural=natural, settings=settings
            )
            continue
        after = edit_architecture(architecture, edit, rule)
        params = host.params
        host = host._replace(
            params=edit_parameters(params, architecture, edit, after),
            optimizer=edit_optimizer(host.optimizer, architecture, edit, after, natural=natural),
            curvature=edit_curvature(host.curvature, params, architecture, edit, after),
        )
        architecture = after
    return on_device(architecture, host)


def capacity_edits(architecture: AnyArchitecture, edit: Any, rule: CapacityRule) -> list[Any]:
    """`edit`, with the enlargement that it needs before it if there is no room."""
    if not isinstance(edit, AddNeurons) or not isinstance(architecture, MlpArchitecture):
        return [edit]
    layer = architecture.hidden[edit.layer]
    width = layer.width + edit.weights.shape[1]
    if width <= layer.capacity:
        return [edit]
    return [EnlargeCapacity(edit.layer, rule.room(width, layer.capacity)), edit]
