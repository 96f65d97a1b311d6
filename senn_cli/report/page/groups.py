"""Groups of runs that differ in the seed alone: the mean of their curves, and the range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from senn_cli.report.comparison import settings
from senn_cli.report.curves import curve
from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record

PLACES = 120
"""Steps at which a group's curves are told."""

COLUMNS = ("validation_accuracy", "validation_mse", "train_loss", "validation_loss", "neurons")


def groups(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The settings of several runs that have metrics, in the order of their first runs.

    Each has `text` (its letter, the runs' names and seeds), `runs` (their places), `steps`, and by
    column `curves` with `mean`, `low`, `high` and `count` (of the runs that had come that far).
    Columns that a run of the group lacks are left out.
    """
    started = [record for record in records if record.metrics]
    places = {id(record): place for place, record in enumerate(records)}
    found = []
    for setting in settings(started):
        if len(setting.records) < 2:
            continue
        known = [_counted(record) for record in setting.records]
        end = max(record.metrics[-1]["step"] for record in known)
        steps = [end * (k + 1) / PLACES for k in range(PLACES)]
        shared = [key for key in COLUMNS if all(_has(record, key) for record in known)]
        names = ", ".join(dict.fromkeys(record.name for record in known))
        seeds = ", ".join(map(str, setting.seeds))
        found.append(
            {
                "text": f"{setting.label}: {names}, seeds {seeds}",
                "runs": [places[id(record)] for record in setting.records],
                "steps": list(map(short, steps)),
                "curves": {key: _told(known, key, steps) for key in shared},
            }
        )
    return found


def _told(records: Sequence[Record], key: str, steps: Sequence[float]) -> dict[str, list[Any]]:
    made = curve(records, key, "step", steps)
    columns = (("mean", made.means), ("low", made.lows), ("high", made.highs))
    return {name: list(map(short, values)) for name, values in columns} | {
        "count": list(made.counts)
    }


def _counted(record: Record) -> Record:
    """The run with the neurons of all hidden layers in its rows."""
    rows = (
        row if row.get("hidden") is None else row | {"neurons": sum(row["hidden"])}
        for row in record.metrics
    )
    return replace(record, metrics=tuple(rows))


def _has(record: Record, key: str) -> bool:
    return any(row.get(key) is not None for row in record.metrics)
