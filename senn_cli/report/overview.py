"""A run's present architecture, and all that is known of a run as one JSON document.

The architecture comes from a checkpoint or the weights where they are as new as the history. A
live run saves rarely, so that its history is often ahead of them; then widths and capacities come
from there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

from senn_cli.errors import MISFORMED, RunError
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet import TAPS, DenseArchitecture
from senn_cli.nets.features import Map, present
from senn_cli.nets.kinds import AnyArchitecture, architecture_from_json
from senn_cli.report.audit import Audit, audit
from senn_cli.report.record import Record, checkpoint_steps
from senn_cli.report.timeline import timeline
from senn_cli.report.tracks import starting_widths, tracks

FORMAT = 1
"""Version of the JSON documents; a change of what a key means would raise it."""

CURVES = (
    "epoch",
    "train_loss",
    "validation_loss",
    "validation_accuracy",
    "validation_mse",
    "eta",
    "learning_rate",
    "parameters",
)
"""The columns of the metrics that the JSON document has beside `step`."""


@dataclass(frozen=True)
class SiteRow:
    """A linear map with the neurons that it feeds; None is what no file tells yet.

    Attributes:
      site: `layer 0`, ... as in the history, then `output`.
      width, capacity: neurons in use and allocated.
      inputs: in use, the bias not counted.
      parameters: in use: kernel, bias and coefficients.
      activation: empty for the output.
    """

    site: str
    width: int | None
    capacity: int | None
    inputs: int | None
    parameters: int | None
    activation: str


@dataclass(frozen=True)
class Shape:
    """An architecture as far as it is known.

    Attributes:
      kind: of the network, such as `mlp`.
      step: when the network had it.
      source: what tells of it.
      rows: the sites, the output last.
      parameters: all in use.
    """

    kind: str
    step: int
    source: Literal["checkpoint", "weights", "history"]
    rows: tuple[SiteRow, ...]
    parameters: int | None


def site_rows(
    widths: Sequence[int],
    capacities: Sequence[int | None],
    activations: Sequence[str],
    inputs: int | None,
    outputs: int | None,
) -> tuple[SiteRow, ...]:
    """The rows of a fully connected network."""
    rows = []
    sizes = zip((*widths, outputs), (*capacities, outputs), (*activations, ""), strict=True)
    for index, (width, capacity, activation) in enumerate(sizes):
        own = 1 + 3 * (activation == "rational")  # the bias and coefficients
        known = width is not None and inputs is not None
        rows.append(
            SiteRow(
                site=f"layer {index}" if index < len(widths) else "output",
                width=width,
                capacity=capacity,
                inputs=inputs,
                parameters=(inputs + own) * width if known else None,  # type: ignore[operator]
                activation=activation,
            )
        )
        inputs = width
    return tuple(rows)


def shape(record: Record) -> Shape:
    """The architecture at the step that was asked for, or the newest that the files tell of.

    Raises:
      RunError: a checkpoint is damaged.
    """
    if record.step is not None:
        saved = record.architecture
        if saved is None:
            return replace(_from_history(record, _newest_row(record)), step=record.step)
        return _saved(saved, record.step, "checkpoint")
    if record.ending is not None and record.ending["end"]["restored"]:
        saved = dict(_candidates(record)).get("weights")
        if saved is not None:
            return _saved(saved, record.ending["end"]["step"], "weights")
    newest, last = _newest_row(record), record.last_step
    for source, architecture in _candidates(record):
        agrees = newest is None or (
            list(architecture.widths) == newest["hidden"]
            and list(architecture.capacities)
            == newest.get("capacities", [*architecture.capacities])
        )
        if agrees:
            steps = checkpoint_steps(record.path) if newest is None else ()
            return _saved(architecture, max((last, *steps)), source)
    return _from_history(record, newest)


def _conv_row(architecture: DenseArchitecture, wire: Map) -> SiteRow:
    """A map of a convolutional network."""
    head, read = wire.target.role == "outputs", sum(source.feature.width for source in wire.sources)
    name = "output" if head else architecture.site(wire.target.index).replace("layer", "bud")
    return SiteRow(
        site=architecture.site(wire.target.index) if wire.target.role == "hidden" else name,
        width=present(wire.target),
        capacity=wire.target.capacity,
        inputs=read,
        parameters=(read + 1) * present(wire.target)
        if head
        else TAPS * read * present(wire.target),
        activation="" if head else architecture.hidden[wire.target.index].activation,
    )


def _saved(
    architecture: AnyArchitecture, step: int, source: Literal["checkpoint", "weights"]
) -> Shape:
    activations = [layer.activation for layer in architecture.hidden]
    if isinstance(architecture, DenseArchitecture):
        rows = tuple(map(partial(_conv_row, architecture), architecture.maps))
        return Shape(architecture.kind, step, source, rows, architecture.parameters)
    rows = site_rows(
        architecture.widths,
        architecture.capacities,
        activations,
        architecture.inputs,
        architecture.outputs,
    )
    return Shape(architecture.kind, step, source, rows, architecture.parameters)


def _candidates(record: Record) -> list[tuple[Literal["checkpoint", "weights"], AnyArchitecture]]:
    """What is saved, the checkpoint first."""
    try:
        checkpoint = record.architecture
    except RunError:
        if record.status != "running":
            raise
        checkpoint = None  # removed by the run between the listing and the reading
    found: list[tuple[Literal["checkpoint", "weights"], AnyArchitecture]] = []
    if checkpoint is not None:
        found.append(("checkpoint", checkpoint))
    weights = record.path / "weights" / "architecture.json"
    try:
        value = json.loads(weights.read_bytes())["architecture"]
        found.append(("weights", architecture_from_json(value)))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, *MISFORMED) as error:
        raise RunError(f"{weights} is damaged: {error}") from error
    return found


def _newest_row(record: Record) -> dict[str, Any] | None:
    """The newest row that tells the widths; of one step, growth comes after the evaluation."""
    rows = [
        row for row in (*record.metrics[-1:], *record.history[-1:]) if row.get("hidden") is not None
    ]
    return max(reversed(rows), key=lambda row: int(row["step"]), default=None)


def _from_history(record: Record, newest: dict[str, Any] | None) -> Shape:
    widths = [int(w) for w in newest["hidden"]] if newest else list(starting_widths(record))
    told: list[int] = next((event.get("capacities") or [] for event in record.history[-1:]), [])
    capacities = told if len(told) == len(widths) else [None] * len(widths)
    # Of another step, but inputs, outputs and buds are always the same.
    saved = next((found for _, found in _candidates(replace(record, step=None))), None)
    if record.is_densenet:
        rows = _dense_rows(record, widths, capacities, saved)
    else:
        rows = site_rows(
            widths,
            capacities,
            _activations(record, len(widths)),
            None if saved is None else saved.inputs,
            None if saved is None else saved.outputs,
        )
    kind = str(record.spec.get("network", {}).get("kind", "mlp"))
    parameters = newest.get("parameters") if newest else None
    return Shape(kind, record.last_step, "history", rows, parameters)


def _dense_rows(
    record: Record,
    widths: Sequence[int],
    capacities: Sequence[int | None],
    saved: AnyArchitecture | None,
) -> tuple[SiteRow, ...]:
    """The rows of a DenseNet of these layers; `saved` tells what the history does not.

    Without it the images and buds are not known, and so neither inputs nor parameters.
    """
    grown = tracks(record)
    known = [c for c in capacities if c is not None]
    if isinstance(saved, DenseArchitecture) and len(known) == len(grown) == len(widths):
        blocks: dict[str, list[Layer]] = {}
        for track, width, capacity in zip(grown, widths, known, strict=True):
            layer = Layer(width, capacity, saved.hidden[0].activation)
            blocks.setdefault(track.group, []).append(layer)
        architecture = replace(saved, blocks=tuple(map(tuple, blocks.values())))
        return tuple(map(partial(_conv_row, architecture), architecture.maps))
    activation = str(record.spec.get("network", {}).get("activation", "silu"))
    rows = [
        SiteRow(track.name, width, capacity, None, None, activation)
        for track, width, capacity in zip(grown, widths, capacities, strict=True)
    ]
    outputs = None if saved is None else saved.outputs
    return (*rows, SiteRow("output", outputs, outputs, None, None, ""))


def _activations(record: Record, count: int) -> list[str]:
    """The spec's activation for the first layers, rational for inserted ones: the identity."""
    first = str(record.spec.get("network", {}).get("activation", "rational"))
    found = [first] * len(starting_widths(record))
    for event in record.accepted:
        if event["edit"] == "insert_layer":
            found.insert(int(event.get("layer", event.get("map", 0))), "rational")
    return found if len(found) == count else [first] * count


def architecture_document(record: Record) -> dict[str, Any]:
    """What `senn inspect architecture --json` prints.

    Keys: `format`, `path`, `name`, `status`, and `architecture` with `kind`, `step`, `source`
    (`checkpoint`, `weights` or `history`), `parameters`, and `sites`, each with the attributes of
    `SiteRow`. Null is what no file tells yet.
    """
    found = shape(record)
    sites = [asdict(row) for row in found.rows]
    known = {"kind": found.kind, "step": found.step, "source": found.source}
    return _heading(record) | {
        "architecture": known | {"parameters": found.parameters, "sites": sites}
    }


def history_document(record: Record, *, rejected: bool = False) -> dict[str, Any]:
    """What `senn inspect history --json` prints.

    Keys: `format`, `path`, `name`, `status`; `history`, a list of `Entry.to_json`; and `audit`
    with `rounds` (the attributes of `AuditedRound`), `prunings` (those of `Prunings`, or null) and
    the other attributes of `Audit`.
    """
    audited = audit(record)
    return _heading(record) | {
        "history": [entry.to_json() for entry in timeline(record, audited, rejected=rejected)],
        "audit": _audit(audited),
    }


def document(record: Record, *, rejected: bool = False) -> dict[str, Any]:
    """What `senn inspect overview --json` prints: the two documents above in one, and more.

    Keys beside theirs: `last_step`; `seed`; `policy`; `summary` (`summary.json`, null while there
    is none); `tracks`, the attributes of `Track` for every hidden layer; `curves`, the columns
    `step` and `CURVES` of the metrics; `resumed`, the lines of `resumed.jsonl`.
    """
    curves = {key: [row.get(key) for row in record.metrics] for key in ("step", *CURVES)}
    return (
        architecture_document(record)
        | {
            "last_step": record.last_step,
            "seed": record.spec.get("seed"),
            "policy": record.spec.get("expansion", {}).get("policy"),
            "summary": record.summary,
            "tracks": [asdict(track) for track in tracks(record)],
            "curves": curves,
            "resumed": list(record.resumed),
        }
        | history_document(record, rejected=rejected)
    )


def _heading(record: Record) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "path": str(record.path),
        "name": record.name,
        "status": record.status,
    }


def _audit(audited: Audit) -> dict[str, Any]:
    # Not `asdict`, which copies deeply and takes its time over thousands of rounds.
    prunings = None if audited.prunings is None else dict(vars(audited.prunings))
    rounds = [dict(vars(found)) for found in audited.rounds]
    return dict(vars(audited)) | {"rounds": rounds, "prunings": prunings}
