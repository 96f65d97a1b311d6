"""`seconds`: where the time of finished runs went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from senn_cli.errors import RunError
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import names
from senn_cli.report.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a bar a part for one run, and for several a bar a run with its parts in a row.

    Raises:
      RunError: a run has no summary yet, or its summary no seconds.
    """
    spent = [parts(record) for record in records]
    if len(records) == 1:
        return _one(spent[0], options)
    # Every part that some run has, in the order of the files.
    known = list(dict.fromkeys(name for found in spent for name in found))
    figure = style.new_figure(options.width, 0.26 * len(records) + 0.95)
    axes = figure.subplots()
    left = [0.0] * len(records)
    handles: list[Any] = []
    for name, colour in zip(known, style.colours(len(known)), strict=True):
        sizes = [found.get(name, 0.0) for found in spent]
        handles.append(
            axes.barh(range(len(records)), sizes, left=left, height=0.7, color=colour, label=name)
        )
        left = [a + b for a, b in zip(left, sizes, strict=True)]
    axes.set_yticks(range(len(records)), labels=names(records))
    axes.invert_yaxis()
    axes.set_xlabel("time (s)")
    axes.grid(axis="x")
    style.legend(figure, handles, known)
    return figure


def _one(spent: Mapping[str, float], options: Options) -> Figure:
    total = sum(spent.values())
    figure = style.new_figure(options.width, 0.2 * len(spent) + 0.6)
    axes = figure.subplots()
    bars = axes.barh(list(spent), list(spent.values()), height=0.7, color=style.BLUE)
    shares = [f"{value:.1f} s, {value / total:.0%}" if total else "" for value in spent.values()]
    axes.bar_label(bars, shares, padding=3, fontsize=7)
    axes.set_xlim(0, 1.42 * max(spent.values(), default=1.0) or 1.0)  # room for the texts
    axes.invert_yaxis()
    axes.set_xlabel("time (s)")
    return figure


def parts(record: Record) -> dict[str, float]:
    """Seconds of every part of a run; `other` is what the parts leave of the total.

    Raises:
      RunError: there is no summary yet, or it tells no seconds.
    """
    found = (record.summary or {}).get("seconds")
    if not found:
        raise RunError(
            f"{record.path} has no summary.json with seconds; it is {record.status}",
            hint="It is written when a run ends; `senn resume` goes on with an interrupted one.",
        )
    result = {name: float(value) for name, value in found.items() if name != "total"}
    other = float(found.get("total") or 0.0) - sum(result.values())
    return result | ({"other": other} if other >= 0.05 else {})  # less is rounding
