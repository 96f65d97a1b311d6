"""A training run at one moment as a flat set of arrays and a JSON document, and back.

Arrays have names such as `params/map_0/kernel`, `optimizer/0/mu/map_0/bias` or
`curvature/factors/maps/map_1/s/solver`. The architecture stands in the document; names, shapes and
types of all arrays follow from it, so that nothing is ever restored into the wrong place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from senn_cli.errors import MISFORMED, RunError
from senn_cli.growth.policy import Kept
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json, initial_parameters
from senn_cli.training.best import Best
from senn_cli.training.network import Network, TrainState, new_network, on_device
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.step import Progress, no_progress


@dataclass(frozen=True)
class GrowthMemory:
    """What growth remembers between rounds: plain values, part of every checkpoint.

    Attributes:
      last_layer_step: the step at which the last layer was inserted.
      accepted: neurons and layers added so far.
      pending: whether a round is due at the present step that has not been carried out.
      idle: rounds in a row that have added nothing.
      kept: what the policy's rounds keep for later ones.
      rest: the step before which no round is due.
      ended: the step at which growth has ended for good; None where it has not.
    """

    last_layer_step: int | None = None
    accepted: int = 0
    pending: bool = False
    idle: int = 0
    kept: Kept = ()
    rest: int = 0
    ended: int | None = None

    def layer_allowed(self, step: int, every: int) -> bool:
        """Whether the cooldown since the last inserted layer has passed."""
        return self.last_layer_step is None or step - self.last_layer_step >= every


@dataclass(frozen=True)
class Moment:
    """Everything that changes during a run.

    Attributes:
      network: architecture and training state.
      progress: sums since the last row of metrics.
      memory: what growth remembers.
      best: the best evaluation so far.
    """

    network: Network
    progress: Progress
    memory: GrowthMemory
    best: Best = field(default_factory=Best)

    @property
    def step(self) -> int:
        """Steps taken."""
        return int(self.network.state.step)


def arrays_of(moment: Moment) -> dict[str, Any]:
    """All arrays of the moment, by name."""
    return _flat(moment.network.state, moment.progress)


def document_of(moment: Moment) -> dict[str, Any]:
    """What belongs to the arrays, as JSON has it: architecture, growth memory, best evaluation."""
    return {
        "architecture": moment.network.architecture.to_json(),
        "growth": asdict(moment.memory),
        "best": asdict(moment.best),
    }


def expected_arrays(
    architecture: Architecture, optimizer: Optimizer
) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and type of every array of a run with this architecture and optimizer, by name."""
    state, progress = _blank(architecture, optimizer)
    return {
        name: (tuple(leaf.shape), np.dtype(leaf.dtype))
        for name, leaf in _flat(state, progress).items()
    }


def architecture_in(document: Mapping[str, Any]) -> Architecture:
    """The architecture in a checkpoint's document.

    Raises:
      RunError: there is none, or it is damaged.
    """
    try:
        found = architecture_from_json(document["architecture"])
        if min(found.inputs, found.outputs) < 1:
            raise ValueError(f"{found.inputs} inputs and {found.outputs} outputs")
        return found
    except MISFORMED as error:
        raise RunError(f"the checkpoint's architecture is damaged: {error}") from error


def moment_from(
    arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any], optimizer: Optimizer
) -> Moment:
    """The moment that `arrays_of` and `document_of` described, on the device."""
    architecture = architecture_in(document)
    blank = _blank(architecture, optimizer)
    paths, structure = jax.tree_util.tree_flatten_with_path(blank)
    leaves = [arrays[_name(path)] for path, _ in paths]
    state, progress = jax.tree.unflatten(structure, leaves)
    memory = GrowthMemory(**document["growth"])
    memory = replace(memory, kept=tuple((step, value) for step, value in memory.kept))
    best = Best(**document.get("best", {}))  # older checkpoints have none
    return Moment(on_device(architecture, state), jax.device_put(progress), memory, best)


def _blank(architecture: Architecture, optimizer: Optimizer) -> tuple[TrainState, Progress]:
    """A state of the right structure with meaningless values."""
    network = new_network(architecture, initial_parameters(architecture, 0), optimizer)
    return network.state, no_progress()


def _flat(state: TrainState, progress: Progress) -> dict[str, Any]:
    paths, _ = jax.tree_util.tree_flatten_with_path((state, progress))
    return {_name(path): leaf for path, leaf in paths}


_PARTS = ("state", "progress")


def _name(path: tuple[Any, ...]) -> str:
    """`state/params/...` shortened to `params/...`; indices and fields joined by slashes."""
    words = []
    for key in path:
        for attribute in ("key", "name", "idx"):
            if hasattr(key, attribute):
                words.append(str(getattr(key, attribute)))
                break
    part = _PARTS[int(words[0])]
    return "/".join(words[1:] if part == "state" else [part, *words[1:]])
