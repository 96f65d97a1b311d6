"""What `senn evaluate` kept of a run: confusions, calibration, right and wrong examples.

The page computes none of it: that takes the data and JAX. The file is plain, so that anyone can
edit it; what is not as senn writes it is an error.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from senn_cli.errors import MISFORMED, RunError
from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record
from senn_cli.words import quoted

SPLITS = ("test", "validation", "train")
"""The parts, that to be shown first."""

MOST_CLASSES = 40
"""Classes whose confusions are a picture; of more the most frequent mistakes are listed."""

MISTAKES = 30
"""Most frequent mistakes that are listed."""

_MEASURES = ("loss", "accuracy", "exact", "f1", "top5_accuracy", "mse", "rmse", "mae")
_OF_LABEL = ("accuracy", "precision", "recall", "f1", "support")


def evaluation(record: Record) -> dict[str, Any]:
    """`command`, which makes the file, and `found`, what it holds; None where there is none.

    `found` has `split`, `examples`, `measures` (by name, those that there are), `old` (whether the
    run has gone on since), `classes` and `confusion` (of up to `MOST_CLASSES`), `mistakes`
    (`[true, predicted, count]`, of more), `labels` (where several may hold: the name and
    `_OF_LABEL` of each), `calibration` (`error` and columns of its `bins`), and
    `shown` as the file has it. Of a step before the end nothing is shown.

    Raises:
      RunError: the file is damaged.
    """
    command = f"senn evaluate {quoted(record.path)}"
    if record.step is not None:
        return {"command": command, "found": None}
    paths = (record.path / f"evaluation-{split}.json" for split in SPLITS)
    path = next((path for path in paths if path.is_file()), None)
    return {"command": command, "found": None if path is None else _read(path, record, command)}


def _read(path: Path, record: Record, command: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
        found = _told(value)
        found["old"] = value["step"] != (record.summary or {}).get("steps")
        return found
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
    except MISFORMED as error:
        raise RunError(
            f"{path} is not as senn writes it: {type(error).__name__}: {error}",
            hint=f"Make it anew: {command}",
        ) from error


def _told(value: dict[str, Any]) -> dict[str, Any]:
    classes = [str(one["name"]) for one in value.get("classes", ())]
    found: dict[str, Any] = {
        "split": str(value["split"]),
        "examples": int(value["examples"]),
        "measures": {k: short(value[k]) for k in _MEASURES if value.get(k) is not None},
        "classes": classes,
        "confusion": None,
        "mistakes": [],
        "labels": [
            [str(one["name"]), *(short(one[key]) for key in _OF_LABEL)]
            for one in value.get("labels", ())
        ],
        "calibration": None,
        "shown": _shown(value["shown"]),
    }
    if classes:
        counts = [[int(count) for count in row] for row in value["confusion"]]
        if [len(row) for row in counts] != [len(classes)] * len(classes):
            raise ValueError("the confusions are not a row and a column a class")
        found |= _confusions(classes, counts)
    if value.get("calibration") is not None:
        bins = [one for one in value["calibration"]["bins"] if one["count"]]
        keys = ("low", "high", "count", "confidence", "accuracy")
        found["calibration"] = {"error": short(value["calibration"]["error"])}
        found["calibration"] |= {key: [short(one[key]) for one in bins] for key in keys}
    return found


def _confusions(classes: list[str], counts: list[list[int]]) -> dict[str, Any]:
    if len(classes) <= MOST_CLASSES:
        return {"confusion": counts}
    wrong: list[tuple[str, str, int]] = [
        (classes[i], classes[j], count)
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return {"mistakes": sorted(wrong, key=lambda one: -one[2])[:MISTAKES]}


def _shown(value: dict[str, Any]) -> dict[str, Any]:
    """The examples, each field of the kind that the page expects."""
    found: dict[str, Any] = {}
    if not value:
        return found
    found["columns"] = [str(name) for name in value["columns"]]
    found["more"] = int(value["more"])
    for key in ("wrong", "right", "furthest", "nearest"):
        if key in value:
            found[key] = [_example(one) for one in value[key]]
    if "points" in value:
        points = value["points"]
        found["points"] = {
            "targets": [str(name) for name in points["targets"]],
            "true": [list(map(short, column)) for column in points["true"]],
            "predicted": [list(map(short, column)) for column in points["predicted"]],
        }
    return found


def _example(value: dict[str, Any]) -> dict[str, Any]:
    found = {
        "id": int(value["id"]),
        "true": _answer(value["true"]),
        "predicted": _answer(value["predicted"]),
        "confidence": short(value.get("confidence")),
    }
    if "pixels" in value:
        height, width, channels = map(int, value["size"])
        if not (0 < height <= 256 and 0 < width <= 256 and channels in (1, 3)):
            raise ValueError(f"an image of {height} by {width} by {channels}")
        return found | {"size": [height, width, channels], "pixels": str(value["pixels"])}
    return found | {
        "values": [one if isinstance(one, str) else short(one) for one in value["values"]]
    }


def _answer(value: Any) -> Any:
    """A class's name, or the targets of a regression."""
    return value if isinstance(value, str) else [short(one) for one in value]
