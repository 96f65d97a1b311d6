"""All that the page shows of one run, as plain values."""

from __future__ import annotations

from typing import Any

from senn_cli.report.audit import audit
from senn_cli.report.numbering import last_numbers
from senn_cli.report.page import fewer
from senn_cli.report.page.decisions import decisions
from senn_cli.report.page.evaluation import evaluation
from senn_cli.report.page.gains import gains
from senn_cli.report.page.growth import layers, rounds
from senn_cli.report.page.head import facts, note, result, sentence
from senn_cli.report.page.network import network
from senn_cli.report.page.numbers import column, short
from senn_cli.report.page.scores import scores
from senn_cli.report.page.seconds import seconds
from senn_cli.report.page.setting import environment, spec_text
from senn_cli.report.record import Record

CURVES = (
    "step",
    "train_loss",
    "validation_loss",
    "validation_accuracy",
    "validation_mse",
    "parameters",
)
"""The columns of the metrics that the page draws, and the total of the widths, `neurons`."""


def run_data(record: Record, runs: int = 1) -> dict[str, Any]:
    """The data of one run for the scripts of the page.

    Of long runs `curves`, `decisions`, `scores` and `rounds` have some rows alone (see `fewer`);
    `totals` has the numbers of all `rows`, `decisions` and `rounds`.

    Args:
      record: what was read of it.
      runs: how many the page shows.

    Raises:
      RunError: its spec cannot be read.
    """
    audited, numbers = audit(record), last_numbers(record)
    summary, history = result(record), record.history
    told = decisions(record, audited, numbers)
    kept = fewer.foremost(told["accepted"], told["ratio"], fewer.share(fewer.MOST_DECISIONS, runs))
    every = rounds(record, audited, numbers)
    inserted = ["layer" in found["marks"] for found in every]
    changed = fewer.foremost(
        inserted, [found["predicted"] for found in every], fewer.share(fewer.MOST_ROUNDS, runs)
    )
    return {
        "name": record.name,
        "path": str(record.path),
        "status": record.status,
        "figure": record.figure,
        "unit": record.unit,
        "dormant": record.proposals == "dormant",
        "facts": facts(record),
        "sentence": sentence(record),
        "note": note(record),
        "last": record.last_step,
        "per_epoch": short(steps_per_epoch(record)),
        "layers": layers(record),
        "network": network(record),
        "rounds": [every[place] for place in changed],
        "totals": {"rows": len(record.metrics), "decisions": len(history), "rounds": len(every)},
        "curves": curves(record, fewer.share(fewer.MOST_ROWS, runs)),
        "test": {key: short(summary.get(f"test_{key}")) for key in ("accuracy", "mse", "loss")},
        "evaluation": evaluation(record),
        "scores": scores(record, numbers, set(kept)),
        "gains": gains(audited),
        "seconds": seconds(record),
        "decisions": {key: [column[place] for place in kept] for key, column in told.items()},
        "spec": spec_text(record),
        "environment": environment(record),
    }


def curves(record: Record, most: int = fewer.MOST_ROWS) -> dict[str, list[float | int | None]]:
    """`CURVES` and the number of all hidden `neurons`; a column that is empty is left out.

    Args:
      most: rows; of more those with the extremes.
    """
    found = {key: column(record.metrics, key) for key in CURVES}
    found["neurons"] = [
        sum(row["hidden"]) if row.get("hidden") is not None else None for row in record.metrics
    ]
    found = {key: values for key, values in found.items() if any(v is not None for v in values)}
    kept = fewer.extremes(list(found.values()), most)
    return {key: [values[place] for place in kept] for key, values in found.items()}


def steps_per_epoch(record: Record) -> float | None:
    """Training steps in an epoch; None where no row tells."""
    for row in (*record.metrics, *record.history):
        if row.get("epoch") and row.get("step"):
            return float(row["step"]) / float(row["epoch"])
    return None
