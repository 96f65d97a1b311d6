"""What `senn transfer` reads from the run that it starts from, and what it keeps of that in a file.

`transfer.json` of a run that was transferred holds `format`; `origin`, see `Origin.to_json`;
`chain`, the origins of that origin, the oldest first; `settings`, the `transfer` section; and
`arrays`, what became of every array. What `senn import` writes has the same file, whose origin is a
file of weights (`source` is `import`, `run` null). Nothing here imports JAX until arrays are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from senn_cli.errors import MISFORMED, RunError, UsageError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json
from senn_cli.runs import layout, rows
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.network import Place, checkpoint_arrays, place_of
from senn_cli.runs.newest import newest_good
from senn_cli.runs.weights import ARCHITECTURE, load_weights

TRANSFER = "transfer.json"
"""The file of a run directory that says where its network came from."""

FORMAT = 1

_STATE = ("optimizer/", "curvature/")


@dataclass(frozen=True, eq=False)
class Origin:
    """A network that another run goes on from.

    Attributes:
      path: where its arrays lie: a checkpoint, or a directory of weights.
      run: its run directory, or None for weights without one.
      name: of its run.
      step: how long it was trained; None where nothing tells.
      source: what the arrays were read from.
      architecture: with its capacities.
      arrays: by name, such as `params/map_0/kernel`; from a checkpoint also `optimizer/...` and
        `curvature/...`.
      digest: SHA-256 of the parameters, the same for weights and a checkpoint of one moment.
      chain: the origins that it comes from itself, the oldest first, as `to_json` gives them.
      notes: what was out of the ordinary, in sentences.
    """

    path: Path
    run: Path | None
    name: str
    step: int | None
    source: Literal["weights", "checkpoint"]
    architecture: Architecture
    arrays: Mapping[str, np.ndarray]
    digest: str
    chain: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Name, step and the beginning of the digest."""
        step = "" if self.step is None else f" at step {self.step}"
        return f"{self.name}{step} ({self.digest[:12]})"

    def to_json(self) -> dict[str, Any]:
        """Everything but the arrays and the chain."""
        return {
            "name": self.name,
            "run": None if self.run is None else str(self.run),
            "path": str(self.path),
            "step": self.step,
            "source": self.source,
            "digest": self.digest,
            "kind": self.architecture.kind,
            "inputs": self.architecture.inputs,
            "hidden": list(self.architecture.widths),
            "outputs": self.architecture.outputs,
        }


def read_origin(path: Path, kind: str, *, state: bool = False) -> Origin:
    """Reads the network in `path`: a run, one of its checkpoints, its `weights`, or an import.

    Of a run it takes the final weights; of one that has not ended, or where `state` is wanted, the
    newest checkpoint that can be restored.

    Args:
      kind: the kind of network that is wanted, such as `mlp`.
      state: whether the optimizer's and the curvature's state are wanted too.

    Raises:
      RunError: a file of it is damaged, or an array has another shape or type than its architecture
        says.
      UsageError: there is no network, it is of another kind, or `state` is wanted of weights.
    """
    path, place = path.absolute(), place_of(path)
    if place.step is not None:
        return _of_checkpoint(place, kind)
    there = (place.path / ARCHITECTURE).is_file()
    if (path / "spec.yaml").is_file():
        ended = there and RunDirectory.open(path).summary() is not None
        return _of_weights(place.path, kind) if ended and not state else _newest(path, kind)
    if there or path.name == "weights":
        path = place.path
        if state:
            raise UsageError(
                f"{path} holds no state of an optimizer or a curvature, which transfer.optimizer "
                "or transfer.curvature wants to keep",
                hint="Name the run, or one of its checkpoints: RUN/checkpoints/STEP.",
            )
        return _of_weights(path, kind)
    what = "holds neither spec.yaml nor weights" if path.is_dir() else "does not exist"
    raise UsageError(
        f"{path} is no run to transfer from: it {what}",
        hint="Name a run directory, RUN/checkpoints/STEP, RUN/weights or what `senn import` wrote.",
    )


def read_transfer(run: Path) -> dict[str, Any] | None:
    """The content of a run's `transfer.json`; None for a run that started from random weights.

    Args:
      run: its directory, or that of an import.

    Raises:
      RunError: it is damaged.
    """
    path = run / TRANSFER
    try:
        value = json.loads(path.read_bytes())
        sound = isinstance(value["origin"], dict) and isinstance(value["chain"], list)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except MISFORMED as error:
        raise RunError(f"{path} is damaged: {error!r}") from error
    if not sound:
        raise RunError(f"{path} is damaged: its origin is no mapping, or its chain no list")
    for link in (*value["chain"], value["origin"]):
        if not isinstance(link, dict):
            raise RunError(f"{path} is damaged: a link of its chain is no mapping")
        rows.check(f"{path}: origin", link, rows.ORIGIN, "name", "path")
    return dict(value)


def origins(run: Path) -> tuple[dict[str, Any], ...]:
    """The origins that a run comes from, the oldest first and its own last; none for most runs.

    Raises:
      RunError: its `transfer.json` is damaged.
    """
    found = read_transfer(run)
    return () if found is None else (*found["chain"], found["origin"])


def require_from_scratch(run: Path) -> None:
    """Raises `RunError` for a transferred run that has no checkpoint: its start is not to be had.

    A transfer saves its start before the directory counts as a run, so it was removed.
    """
    if (found := read_transfer(run)) is not None:
        raise RunError(
            f"{run} was transferred from {found['origin'].get('name')}, and none of its "
            "checkpoints is left to go on from",
            hint=f"Start again with: senn transfer --from {found['origin'].get('path')} SPEC",
        )


def require_trained(run: Path) -> None:
    """Raises `UsageError` for a directory of imported weights, which no run has left."""
    found = read_transfer(run)
    if found is not None and found["origin"].get("source") == "import":
        raise UsageError(
            f"{run} holds an imported network: there is no training to go on with",
            hint=f"Train it further with: senn transfer --from {run} SPEC",
        )


def _newest(run: Path, kind: str) -> Origin:
    """From the newest checkpoint of a run that can be restored."""
    places = run / layout.CHECKPOINTS
    found = newest_good(
        CheckpointStore(places, None),
        lambda step: _of_checkpoint(Place(layout.step_path(places, step), run, step), kind),
    )
    left_out = [f"The checkpoint of step {step} is left out: {why}" for step, why in found.failed]
    if found.value is None:
        if left_out:
            raise RunError("\n".join([f"{run} has no network to transfer.", *left_out]))
        raise RunError(
            f"{run} has no network to transfer: it has saved nothing yet",
            hint=f"Let it go on: senn resume {run}",
        )
    return replace(found.value, notes=tuple(left_out))


def _of_checkpoint(place: Place, kind: str) -> Origin:
    assert place.step is not None
    described = place.store.meta(place.step).get("architecture")  # RunError where not complete
    architecture = _architecture(described, place.path / layout.META, kind)
    arrays = checkpoint_arrays(place, architecture)
    kept = {n: a for n, a in arrays.items() if n.startswith(("params/", *_STATE))}
    return _origin(place.path, place.run, place.step, "checkpoint", architecture, kept)


def _of_weights(path: Path, kind: str) -> Origin:
    try:
        described = json.loads((path / ARCHITECTURE).read_bytes())["architecture"]
    except FileNotFoundError as error:
        raise RunError(f"{path / ARCHITECTURE} does not exist: no complete weights") from error
    except (OSError, *MISFORMED) as error:
        raise RunError(f"{path / ARCHITECTURE} is damaged: {error!r}") from error
    _architecture(described, path / ARCHITECTURE, kind)
    architecture, tree = load_weights(path)
    arrays = {
        f"params/{part}/{leaf}": np.asarray(array)
        for part, leaves in tree.items()
        for leaf, array in leaves.items()
    }
    run = path.parent if (path.parent / "spec.yaml").is_file() else None
    summary = {} if run is None else RunDirectory.open(run).summary() or {}
    step = summary.get("weights_step", summary.get("steps"))
    return _origin(path, run, step, "weights", architecture, arrays)


def _origin(
    path: Path,
    run: Path | None,
    step: int | None,
    source: Literal["weights", "checkpoint"],
    architecture: Architecture,
    arrays: Mapping[str, np.ndarray],
) -> Origin:
    from senn_cli.spec import load_spec

    known = run is not None and (run / "spec.yaml").is_file()
    name = load_spec(run / "spec.yaml").name if run is not None and known else path.parent.name
    chain = origins(path.parent) if source == "weights" else origins(run) if run else ()
    return Origin(path, run, name, step, source, architecture, arrays, digest_of(arrays), chain)


def _architecture(value: Any, path: Path, kind: str) -> Architecture:
    """The architecture that a file describes, of the kind that is wanted."""
    found = value.get("kind") if isinstance(value, dict) else None
    if isinstance(found, str) and found != kind:
        raise UsageError(
            f"{path.parent} holds the weights of a network of kind {found}, but network.kind of "
            f"the spec is {kind}",
            hint=f"A network moves to a spec of its own kind: `network: {found}`.",
        )
    try:
        architecture = architecture_from_json(value)
        if min(architecture.inputs, architecture.outputs) < 1:
            raise ValueError(f"{architecture.inputs} inputs, {architecture.outputs} outputs")
    except MISFORMED as error:
        raise RunError(f"{path}: the architecture is damaged: {error!r}") from error
    return architecture


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, types, shapes and bytes of all arrays that are parameters."""
    value = hashlib.sha256()
    for name in sorted(name for name in arrays if name.startswith("params/")):
        array = np.ascontiguousarray(arrays[name])
        value.update(f"{name} {array.dtype.name} {array.shape}\n".encode())
        value.update(array.tobytes())
    return value.hexdigest()
