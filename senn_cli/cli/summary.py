"""The final summary of a run as two small tables: what came out, and where the seconds went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from senn_cli.report.words import best_evaluation, duration, printable, widths
from senn_cli.words import plural

PARTS = ("train", "track", "score", "surgery", "audit", "compile", "evaluate", "save")
"""The parts of `seconds` in the order of a run; what is left of `total` is shown as `other`."""


def print_summary(summary: Mapping[str, Any], console: Console) -> None:
    """Prints the summary of a run to `console`.

    Args:
      summary: as in `summary.json`; keys that are missing or None are left out.
      console: where to print; without a terminal the output is plain text.
    """
    console.print(_results(summary, console))
    seconds = summary.get("seconds")
    if seconds:
        console.print(_seconds(seconds))


def _results(summary: Mapping[str, Any], console: Console) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", overflow="fold")
    table.add_column(overflow="fold")
    for label, value in result_rows(summary):
        # `Text`, not a string: brackets in a name are no markup.
        table.add_row(label, Text(printable(value, console.encoding)))
    return table


def result_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The lines of the first table: a label and its value in words."""
    accuracy = summary.get("test_accuracy")
    steps, epochs = summary.get("steps"), summary.get("epochs")
    length = ", ".join(
        text
        for text in (
            plural(steps, "step") if steps is not None else "",
            plural(epochs, "epoch") if epochs is not None else "",
        )
        if text
    )
    hidden, status = summary.get("hidden"), summary.get("status")
    rows = [
        ("run", summary.get("name")),
        ("status", f"{status}, stopped early" if summary.get("stopped_early") else status),
        ("test accuracy", f"{accuracy:.2%}" if accuracy is not None else None),
        ("test mse", _number(summary.get("test_mse"))),
        ("test loss", _number(summary.get("test_loss"))),
        ("hidden sizes", widths(hidden) if hidden is not None else None),
        ("parameters", _count(summary.get("parameters"))),
        ("growth events", _count(summary.get("events"))),
        ("compilations", _compilations(summary)),
        ("trained for", length or None),
        ("best", best_evaluation(summary) if summary.get("best") else None),
        ("run directory", summary.get("run_directory") or None),
    ]
    return [(label, str(value)) for label, value in rows if value is not None]


def _seconds(seconds: Mapping[str, float]) -> Table:
    *rows, (label, spent, share) = second_rows(seconds)
    table = Table(box=box.SIMPLE, pad_edge=False, show_footer=True)
    table.add_column("where the time went", label, overflow="fold")
    table.add_column("seconds", spent, justify="right", overflow="fold")
    table.add_column("share", share, justify="right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def second_rows(seconds: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """The lines of the second table: the part, its seconds and its share of the total.

    Parts that are missing are left out, `other` is what the parts leave of the total, and the
    last line is the total itself.
    """
    parts = {name: float(seconds[name]) for name in PARTS if seconds.get(name) is not None}
    total = float(seconds.get("total") or sum(parts.values()))
    other = total - sum(parts.values())
    if other >= 0.05:  # less is rounding
        parts["other"] = other
    rows = [
        (name, f"{spent:.1f}", f"{spent / total:.1%}" if total > 0 else "")
        for name, spent in parts.items()
    ]
    note = f" ({duration(total)})" if total >= 60 else ""
    return [*rows, (f"total{note}", f"{total:.1f}", "100.0%" if total > 0 else "")]


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _compilations(summary: Mapping[str, Any]) -> str | None:
    """Such as `17, 12 of them from the cache`; runs of before hits were counted tell the first."""
    count, hits = _count(summary.get("compilations")), summary.get("cache_hits")
    return count if count is None or hits is None else f"{count}, {hits:,} of them from the cache"


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"
