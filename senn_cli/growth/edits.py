"""Edits: changes of architecture, applied to everything that has its shape (ingredient 1).

An edit is plain data. `edit_architecture` here, `edit_parameters` (surgery.py), `edit_optimizer`
and `edit_curvature` (carry.py) apply it, on the host in NumPy, so that no edit compiles anything.
All keep the function that the network computes, but for pruning, which changes it as little as the
remaining neurons allow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from senn_cli.nets.architecture import Activation, CapacityRule, Layer
from senn_cli.nets.mlp import MlpArchitecture


@dataclass(frozen=True, eq=False)
class AddNeurons:
    """Neurons for hidden layer `layer`; their output weights start at zero.

    Attributes:
      weights: input weights, `(1 + n_in, k)` over the inputs in use, the bias first.
      coefficients: `(3, k)`, for rational layers, else None.
      moments: E[a a^T], `(1 + width + k, 1 + width + k)`, on one sample: second moments of the
        constant, the layer's neurons in use and the new ones; for the curvature. None if unknown.
    """

    layer: int
    weights: np.ndarray
    coefficients: np.ndarray | None
    moments: np.ndarray | None = None
    name: str = "add_neurons"


@dataclass(frozen=True, eq=False)
class InsertLayer:
    """A layer of `q` rational neurons within map `map`, at the identity.

    Attributes:
      side: `inputs`: W becomes W_q, then W_q^-1 W; `outputs`: W W_q, then W_q^-1.
      weights: W_q with its bias in row 0, `(1 + q, q)`; invertible without the bias.
    """

    map: int
    side: Literal["inputs", "outputs"]
    weights: np.ndarray
    name: str = "insert_layer"


@dataclass(frozen=True)
class EnlargeCapacity:
    """Room for `capacity` neurons in hidden layer `layer`."""

    layer: int
    capacity: int
    name: str = "enlarge_capacity"


@dataclass(frozen=True, eq=False)
class PruneNeuron:
    """Takes neuron `neuron` out of hidden layer `layer`.

    Attributes:
      compensation: how the rest stands in for it, `(1 + width,)` over the constant and all
        neurons in use (its own entry ignored): its activation is replaced by that combination of
        theirs, A_cc^-1 A_cp (optimal brain surgeon, section 3.5). None for no compensation.
    """

    layer: int
    neuron: int
    compensation: np.ndarray | None = None
    name: str = "prune_neurons"


Edit = AddNeurons | InsertLayer | EnlargeCapacity | PruneNeuron


def floored(kernel: np.ndarray, floor: float) -> np.ndarray:
    """`kernel` (q, q) with singular values of at least `floor` times their mean (appendix B).

    Or times 1 where that is larger: beside biases of order one, a kernel that is small as a whole
    would lose the function's precision just as one with a small singular value does.
    """
    u, values, vt = np.linalg.svd(np.asarray(kernel, np.float64))
    result: np.ndarray = (u * np.maximum(values, floor * max(values.mean(), 1.0))) @ vt
    return result


def edit_architecture(
    architecture: MlpArchitecture, edit: Edit, rule: CapacityRule | None = None
) -> MlpArchitecture:
    """The architecture after `edit`; `rule` gives an inserted layer its capacity (else its width).

    Raises:
      ValueError: there is no room for added neurons, or no neuron would remain.
    """
    if isinstance(edit, EnlargeCapacity):
        return architecture.with_layer(edit.layer, capacity=edit.capacity)
    if isinstance(edit, AddNeurons):
        width = architecture.hidden[edit.layer].width + edit.weights.shape[1]
        return architecture.with_layer(edit.layer, width=width)
    if isinstance(edit, PruneNeuron):
        return architecture.with_layer(edit.layer, width=architecture.hidden[edit.layer].width - 1)
    q = edit.weights.shape[1]
    activation: Activation = "rational"  # the only one that can be the identity
    layer = Layer(q, rule.room(q) if rule is not None else q, activation)
    hidden = (*architecture.hidden[: edit.map], layer, *architecture.hidden[edit.map :])
    return replace(architecture, hidden=hidden)


def describe(edit: Edit) -> dict[str, Any]:
    """The edit's line in the history: its name and place, without weights."""
    if isinstance(edit, AddNeurons):
        return {"edit": edit.name, "layer": edit.layer, "neurons": int(edit.weights.shape[1])}
    if isinstance(edit, InsertLayer):
        width = int(edit.weights.shape[1])
        return {"edit": edit.name, "map": edit.map, "side": edit.side, "neurons": width}
    if isinstance(edit, EnlargeCapacity):
        return {"edit": edit.name, "layer": edit.layer, "capacity": edit.capacity}
    return {"edit": edit.name, "layer": edit.layer, "neuron": edit.neuron}
