"""A run that starts from another run's network: `senn transfer`.

The hidden layers are the origin's, with their capacities, so that every array of theirs is taken
bit for bit; the head, and if need be the map from the inputs, start anew. Every array of the new
run has a fate, which is told and kept in `transfer.json`: nothing is cast, cut or padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
import optax

from senn_cli.data.dataset import Dataset
from senn_cli.engine.device import choose_device
from senn_cli.engine.frozen import FrozenState
from senn_cli.errors import RunError, UsageError
from senn_cli.nets.features import Architecture, ArrayTree, feature_named, writer
from senn_cli.nets.registry import initial_parameters
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.files import write_atomic
from senn_cli.runs.free import require_free
from senn_cli.runs.jsonl import dumps
from senn_cli.spec import Duration, Spec, load_spec
from senn_cli.training.columns import require_same_columns
from senn_cli.training.destination import (
    adopted,
    destination,
    frozen_entries,
    head_of,
    other_inputs,
)
from senn_cli.training.loop import Trainer
from senn_cli.training.network import Network, new_network
from senn_cli.training.observer import Observer, Observers
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.origin import FORMAT, TRANSFER, Origin, read_origin
from senn_cli.training.run import Run, new_run
from senn_cli.training.saving import Saver, data_digest
from senn_cli.training.snapshot import GrowthMemory, Moment, arrays_of, document_of, moment_from
from senn_cli.training.step import no_progress

Outcome = Literal["loaded", "re-initialised", "left out"]


@dataclass(frozen=True)
class Fate:
    """What became of one array.

    Attributes:
      array: its name, such as `params/map_0/kernel`.
      outcome: `left out` are arrays of the origin that the new run has no place for.
      reason: empty for arrays that were loaded.
      shape: in the new run; of arrays that were left out, in the origin.
    """

    array: str
    outcome: Outcome
    reason: str
    shape: tuple[int, ...]


Told = Callable[[Origin, tuple[Fate, ...]], None]


def transfer_run(
    spec: Spec,
    origin: Path,
    *,
    root: Path = Path("runs"),
    run_directory: Path | None = None,
    until: Duration | None = None,
    observers: Sequence[Observer] = (),
    told: Told = lambda origin, fates: None,
) -> Run:
    """Trains what `spec` describes, from the network in `origin`.

    The run's history begins with its origin, and its first checkpoint is that of step 0: it can be
    resumed without the origin.

    Args:
      origin: a run directory, one of its checkpoints, or its weights; see `read_origin`.
      told: given the origin and the fate of every array, before the run directory is made.

    Raises:
      RunError: the origin holds no network, or is damaged.
      UsageError, SpecError: origin, spec and data do not go together.
      DataError, DeviceError, DivergedError, InterruptedRun: as for `train_run`.
    """
    heard = Observers(observers)
    if run_directory is not None:
        require_free(run_directory)
    settings = spec.transfer
    choose_device(spec.device.kind, spec.gpu_memory, spec.deterministic)  # before Orbax starts JAX
    state = "keep" in (settings.optimizer, settings.curvature)
    found = read_origin(origin, spec.network.kind, state=state)
    spec, notes = adopted(spec, found)
    for note in (*found.notes, *notes):
        heard.note(note)
    if state:
        _require_same_state(spec, found)
    fates: tuple[Fate, ...] = ()

    def network(dataset: Dataset, optimizer: Optimizer) -> Network:
        nonlocal fates
        if settings.inputs == "keep":
            require_same_columns(found.run, dataset)
        start, fates = compose(found, dataset, spec, optimizer)
        told(found, fates)
        return start

    def prepare(directory: RunDirectory, dataset: Dataset, trainer: Trainer) -> None:
        _write(directory, spec, found, fates)
        directory.append_history(_event(found, trainer))
        saver = Saver(directory, spec.checkpoints, trainer, data_digest(dataset))
        saver.save(trainer.moment, wait=True)
        saver.finish()

    return new_run(
        spec,
        root=root,
        run_directory=run_directory,
        until=until,
        observers=[heard],
        network=network,
        prepare=prepare,
    )


def compose(
    origin: Origin, dataset: Dataset, spec: Spec, optimizer: Optimizer
) -> tuple[Network, tuple[Fate, ...]]:
    """The network to start from, on the device, and what became of every array.

    Raises:
      UsageError: as `destination` and `frozen_entries` do.
      RunError: an array of the origin has another shape or type than the new run needs.
    """
    settings = spec.transfer
    architecture, replaced = destination(origin, dataset, spec)
    params = initial_parameters(architecture, spec.seed)
    if settings.head == "zero":
        head = head_of(architecture)
        params[head] = {leaf: np.zeros_like(array) for leaf, array in params[head].items()}
    blank = Moment(new_network(architecture, params, optimizer), no_progress(), GrowthMemory())
    arrays = {name: np.asarray(a) for name, a in jax.device_get(arrays_of(blank)).items()}
    anew = _begun_anew(blank)
    drawn = dict.fromkeys(replaced, "its weights start anew")
    curved = drawn | other_inputs(origin.architecture, architecture, replaced)
    parts = {"params": replaced, "curvature": curved}
    fates = []
    for name, array in arrays.items():
        reason = _why_not(name, origin, spec, parts.get(name.partition("/")[0], drawn), anew)
        fates.append(Fate(name, "re-initialised" if reason else "loaded", reason, array.shape))
        if not reason:
            arrays[name] = _same_form(name, origin, array)
    _draw_proposals(arrays, params, origin.architecture, architecture)
    for name, mask in frozen_entries(architecture, settings.freeze, params, replaced).items():
        (place,) = (key for key in arrays if key.endswith(f"/frozen/{name}"))
        arrays[place] = mask
    fates += [
        Fate(name, "left out", "the new run has no such array", array.shape)
        for name, array in origin.arrays.items()
        if name not in arrays
    ]
    return moment_from(arrays, document_of(blank), optimizer).network, tuple(fates)


def _draw_proposals(
    arrays: dict[str, np.ndarray], drawn: ArrayTree, found: Architecture, after: Architecture
) -> None:
    """Input weights for units that are not in use: proposals of `after`, zero in the origin.

    Args:
      arrays: those of the new run; changed in place.
      drawn: its initial parameters.
    """
    for feature in after.features:
        if feature.role != "hidden" or feature.spare != "dormant":
            continue
        if feature_named(found, feature.name).spare == "dormant":
            continue
        for part in (writer(after, feature.name).name, feature.coefficients):
            for leaf, fresh in drawn.get(part or "", {}).items():
                array = arrays[f"params/{part}/{leaf}"].copy()
                array[..., feature.width :] = fresh[..., feature.width :]
                arrays[f"params/{part}/{leaf}"] = array


def _why_not(
    name: str, origin: Origin, spec: Spec, replaced: dict[str, str], anew: dict[str, str]
) -> str:
    """Why an array of the new run is not taken from the origin; empty where it is.

    Args:
      replaced: the parts that start anew, each with the reason for arrays of this section.
      anew: as `_begun_anew` gives it.
    """
    section = name.partition("/")[0]
    reason = next((why for part, why in replaced.items() if f"/{part}/" in f"/{name}/"), "")
    if section == "params":
        return reason
    if section not in ("optimizer", "curvature"):
        return "a run begins at step 0"
    if getattr(spec.transfer, section) == "reset":
        return f"transfer.{section} is reset"
    beginning = next((why for start, why in anew.items() if name.startswith(start)), "")
    if beginning or reason:
        return beginning or reason
    return "" if name in origin.arrays else "the origin has none"


def _begun_anew(blank: Moment) -> dict[str, str]:
    """State that belongs to the run and not to the network, by the beginning of its name."""
    # Inverses are made anew at its first batch.
    found = {"curvature/factors/seen": "it counts this run's batches"}
    for index, part in enumerate(blank.network.state.optimizer):
        if isinstance(part, optax.ScaleByScheduleState):
            found[f"optimizer/{index}/"] = "the schedule of the learning rate begins"
        if isinstance(part, FrozenState):
            found[f"optimizer/{index}/"] = "as transfer.freeze says"
    return found


def _same_form(name: str, origin: Origin, wanted: np.ndarray) -> np.ndarray:
    """The origin's array, which must be of the shape and type that the new run needs."""
    array = origin.arrays.get(name)
    expected = f"{wanted.dtype}{wanted.shape}"
    found = "none" if array is None else f"{array.dtype}{array.shape}"
    if array is None or found != expected:
        raise RunError(f"{origin.path}: the array {name} is {found}, expected {expected}")
    return array


def _require_same_state(spec: Spec, origin: Origin) -> None:
    """UsageError where the origin's optimizer or curvature means nothing to that of the spec."""
    assert origin.run is not None  # only checkpoints hold state, and those belong to a run
    ours, theirs = spec.optimizer, load_spec(origin.run / "spec.yaml").optimizer
    solvers = [getattr(one, "solver", None) for one in (ours, theirs)]
    words = [
        one.kind if solver is None else f"{one.kind} with solver {solver}"
        for one, solver in zip((ours, theirs), solvers, strict=True)
    ]
    for section in ("optimizer", "curvature"):
        if getattr(spec.transfer, section) != "keep":
            continue
        fits = words[0] == words[1]
        if section == "curvature":
            fits = solvers[0] == solvers[1] and solvers[0] in ("kfac", "ekfac")
        if not fits:
            raise UsageError(
                f"transfer.{section} is keep, but the optimizer of the spec is {words[0]} and that "
                f"of {origin.run} {words[1]}",
                hint=f"Leave transfer.{section} out: it then begins anew."
                if section == "optimizer"
                else "Only natural_gradient with solver kfac or ekfac has a curvature to keep.",
            )


def _write(directory: RunDirectory, spec: Spec, origin: Origin, fates: tuple[Fate, ...]) -> None:
    """Writes `transfer.json`."""
    content = {
        "format": FORMAT,
        "origin": origin.to_json(),
        "chain": list(origin.chain),
        "settings": spec.transfer.model_dump(mode="json"),
        "arrays": [asdict(fate) for fate in fates],
    }
    path = directory.path / TRANSFER
    try:
        write_atomic(path, dumps(content, indent=1) + "\n")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def _event(origin: Origin, trainer: Trainer) -> dict[str, Any]:
    """The first line of the history: no decision, but what all of them start from."""
    architecture = trainer.network.architecture
    part = "train" if trainer.validation is None else "validation"
    data = trainer.train if trainer.validation is None else trainer.validation
    with trainer.ledger.phase("evaluate"):
        loss, figure = trainer.measure(data, trainer.network)
    return {
        "step": 0,
        "epoch": 0.0,
        "edit": None,
        "accepted": False,
        "reason": f"transferred from {origin.words}",
        "threshold": None,
        "stop": None,
        "bound": None,
        "train_loss": None,  # not on a round's sample: the score's audit has no use for it
        "hidden": list(architecture.widths),
        "capacities": list(architecture.capacities),
        "parameters": architecture.parameters,
        "candidates": [],
        "seconds": {},
        "origin": origin.to_json()
        | {f"{part}_loss": loss, f"{part}_{trainer.measure.figure}": figure},
    }
