"""Where the seconds of a run went."""

from __future__ import annotations

from typing import Any

from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record

PARTS = {
    "train": "training steps",
    "track": "tracking curvature",
    "score": "scoring proposals",
    "surgery": "changing the network",
    "audit": "auditing the score",
    "compile": "compiling",
    "evaluate": "evaluating",
    "save": "saving",
}
"""The parts of `seconds` in a summary, in the order of a run, and their names on the page."""


def seconds(record: Record) -> dict[str, Any]:
    """`parts`, a list of `[name, seconds]`, their `total` (None where unknown) and a `note`.

    A run without a summary has no more than the time that its rows tell: growth rounds,
    compilation for them included, and the rest.
    """
    found = (record.summary or {}).get("seconds") if record.step is None else None
    if found:
        parts = {PARTS.get(k, k): float(v) for k, v in found.items() if k != "total" and v}
        total = float(found.get("total") or sum(parts.values()))
        note = ""
        rest = "everything else"
    else:
        total = max((float(row.get("seconds") or 0) for row in record.metrics), default=0.0)
        last = record.metrics[-1]["step"] if record.metrics else 0
        spent = sum(
            sum(map(float, event["seconds"].values()))
            for event in record.history
            if isinstance(event.get("seconds"), dict) and event["step"] < last
        )
        parts = {"growth rounds": spent} if spent else {}
        rest = "everything between them" if parts else "training and all else"
        note = (
            f"Up to step {last:,}. The parts are told apart in the summary, which a run writes as "
            "it ends; growth rounds include compiling for them."
        )
    if total - sum(parts.values()) >= 0.05:  # less is rounding
        parts[rest] = total - sum(parts.values())
    return {
        "parts": [[name, short(value)] for name, value in parts.items()],
        "total": short(total) if parts else None,
        "note": note if parts else "No time has been recorded yet.",
    }
