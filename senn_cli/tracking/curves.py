"""What trackers are told: curves with their names, and events in words. No package is needed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

ROW = {
    "train_loss": "loss/train",
    "validation_loss": "loss/validation",
    "validation_accuracy": "accuracy/validation",
    "validation_mse": "mse/validation",
    "eta": "eta",
    "learning_rate": "learning_rate",
    "parameters": "parameters",
    "epoch": "epoch",
    "seconds": "seconds",
}
"""Keys of a row of metrics, each with the name of its curve."""

EVENT = {"delta_eta": "growth/delta_eta", "ratio": "growth/ratio"}
"""Keys of a growth event, each with the name of its curve."""

SUMMARY = {
    "test_loss": "loss/test",
    "test_accuracy": "accuracy/test",
    "test_mse": "mse/test",
    "events": "growth/events",
}
"""Keys of a summary, each with the name of its curve, which has one point."""


def row_curves(row: Mapping[str, Any]) -> dict[str, float]:
    """The points of a row of metrics; `hidden/0`, ... are widths, `hidden/total` is their sum.

    A layer that was inserted shifts those behind it by one. What is missing or not finite has no
    point.
    """
    found = _named(row, ROW)
    widths = row.get("hidden")
    if widths is not None:
        found |= {f"hidden/{layer}": float(width) for layer, width in enumerate(widths)}
        found["hidden/total"] = float(sum(widths))
    return found


def event_curves(event: Mapping[str, Any]) -> dict[str, float]:
    """The points of a growth event, of accepted and rejected proposals alike."""
    return _named(event, EVENT)


def summary_curves(summary: Mapping[str, Any]) -> dict[str, float]:
    """The points of a run's summary."""
    return _named(summary, SUMMARY)


def event_text(event: Mapping[str, Any]) -> str:
    """A growth event in a line, such as `add_neurons at layer 0, now 11: ratio 0.99 > tau`."""
    site = event.get("site")
    where = f" at {site}" if site is not None else ""
    reason = event.get("reason") or "no reason given"
    if not event.get("accepted"):
        return f"rejected{where}: {reason}"
    widths = "-".join(str(width) for width in event.get("hidden") or ()) or "none"
    return f"{event.get('edit')}{where}, now {widths}: {reason}"


def _named(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, float]:
    return {
        name: float(values[key])
        for key, name in names.items()
        if isinstance(values.get(key), int | float) and math.isfinite(values[key])
    }
