"""What a run's files may hold: every field that is read has its kind, checked where it is read.

A run's files are plain, so that anyone can edit them. What is of another kind than senn writes is
an error that names the file, the line and the field; whatever views and uses a run may rely on the
rest. Fields that are missing or null were not measured, but for those that a row cannot do without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from senn_cli.errors import RunError
from senn_cli.words import plural

LARGEST = 1e100
"""No real number of a run is larger: losses are float32, in the units of the targets at most."""

_MOST = 2**53
_SHOWN = 40


class Kind(NamedTuple):
    """What a field may hold.

    Attributes:
      words: what is expected, for messages.
      holds: whether a value is of the kind.
    """

    words: str
    holds: Callable[[Any], bool]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and math.isfinite(value) and abs(value) <= LARGEST


def _all(value: Any, holds: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(holds, value))


WHOLE = Kind(f"a whole number from 0 to {_MOST}", _is_whole)
NUMBER = Kind(f"a finite number up to {LARGEST:g}", _is_number)
TEXT = Kind("a text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WIDTHS = Kind("a list of whole numbers", lambda value: _all(value, _is_whole))
TEXTS = Kind("a list of texts", lambda value: _all(value, lambda one: isinstance(one, str)))
NUMBERS = Kind(
    "an object of numbers",
    lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
OBJECTS = Kind("a list of objects", lambda value: _all(value, lambda one: isinstance(one, dict)))
BLOCKS = Kind("a list of lists of whole numbers", lambda value: _all(value, WIDTHS.holds))
BEST = Kind(
    "an object with metric, step and value",
    lambda value: (
        isinstance(value, dict)
        and TEXT.holds(value.get("metric"))
        and _is_whole(value.get("step"))
        and _is_number(value.get("value"))
    ),
)
END = Kind(
    "an object with restored, and with metric, step and value where that is true",
    lambda value: (
        isinstance(value, dict)
        and isinstance(value.get("restored"), bool)
        and (BEST.holds(value) or not value["restored"])
    ),
)
SEED = Kind("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool))


def _kinds(kind: Kind, *names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, kind)


_MEASURED = _kinds(
    NUMBER,
    *(f"{part}_{what}" for part in ("train", "validation", "test") for what in ("loss", "mse")),
    *(f"{part}_accuracy" for part in ("train", "validation", "test")),
    "epoch",
    "eta",
    "learning_rate",
)
_SCORE = {
    **_kinds(NUMBER, "delta_eta", "delta_eta_lower", "bias", "eta", "score", "ratio"),
    **_kinds(TEXT, "kind", "site"),
    "layer": WHOLE,
    "passes": FLAG,
}

METRICS = {
    **_MEASURED,
    **_kinds(WHOLE, "step", "parameters", "eta_step"),
    "hidden": WIDTHS,
    "seconds": NUMBER,
}
"""The fields of a row of `metrics.jsonl`."""

HISTORY = {
    **_MEASURED,
    **_SCORE,
    **_kinds(WHOLE, "step", "map", "neurons", "neuron", "capacity", "parameters"),
    **_kinds(NUMBER, "threshold", "stop", "bound", "predicted_gain", "loss_before", "loss_after"),
    **_kinds(NUMBER, "predicted_change", "realised_change"),
    **_kinds(TEXT, "edit", "reason", "side"),
    **_kinds(WIDTHS, "hidden", "capacities", "channels"),
    "accepted": FLAG,
    "candidates": OBJECTS,
    **_kinds(NUMBERS, "seconds", "fork", "newborn"),
    "origin": OBJECT,
    "end": END,
}
"""The fields of a line of `history.jsonl`."""

SUMMARY = {
    **_MEASURED,
    **_kinds(TEXT, "name", "status", "policy", "run_directory"),
    **_kinds(WHOLE, "parameters", "events", "compilations", "cache_hits", "steps", "weights_step"),
    "best": BEST,
    "stopped_early": FLAG,
    "seed": SEED,
    "epochs": NUMBER,
    "hidden": WIDTHS,
    **_kinds(NUMBERS, "seconds", "compiled"),
    **_kinds(OBJECT, "effort", "programs"),
}
"""The fields of `summary.json`."""

ENVIRONMENT = {
    **_kinds(TEXT, "senn", "time", "device", "python", "platform"),
    **_kinds(TEXTS, "command", "devices"),
    **_kinds(OBJECT, "packages", "variables"),
}
"""The fields of `environment.json`."""

RESUMED = {**_kinds(TEXT, "time"), "step": WHOLE, "overrides": TEXTS}
"""The fields of a line of `resumed.jsonl`."""

ORIGIN = {
    **_kinds(TEXT, "name", "run", "path", "source", "digest", "kind"),
    **_kinds(WHOLE, "step", "inputs", "outputs"),
    "hidden": WIDTHS,
}
"""The fields of a link of the chain in `transfer.json`."""

SPEC = {
    **_kinds(OBJECT, "data", "network", "optimizer", "expansion", "training", "record"),
    "name": TEXT,
    "seed": SEED,
    "network.hidden": WIDTHS,
    "network.blocks": BLOCKS,
    "expansion.dormant": OBJECT,
    "expansion.dormant.bud_factor": NUMBER,
    **_kinds(NUMBER, "training.steps", "training.epochs"),
}
"""What views read of a resolved spec, by dotted names."""

EDITS = ("add_neurons", "insert_layer", "prune_neurons", "enlarge_capacity")


def check(where: str, row: Mapping[str, Any], fields: Mapping[str, Kind], *needed: str) -> None:
    """Checks the fields of a row.

    Args:
      where: the file, with the line where it has several rows.
      row: from JSON.
      fields: the kinds of fields by name; others are not read.
      needed: fields that must be there.

    Raises:
      RunError: names the first field that is of another kind, or missing.
    """
    for name, value in row.items():
        kind = fields.get(name)
        if kind is not None and value is not None and not kind.holds(value):
            raise _fault(where, name, kind, value)
    for name in needed:
        if row.get(name) is None:
            raise _fault(where, name, fields[name], None)


def check_spec(path: object, spec: Mapping[str, Any]) -> None:
    """Checks what views read of a resolved spec; RunError names the first fault."""
    found: dict[str, Any] = {}
    for name in SPEC:
        value: Any = spec
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        found[name] = value
    check(str(path), found, SPEC)


def _fault(where: str, name: str, kind: Kind, value: Any) -> RunError:
    return RunError(
        f"{where}: {name} should be {kind.words}, found {_shown(value)}",
        hint="The file was changed by hand or is damaged; put back what stood there.",
    )


def check_metrics(path: object, rows: Sequence[Mapping[str, Any]]) -> None:
    """Checks all rows of `metrics.jsonl`; RunError names the first fault by its line."""
    for number, row in enumerate(rows, start=1):
        check_metric(f"{path}:{number}", row)


def check_metric(where: str, row: Mapping[str, Any]) -> None:
    """Checks one row of metrics; RunError as `check` raises it."""
    check(where, row, METRICS, "step")


def check_history(path: object, rows: Sequence[Mapping[str, Any]]) -> None:
    """Checks all lines of `history.jsonl`, also against each other.

    The widths of every accepted edit must follow from those before: one more layer where one was
    inserted, and the layer that is named among them.

    Raises:
      RunError: names the first fault by its line.
    """
    layers: int | None = None
    for number, row in enumerate(rows, start=1):
        where = f"{path}:{number}"
        check_event(where, row)
        if not row.get("accepted"):
            continue
        count, inserted = len(row["hidden"]), row["edit"] == "insert_layer"
        if layers is not None and count != layers + inserted:
            before = f"{plural(layers, 'layer')} stood before it"
            has = plural(count, "layer")
            raise RunError(f"{where}: hidden has {has} after {row['edit']}, but {before}")
        layers = count


def check_event(where: str, row: Mapping[str, Any]) -> None:
    """Checks one line of the history; RunError as `check` raises it."""
    if row.get("origin") is not None:
        check(where, row, HISTORY)
        return
    check(where, row, HISTORY, "step")
    for index, candidate in enumerate(row.get("candidates") or ()):
        check(f"{where}: candidates[{index}]", candidate, _SCORE)
    if not row.get("accepted"):
        return
    check(where, row, HISTORY, "step", "hidden", "edit")
    edit = row["edit"]
    if edit not in EDITS:
        raise RunError(f"{where}: edit should be one of {', '.join(EDITS)}, found {_shown(edit)}")
    if edit == "enlarge_capacity":
        return
    named = edit == "insert_layer" and row.get("layer") is None
    place = "map" if named else "layer"
    check(where, row, HISTORY, place, *(("neurons",) if edit == "add_neurons" else ()))
    at = row[place]
    if at >= len(row["hidden"]):
        has = plural(len(row["hidden"]), "layer")
        raise RunError(f"{where}: {place} is {at}, but hidden has {has}")
    if edit == "add_neurons" and row["neurons"] > row["hidden"][at]:
        found = f"{plural(row['neurons'], 'neuron was', 'neurons were')} added to layer {at}"
        raise RunError(f"{where}: {found}, which has {row['hidden'][at]} afterwards")


def _shown(value: Any) -> str:
    """A value in a message: short, and nothing of a container."""
    if value is None:
        return "nothing"
    if isinstance(value, int) and abs(value) > _MOST:
        return "a larger number"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
