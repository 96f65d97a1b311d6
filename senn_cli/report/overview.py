"""A run's present architecture, and all that is known of a run as one JSON document.

The architecture comes from a checkpoint or the weights where they are as new as the history. A
live run saves rarely, so that its history is often ahead of them; then widths and capacities come
from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any, Literal

from senn_cli.nets.architecture import Layer
from senn_cli.nets.features import Architecture
from senn_cli.nets.tables import map_rows
from senn_cli.report.audit import Audit, audit
from senn_cli.report.record import Record, checkpoint_steps
from senn_cli.report.saved import saved_architectures
from senn_cli.report.timeline import timeline
from senn_cli.report.tracks import inserted_at, starting_widths, tracks
from senn_cli.spec.activation import Activation

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
        saved = dict(saved_architectures(record)).get("weights")
        if saved is not None:
            return _saved(saved, record.ending["end"]["step"], "weights")
    newest, last = _newest_row(record), record.last_step
    for source, architecture in saved_architectures(record):
        agrees = newest is None or (
            list(architecture.widths) == newest["hidden"]
            and list(architecture.capacities)
            == newest.get("capacities", [*architecture.capacities])
        )
        if agrees:
            steps = checkpoint_steps(record.path) if newest is None else ()
            return _saved(architecture, max((last, *steps)), source)
    return _from_history(record, newest)


def _saved(
    architecture: Architecture, step: int, source: Literal["checkpoint", "weights"]
) -> Shape:
    return Shape(architecture.kind, step, source, site_rows(architecture), architecture.parameters)


def site_rows(architecture: Architecture) -> tuple[SiteRow, ...]:
    """A row for every map."""
    return tuple(
        SiteRow(row.site, *row.units, row.inputs[0], row.parameters[0], row.activation)
        for row in map_rows(architecture)
    )


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
    rows = _told(record, widths, capacities, _of_another_step(record))
    parameters = newest.get("parameters") if newest else None
    return Shape(record.kind, record.last_step, "history", rows, parameters)


def _of_another_step(record: Record) -> Architecture | None:
    """What is saved: inputs, outputs, buds and how layers are connected are always the same."""
    return next((found for _, found in saved_architectures(replace(record, step=None))), None)


def last_architecture(record: Record) -> Architecture | None:
    """The architecture with the layers of `tracks` in their last widths, without spare capacity.

    None as long as nothing is saved, or where it does not tell how these layers are connected.

    Raises:
      RunError: what is saved is damaged.
    """
    widths = [track.widths[-1] for track in tracks(record)]
    return _rebuilt(record, widths, [None] * len(widths), _of_another_step(record))


def _rebuilt(
    record: Record,
    widths: Sequence[int],
    capacities: Sequence[int | None],
    saved: Architecture | None,
) -> Architecture | None:
    """`saved` with these layers instead of its own; None where their blocks are not known."""
    groups = [track.group for track in tracks(record)]
    blocks = None if saved is None or len(groups) != len(widths) else _blocks(saved, groups)
    if saved is None or blocks is None:
        return None
    activations = _activations(record, len(widths), saved)
    layers = [
        Layer(width, max(width, capacity or 0), activation)
        for width, capacity, activation in zip(widths, capacities, activations, strict=True)
    ]
    return saved.with_blocks([[layers[index] for index in block] for block in blocks])


def _told(
    record: Record,
    widths: Sequence[int],
    capacities: Sequence[int | None],
    saved: Architecture | None,
) -> tuple[SiteRow, ...]:
    """The rows of a network with these layers; `saved` tells what the history does not.

    Without it data, outputs and buds are not known, and what a layer reads only where the layers
    follow each other.
    """
    grown = [(track.group, track.name) for track in tracks(record)]
    if len(grown) != len(widths):
        grown = [("", f"layer {index}") for index in range(len(widths))]
    rebuilt = _rebuilt(record, widths, capacities, saved)
    if rebuilt is not None:
        unknown = {name for _, name in grown} if None in capacities else ()
        rows = site_rows(rebuilt)
        return tuple(replace(r, capacity=None) if r.site in unknown else r for r in rows)
    activations = _activations(record, len(widths), saved)
    inputs: int | None = None
    found: list[SiteRow] = []
    for (group, name), width, capacity, activation in zip(
        grown, widths, capacities, activations, strict=True
    ):
        own = 1 + 3 * (activation == "rational")  # the bias and coefficients
        parameters = None if inputs is None else (inputs + own) * width
        found.append(SiteRow(name, width, capacity, inputs, parameters, activation))
        inputs = None if group or saved is not None else width
    outputs = None if saved is None else saved.outputs
    return (*found, SiteRow("output", outputs, outputs, inputs, None, ""))


def _blocks(saved: Architecture, groups: Sequence[str]) -> list[range] | None:
    """The numbers of the hidden layers of every block; None where nothing tells of which it is."""
    sizes = [len(block) for block in saved.blocks]
    if len(groups) != sum(sizes):
        counts = Counter(groups)
        sizes = list(counts.values()) if len(sizes) > 1 else [len(groups)]
        if len(sizes) != len(saved.blocks):
            return None
    ends = list(accumulate(sizes))
    return [range(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def _activations(record: Record, count: int, saved: Architecture | None) -> tuple[Activation, ...]:
    """The spec's activation, and rational of what was inserted in a map, as its identity."""
    default = "rational" if saved is None or not saved.hidden else saved.hidden[0].activation
    first: Activation = record.spec.get("network", {}).get("activation", default)
    found = [first] * len(starting_widths(record))
    for event in record.accepted:
        if event["edit"] == "insert_layer":
            found.insert(inserted_at(event), "rational" if "map" in event else first)
    return tuple(found) if len(found) == count else (first,) * count


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
    with `rounds` (the attributes of `AuditedRound`), `prunings` and `additions` (those of
    `AtOnce`, or null) and the other attributes of `Audit`.
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
    parts = ("prunings", "additions", "own")
    found = {name: getattr(audited, name) for name in parts}
    plain = {name: None if part is None else dict(vars(part)) for name, part in found.items()}
    return dict(vars(audited)) | {"rounds": [dict(vars(r)) for r in audited.rounds]} | plain
