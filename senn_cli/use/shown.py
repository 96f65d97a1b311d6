"""Examples to look at, with what a network answers: chosen from a part of the data, as plain JSON.

Of a classification the mistakes that it is surest of, of several labels those with most mistakes,
and right answers from all over the part; of a regression the nearest and the furthest predictions,
and predicted against true targets. Images are pixels of 8 bits, other examples are rows of named
numbers and words.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Part
from senn_cli.data.preprocessing import Preprocessing

EXAMPLES = 12
"""Of each sort."""

POINTS = 500
"""Predictions beside their targets."""

SIDE = 64
"""Pixels of the longer side of an image at most; larger ones are thinned out."""

COLUMNS = 12
"""Columns of a row that are shown."""


def shown(how: Preprocessing, outputs: Array, part: Part, targets: Sequence[str]) -> dict[str, Any]:
    """What to show of a part.

    Args:
      how: the run's preprocessing.
      outputs: the network's, `(N, k)`, finite.
      part: its examples, N >= 1, with the run's class numbers.
      targets: names of the targets of a regression.

    Returns:
      `columns`, the names of those that rows show (none for images), `more`, how many others there
      are, and lists of examples: `wrong` and `right`, or `furthest` and `nearest` with `points`
      (`true` and `predicted`, a list a target). An example has `id` (its row in the source), `true`
      and `predicted` (a class's name, or a list of numbers), of a classification `confidence`, and
      `size` (height, width, channels) with `pixels` (base64 of rows of bytes) or `values`. Where
      several labels may hold, an answer is all their names, and right where all are.
    """
    answers = how.answers(outputs)
    if how.task == "classification":
        picked, told = _classified(how, answers, part)
    elif how.task == "multilabel":
        picked, told = _labelled(how, answers, part)
    else:
        picked, told = _regressed(how, outputs, answers, part)
    rows = np.concatenate([np.asarray(places, int) for places in picked.values()])
    seen = _Seen(how, part.x[np.unique(rows)])
    lists = {
        name: [
            {"id": int(part.ids[place])} | told(place) | seen.of(part.x[place]) for place in places
        ]
        for name, places in picked.items()
    }
    points = {"points": _points(answers, part, targets)} if how.task == "regression" else {}
    return {"columns": seen.columns, "more": seen.more} | lists | points


def _classified(how: Preprocessing, answers: Array, part: Part) -> tuple[dict[str, Array], Any]:
    said, confidence = answers.argmax(axis=1), answers.max(axis=1)
    wrong, right = np.flatnonzero(said != part.y), np.flatnonzero(said == part.y)
    surest = wrong[np.argsort(-confidence[wrong], kind="stable")][:EXAMPLES]

    def told(place: int) -> dict[str, Any]:
        return {
            "true": how.classes[part.y[place]],
            "predicted": how.classes[said[place]],
            "confidence": float(confidence[place]),
        }

    return {"wrong": surest, "right": _evenly(right, EXAMPLES)}, told


def _labelled(how: Preprocessing, answers: Array, part: Part) -> tuple[dict[str, Array], Any]:
    said, holds = answers > 0.5, part.y > 0
    faults = (said != holds).sum(axis=1)
    wrong, right = np.flatnonzero(faults), np.flatnonzero(faults == 0)
    most = wrong[np.argsort(-faults[wrong], kind="stable")][:EXAMPLES]

    def names(found: Array) -> str:
        return ", ".join(how.classes[k] for k in np.flatnonzero(found)) or "none"

    def told(place: int) -> dict[str, Any]:
        return {"true": names(holds[place]), "predicted": names(said[place]), "confidence": None}

    return {"wrong": most, "right": _evenly(right, EXAMPLES)}, told


def _regressed(
    how: Preprocessing, outputs: Array, answers: Array, part: Part
) -> tuple[dict[str, Array], Any]:
    # In the units of the loss, so that no target counts for more than another.
    own = (part.y.astype(np.float64) - how.target_shift) * how.target_scale
    means = np.exp(outputs) if how.link == "log" else outputs
    order = np.argsort(((means - own) ** 2).sum(axis=1), kind="stable")

    def told(place: int) -> dict[str, Any]:
        return {"true": part.y[place].tolist(), "predicted": answers[place].tolist()}

    nearest, furthest = order[:EXAMPLES], order[::-1][: min(EXAMPLES, len(order) // 2)]
    return {"furthest": furthest, "nearest": nearest[: max(1, len(order) // 2)]}, told


def _points(answers: Array, part: Part, targets: Sequence[str]) -> dict[str, Any]:
    rows = _evenly(np.arange(len(part)), POINTS)
    return {
        "targets": list(targets),
        "true": part.y[rows].T.tolist(),
        "predicted": answers[rows].T.tolist(),
    }


def _evenly(places: Array, count: int) -> Array:
    """At most so many of the places, from the first to the last at equal distances."""
    if len(places) <= count:
        return places
    chosen: Array = places[np.linspace(0, len(places) - 1, count).round().astype(int)]
    return chosen


class _Seen:
    """How examples are shown: as images, or as rows of some columns.

    Args:
      how: the run's preprocessing.
      x: all examples that are shown, for the range of their pixels.
    """

    def __init__(self, how: Preprocessing, x: Array) -> None:
        shape = how.shape
        self._image = len(shape) == 2 or (len(shape) == 3 and shape[-1] in (1, 3))
        self._low, self._high = _range(x)  # bytes need not go to 255
        self._encoding = how.encoding
        size = math.prod(shape)
        every = (
            [f"x{k}" for k in range(1, size + 1)] if how.encoding is None else how.encoding.names
        )
        self.columns = [] if self._image else list(every[:COLUMNS])
        self.more = 0 if self._image else len(every) - len(self.columns)

    def of(self, example: Array) -> dict[str, Any]:
        """`size` and `pixels`, or `values`."""
        if self._image:
            return self._pixels(example)
        flat = example.ravel()
        if self._encoding is None:
            return {"values": [_number(value) for value in flat[: len(self.columns)]]}
        values: list[Any] = []
        at = 0
        for column in self._encoding.features[: len(self.columns)]:
            own = flat[at : at + len(column.inputs)]
            at += len(column.inputs)
            if column.categories is None:
                values.append(_number(own[0]))
            else:
                hit = np.flatnonzero(own == 1)
                values.append(column.categories[hit[0]] if len(hit) else None)
        return {"values": values}

    def _pixels(self, example: Array) -> dict[str, Any]:
        image = example if example.ndim == 3 else example[:, :, None]
        stride = -(-max(image.shape[:2]) // SIDE)
        image = image[::stride, ::stride]
        share = (image.astype(np.float64) - self._low) / (self._high - self._low)
        pixels = (255 * np.clip(share, 0, 1)).round().astype(np.uint8)
        return {
            "size": list(image.shape),
            "pixels": base64.b64encode(pixels.tobytes()).decode("ascii"),
        }


def _range(x: Array) -> tuple[float, float]:
    """The least and the largest number, apart from each other."""
    known = x[np.isfinite(x)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return low, high if high > low else low + 1.0


def _number(value: Any) -> float | None:
    """None for what is missing."""
    number = float(value)
    return number if math.isfinite(number) else None
