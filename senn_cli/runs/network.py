"""Where a path has its network, and reading it: a run, one of its checkpoints, or weights.

`RUN` stands for its final weights, `RUN/checkpoints/600` for the network of that step,
`RUN/checkpoints/best` for that of the best evaluation so far; `RUN/weights` and what `senn import`
wrote hold weights too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from senn_cli.errors import MISFORMED, RunError, UsageError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json, initial_parameters
from senn_cli.runs import layout
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.document import read_document
from senn_cli.runs.weights import ARCHITECTURE, load_weights


@dataclass(frozen=True)
class Place:
    """Where a network lies; nothing of it has been read.

    Attributes:
      path: the checkpoint, or the directory of weights.
      run: the directory that it belongs to, a run's or an import's; for other weights what holds
        them.
      step: of a checkpoint; None for weights.
    """

    path: Path
    run: Path
    step: int | None = None

    @property
    def store(self) -> CheckpointStore:
        """The checkpoints beside this one."""
        return CheckpointStore(self.path.parent, None)


def place_of(path: Path) -> Place:
    """Where the network lies that `path` names; whether it can be read is not looked at.

    Raises:
      UsageError: a checkpoint is named that is not there.
    """
    path = path.absolute()
    if (path / "spec.yaml").is_file():
        return Place(path / "weights", path)
    for name in layout.PLACES:
        parts = Path(name).parts
        if path.parts[-1 - len(parts) : -1] == parts and path.name.isdecimal():
            return _checkpoint(path, path.parents[len(parts)])
    if path.parts[-2:] == Path(layout.BEST).parts:
        *_, best = layout.complete_steps(path) or (None,)
        if best is None:
            raise UsageError(
                f"{path.parent.parent} has kept no best network",
                hint="A spec has it kept by `checkpoints: {best: validation_loss}` or by "
                "`training: {stop: validation_loss}`.",
            )
        return Place(layout.step_path(path, best), path.parent.parent, best)
    bare = path.name == "weights" or (path / ARCHITECTURE).is_file()
    return Place(path, path.parent) if bare else Place(path / "weights", path)


def _checkpoint(path: Path, run: Path) -> Place:
    if not path.exists():
        there = ", ".join(map(str, layout.complete_steps(path.parent))) or "none"
        raise UsageError(
            f"{run} has no checkpoint of step {path.name}; {path.parent.name} has: {there}",
            hint="checkpoints.keep and checkpoints.keep_every in a spec say how many are kept.",
        )
    return Place(path, run, int(path.name))


def read_network(place: Place) -> tuple[Architecture, dict[str, dict[str, NDArray[Any]]]]:
    """The architecture and parameters at a place, at capacity.

    Raises:
      RunError: there are none, they are damaged, or not as the architecture says.
    """
    if place.step is None:
        return load_weights(place.path)
    described = place.store.meta(place.step).get("architecture", {})
    try:
        architecture = architecture_from_json(described)
    except MISFORMED as error:
        raise RunError(f"{place.path}: the architecture is damaged: {error!r}") from error
    params: dict[str, dict[str, NDArray[Any]]] = {}
    for name, array in checkpoint_arrays(place, architecture).items():
        section, _, rest = name.partition("/")
        if section == "params":
            part, _, leaf = rest.rpartition("/")
            params.setdefault(part, {})[leaf] = array
    return architecture, params


def checkpoint_arrays(place: Place, architecture: Architecture) -> dict[str, NDArray[Any]]:
    """All arrays of a checkpoint by name, whatever optimizer it is of; every checksum is compared.

    Raises:
      RunError: they are damaged, or the parameters not those of `architecture`.
    """
    assert place.step is not None
    file = place.path / layout.META
    table: Mapping[str, Any] = read_document(file, place.step)["arrays"]
    for part, leaves in initial_parameters(architecture, 0).items():
        for leaf, wanted in leaves.items():
            entry = table.get(name := f"params/{part}/{leaf}")
            found = "none" if entry is None else f"{entry['dtype']}{tuple(entry['shape'])}"
            if found != (form := f"{wanted.dtype}{wanted.shape}"):
                raise RunError(f"{place.path}: the array {name} is {found}, expected {form}")
    try:
        expected = {n: (tuple(e["shape"]), np.dtype(e["dtype"])) for n, e in table.items()}
    except (TypeError, ValueError) as error:
        raise RunError(f"{file} is damaged: {error}") from error
    return place.store.restore(place.step, expected)
