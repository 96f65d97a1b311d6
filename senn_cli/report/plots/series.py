"""What the kinds of plot have in common: series out of the metrics, epochs, names for the runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from senn_cli.errors import RunError
from senn_cli.report.plots.style import plain
from senn_cli.report.record import Record, labels


def series(record: Record, key: str, by: str = "step") -> tuple[list[float], list[float]]:
    """A column of the metrics over the steps, or over the column `by`; gaps are left out."""
    rows = [row for row in record.metrics if row.get(key) is not None and row.get(by) is not None]
    return [float(row[by]) for row in rows], [float(row[key]) for row in rows]


def shown(record: Record, part: str) -> tuple[str, float, str]:
    """How the figure of merit on `part` (`validation` or `test`) is shown: key, factor, label."""
    if record.figure == "mse":
        return f"{part}_mse", 1.0, f"{part} mean squared error"
    return f"{part}_accuracy", 100.0, f"{part} accuracy (%)"


def loss_label(record: Record, what: str = "loss") -> str:
    """`what`, a loss, with its unit."""
    unit = "half squared error" if record.figure == "mse" else "nats"
    return f"{what} ({unit})"


def require_validation(records: Sequence[Record]) -> None:
    """Raises RunError where a run has no validation rows."""
    for record in records:
        key, _, label = shown(record, "validation")
        if not series(record, key)[1]:
            share = record.spec.get("data", {}).get("validation")
            raise RunError(
                f"{record.path} has no row with a {label.removesuffix(' (%)')}: its "
                f"data.validation is {share}",
                hint="Train it with a validation part, such as `--set data.validation=0.1`; the "
                "test data are looked at only once, at the end.",
            )


def require_metrics(record: Record) -> None:
    """Raises RunError where a run has evaluated nothing yet."""
    if not record.metrics:
        raise RunError(
            f"{record.path} has no rows in metrics.jsonl up to now",
            hint="The first one is written after training.evaluate.",
        )


def per_epoch(record: Record) -> float:
    """Training steps in an epoch; 1 where no row tells."""
    for row in (*record.metrics, *record.history):
        if row.get("epoch") and row.get("step"):
            return float(row["step"]) / float(row["epoch"])
    return 1.0


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return math.fsum(values) / len(values)


def names(records: Sequence[Record]) -> list[str]:
    """A short name for every run that tells it from the others, as a figure can show it."""
    return [plain(text) for text in labels(records, seeds_alone=True)]


def experiments(records: Sequence[Record]) -> list[list[Record]]:
    """The runs whose specs differ in nothing but the seed put together, in order."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        key = {name: value for name, value in record.spec.items() if name != "seed"}
        groups.setdefault(json.dumps(key, sort_keys=True, default=str), []).append(record)
    return list(groups.values())
