"""The page as one text: template, style, scripts and data in a single file.

Nothing in it is loaded from elsewhere, and its content security policy forbids to. Texts of users
are in the data alone, which the scripts show as text, and in the title, which is escaped.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib import resources
from string import Template
from typing import Any

from senn_cli.report.page.comparison import comparison
from senn_cli.report.page.groups import groups
from senn_cli.report.page.run import run_data
from senn_cli.report.record import Record, labels
from senn_cli.runs.environment import senn_version
from senn_cli.runs.jsonl import to_json

SCRIPTS = (
    "elements",
    "numbers",
    "scales",
    "tooltip",
    "legend",
    "marks",
    "chart",
    "axes",
    "lines",
    "head",
    "growth",
    "moments",
    "layout",
    "network",
    "curves",
    "scores",
    "gains",
    "confusion",
    "calibration",
    "examples",
    "predictions",
    "evaluation",
    "seconds",
    "decisions",
    "texts",
    "bands",
    "sides",
    "overview",
    "kept",
    "tabs",
    "main",
)
"""The scripts in `js/`, in the order in which the page has them."""

LIVE = ("live",)
"""Those behind them of a page that follows its runs."""


def page(records: Sequence[Record], made: datetime) -> str:
    """The HTML text of the page.

    Args:
      records: one run or several, in order.
      made: the moment that the page names at its end.

    Raises:
      RunError: a spec cannot be read.
    """
    return page_text(
        page_data(records, [run_data(record, len(records)) for record in records], made)
    )


def page_text(data: Mapping[str, Any]) -> str:
    """The HTML text of a page that shows `page_data`; where that has `live`, one that asks on."""
    names = [run["label"] for run in data["runs"]]
    title = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else "".join(names) or "runs"
    live = "live" in data
    script = "\n".join(_asset(f"js/{name}.js") for name in (*SCRIPTS, *(LIVE if live else ())))
    # What is put in is not looked at again, so that a `$` in it stays.
    return Template(_asset("page.html")).substitute(
        title=html.escape(title, quote=False),
        connect="'self'" if live else "'none'",
        style=_asset("page.css"),
        data=embedded(data),
        script=script,
    )


def page_data(
    records: Sequence[Record],
    runs: Sequence[Mapping[str, Any]],
    made: datetime,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """What the scripts read: `runs`, `comparison` (None for one run), `groups`, and other keys.

    These are `notes`, `made` and `senn`.

    Args:
      records: one run or several, in order.
      runs: of each its `run_data`, whose `status` counts.
      made: when.
      notes: what to say above all runs.
    """
    names = labels(records)
    return {
        "senn": senn_version(),
        "made": made.isoformat(sep=" ", timespec="minutes"),
        "notes": list(notes),
        "runs": [{"label": name, **run} for name, run in zip(names, runs, strict=True)],
        "comparison": comparison(records, runs, names) if len(records) > 1 else None,
        "groups": groups(records),
    }


def embedded(value: Any) -> str:
    """JSON for the inside of a `script` element: no `<`, which could end it, and no half letter."""
    text = json.dumps(
        to_json(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).replace("<", "\\u003c")
    # A lone surrogate, from a badly decoded file name, has no UTF-8 form.
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _asset(name: str) -> str:
    place = resources.files("senn_cli.report.page")
    for part in name.split("/"):
        place = place / part
    return place.read_text(encoding="utf-8")
