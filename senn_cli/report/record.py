"""A run as its plain files tell it, finished or still going on; nothing here needs JAX."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from senn_cli.errors import MISFORMED, RunError, UsageError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json, kind_named, kinds
from senn_cli.runs import layout
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.document import read_document
from senn_cli.runs.holder import Holder
from senn_cli.runs.lock import LOCK
from senn_cli.runs.network import place_of
from senn_cli.runs.rows import check_spec

NATURAL = "natural_gradient"
Status = Literal["running", "finished", "interrupted", "diverged"]


@dataclass(frozen=True)
class Record:
    """A run, read at one moment.

    Attributes:
      path: its directory, absolute.
      spec: the resolved spec as plain values.
      environment: versions, devices, command; empty where it was not written.
      metrics: a row an evaluation, in order.
      history: a line a decision, in order.
      origin: what the history begins with where the network came from another run, else None.
      summary: the result, or None while there is none.
      resumed: a line a resumption.
      status: whether a process still trains it, and else how it ended.
      step: the step that was asked for (see `read`), or None: everything after it is left out.
      checkpoint: the one that was named instead of the run, else None.
      ending: the history's last line where the run was stopped early or restored its best network,
        whose `end` has `metric`, `step`, `value`, `stopped` and `restored`; else None.
    """

    path: Path
    spec: dict[str, Any]
    environment: dict[str, Any]
    metrics: tuple[dict[str, Any], ...]
    history: tuple[dict[str, Any], ...]
    origin: dict[str, Any] | None
    summary: dict[str, Any] | None
    resumed: tuple[dict[str, Any], ...]
    status: Status
    step: int | None = None
    checkpoint: Path | None = None
    ending: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The spec's name."""
        return str(self.spec.get("name", self.path.name))

    @property
    def figure(self) -> Literal["accuracy", "mse"]:
        """What is measured beside the loss."""
        rows = (*self.metrics, self.summary or {})
        return "mse" if any(key.endswith("_mse") for row in rows for key in row) else "accuracy"

    @property
    def proposals(self) -> Literal["search", "dormant"]:
        """Where proposals of growth come from; a spec may leave it to the kind of network."""
        named = self.spec.get("expansion", {}).get("proposals")
        dormant = named == "dormant" or (named is None and self.buds)
        return "dormant" if dormant else "search"

    @property
    def buds(self) -> bool:
        """Whether it is a network in blocks, whose new layers come from buds."""
        return "blocks" in self.spec.get("network", {})

    @property
    def kind(self) -> str:
        """The kind of network, such as `mlp`."""
        return str(self.spec.get("network", {}).get("kind", "mlp"))

    @property
    def unit(self) -> str:
        """What its hidden layers are made of: `neuron`, `channel`."""
        try:
            return kind_named(self.kind).unit
        except ValueError:  # of a senn that knows more kinds
            return "unit"

    @property
    def accepted(self) -> tuple[dict[str, Any], ...]:
        """The events that changed the network, enlarged capacities included."""
        return tuple(event for event in self.history if event.get("accepted"))

    @property
    def last_step(self) -> int:
        """The last step that the files know of."""
        rows = (*self.metrics[-1:], *self.history[-1:])
        return max((int(row.get("step", 0)) for row in rows), default=0)

    @cached_property
    def architecture(self) -> Architecture | None:
        """The architecture in the checkpoint of `step`, or in the newest one.

        None where there is none. See `report.overview.shape` for one that always is.

        Raises:
          RunError: what should hold it is damaged.
        """
        if self.checkpoint is not None:
            return _architecture_in(self.checkpoint)
        return architecture_at(self.path, self.step)


def unit_of(records: Iterable[Record]) -> str:
    """What the hidden layers of all these runs are made of: `unit` where that differs."""
    units: set[str] = {record.unit for record in records}
    return units.pop() if len(units) == 1 else "unit"


def labels(records: Sequence[Record], *, seeds_alone: bool = False) -> list[str]:
    """A short name for every run that no other has: its spec's, with its seed, or its directory.

    Args:
      records: the runs; what was read of one run up to different steps has different names, too.
      seeds_alone: leave the spec's name out where it is the same for several runs.
    """
    specs = [record.name for record in records]
    seeds = [f"seed {record.spec.get('seed')}" for record in records]
    both = [f"{name}, {seed}" for name, seed in zip(specs, seeds, strict=True)]
    folders = [record.path.name for record in records]
    steps = [f"{record.path}, step {record.last_step}" for record in records]
    same = seeds_alone and len(set(specs)) == 1 and len(records) > 1
    for choice in (seeds if same else specs, both, folders, steps):
        if len(set(choice)) == len(records):
            return choice
    return [str(record.path) for record in records]


def read_record(path: Path, step: int | None = None, known: RunDirectory | None = None) -> Record:
    """Reads the run in `path`, or the run that the checkpoint `path` belongs to, up to its step.

    Args:
      path: a run directory, one of its checkpoints (`RUN/checkpoints/<step>`,
        `RUN/checkpoints/best`), or `RUN/weights`.
      step: leave out what came after this step.
      known: the run's directory that remembers the rows it has read, see `GrowingRun`.

    Raises:
      RunError: a file in it is damaged.
      UsageError: there is no run, no such checkpoint, or another `step` is named beside it.
    """
    run, found = run_of(path)
    if step is not None and found is not None and found != step:
        raise UsageError(f"{path} is the checkpoint of step {found}, but --step names {step}")
    step = found if step is None else step
    opened = RunDirectory.open(run)
    directory = opened if known is None else known
    live = is_live(directory)  # asked first: what a run writes as it ends is then read, too
    spec = plain_spec(directory.spec_path)
    metrics = [scored(row, spec) for row in directory.metrics()]
    history, summary = directory.history(), directory.summary()
    if step is not None:
        rows = (*metrics[-1:], *history[-1:], {"step": (summary or {}).get("steps", 0)})
        last = max((*(int(row.get("step", 0)) for row in rows), *checkpoint_steps(run)[-1:]))
        if step > last:
            raise UsageError(f"{run} has come to step {last}; --step names {step}")
        metrics = [row for row in metrics if row.get("step", 0) <= step]
        history = [event for event in history if event.get("step", 0) <= step]
    return Record(
        path=directory.path,
        spec=spec,
        environment=directory.environment() or {},
        metrics=tuple(metrics),
        history=tuple(event for event in history if not {"origin", "end"} & event.keys()),
        origin=next((event["origin"] for event in history if "origin" in event), None),
        ending=next((event for event in history if "end" in event), None),
        summary=summary,
        resumed=tuple(directory.resumptions()),
        status=status_of(live, summary),
        step=step,
        checkpoint=None if found is None else place_of(path).path,
    )


def scored(row: dict[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """A row of metrics whose `eta` is one, or without it.

    Former versions wrote g^T d of the directions d of the steps under that name, for every
    optimizer; without natural gradients that is |g|^2 or the like. Rows whose curvature was tracked
    beside the steps were right, and have `eta_step` since.

    Args:
      spec: of the run, as plain values.
    """
    optimizer = spec.get("optimizer", {}).get("kind", NATURAL)
    if optimizer == NATURAL or "eta" not in row or "eta_step" in row:
        return row
    kind = spec.get("network", {}).get("kind")
    grows = spec.get("expansion", {}).get("policy") != "none"
    if kind in kinds() and kind_named(kind).tracked and grows:
        return row
    return {key: value for key, value in row.items() if key != "eta"}


def run_of(path: Path) -> tuple[Path, int | None]:
    """The run directory that `path` is or belongs to, and the step where it is a checkpoint.

    Raises:
      UsageError: it names a checkpoint that is not there.
    """
    place = place_of(path)
    return (
        (place.run, place.step) if (place.run / "spec.yaml").is_file() else (path.absolute(), None)
    )


def is_live(directory: RunDirectory) -> bool:
    """Whether a process works on the run."""
    try:
        content = (directory.path / LOCK).read_bytes()
    except OSError:
        return False
    holder = Holder.from_json(content)
    if holder is None:  # being written at this moment, or torn by a kill: then it has a part
        return not content
    # None is a process on another host: nobody can tell, so it is believed.
    return holder.alive() is not False


def status_of(live: bool, summary: dict[str, Any] | None) -> Status:
    """Whether the run goes on, and else how it ended."""
    if live:
        return "running"
    if summary is None:
        return "interrupted"
    return "diverged" if summary.get("status") == "diverged" else "finished"


def checkpoint_steps(run: Path) -> tuple[int, ...]:
    """Steps of the complete checkpoints of a run, its best moments included, ascending."""
    return tuple(sorted({s for name in layout.PLACES for s in layout.complete_steps(run / name)}))


def architecture_at(run: Path, step: int | None) -> Architecture | None:
    """The architecture in the checkpoint of `step`, or in the newest one; None where there is none.

    Raises:
      RunError: it is damaged.
    """
    steps = checkpoint_steps(run)
    wanted = step if step is not None else (steps[-1] if steps else None)
    if wanted is None or wanted not in steps:
        return None
    name = next(name for name in layout.PLACES if wanted in layout.complete_steps(run / name))
    return _architecture_in(layout.step_path(run / name, wanted))


def _architecture_in(checkpoint: Path) -> Architecture:
    path = checkpoint / layout.META
    document = read_document(path, int(checkpoint.name))
    try:
        return architecture_from_json(document["meta"]["architecture"])
    except MISFORMED as error:
        raise RunError(f"{path}: the architecture is damaged: {error}") from error


def plain_spec(path: Path) -> dict[str, Any]:
    """A resolved spec as plain values; what senn wrote itself is not validated again."""
    import yaml

    # The resolved spec is written so that YAML 1.1 and 1.2 agree on it.
    try:
        value = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise RunError(f"{path} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path} is damaged: expected a mapping")
    check_spec(path, value)
    return value
