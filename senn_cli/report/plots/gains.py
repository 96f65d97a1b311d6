"""`gains`: the predicted gain of every growth round against the one that was realised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from senn_cli.errors import RunError
from senn_cli.report.audit import UNMEASURED, AuditedRound, audit
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.series import loss_label, names
from senn_cli.report.record import Record
from senn_cli.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def draw(records: Sequence[Record], options: Options) -> Figure:
    """Draws a point a round, a colour a run; on the line y = x the prediction came true.

    A cross at the same prediction is what the interval before the round had gained: the control.

    Raises:
      RunError: no run has a round that added something and was measured afterwards.
    """
    from matplotlib.lines import Line2D

    audits = [audit(record) for record in records]
    rounds = [[r for r in found.rounds if r.realised is not None] for found in audits]
    everything = [r for found in rounds for r in found]
    if not everything:
        raise RunError(
            f"{', '.join(str(record.path) for record in records)}: no growth round added something "
            "and had its loss measured again",
            hint=UNMEASURED if any(found.unmeasured for found in audits) else None,
        )
    figure = style.new_figure(options.width, min(options.width, 4.0) * 0.85 + 0.55)
    axes = figure.subplots()
    handles = []
    for record, name, found, result, colour in zip(
        records, names(records), rounds, audits, style.colours(len(records)), strict=True
    ):
        controls = [r for r in found if r.before is not None]
        axes.plot(
            [r.predicted for r in controls],
            [r.before for r in controls if r.before is not None],
            linestyle="none",
            marker="x",
            markersize=3.5,
            markeredgewidth=0.7,
            color=style.GREY if len(records) == 1 else colour,
            alpha=0.8,
            gid=f"before-{record.path.name}",
        )
        (points,) = axes.plot(
            [r.predicted for r in found],
            [r.realised for r in found if r.realised is not None],
            linestyle="none",
            marker="o",
            color=colour,
            gid=f"gains-{record.path.name}",
        )
        trust = "" if result.spearman is None else f", {result.spearman:.2f} by rank"
        points.set_label(f"{name}: {plural(len(found), 'round')}{trust}")
        handles.append(points)
    handles.append(
        Line2D(
            [], [], linestyle="none", marker="x", markersize=3.5, markeredgewidth=0.7,
            color=style.GREY, label="gained in the interval before",
        )
    )  # fmt: skip
    handles.append(_scales(axes, everything))
    axes.axhline(0, color=style.GREY, linewidth=0.6)
    axes.set_xlabel(loss_label(records[0], r"predicted gain $\Delta\eta/2$"))
    axes.set_ylabel(loss_label(records[0], "realised gain"))
    style.legend(figure, handles)
    return figure


def _scales(axes: Axes, rounds: Sequence[AuditedRound]) -> Line2D:
    """Sets both scales, the same on both axes, and draws the line y = x.

    Gains that lie far apart get logarithmic scales, which are linear around 0: gains can be
    negative.
    """
    x = [r.predicted for r in rounds]
    y = [gain for r in rounds for gain in (r.realised, r.before) if gain is not None]
    low, high = min(0.0, *x, *y), max(*x, *y)
    positive = [value for value in x if value > 0]
    if positive and high > 30 * min(positive):
        decade = math.floor(math.log10(high))
        linear, ticks = 10.0 ** (decade - 2), [10.0 ** (decade - k) for k in (2, 1, 0)]
        ticks = [0.0, *ticks, *(-tick for tick in ticks if tick <= -low)]
        for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
            scale("symlog", linthresh=linear)
            axis.set_ticks(sorted(ticks), labels=[f"{tick:g}" for tick in sorted(ticks)])
            axis.set_ticks([], minor=True)
    room = 1.08 if axes.get_yscale() == "linear" else 1.6
    axes.set_xlim(room * min(0.0, *x), room * max(x))
    axes.set_ylim(room * low, room * max(0.0, *y) or 1.0)
    ends = (room * low, room * high)
    line = [ends[0] + (ends[1] - ends[0]) * k / 400 for k in range(401)]
    (drawn,) = axes.plot(
        line, line, color=style.BLACK, linewidth=0.8, zorder=1, label="as predicted", gid="equal"
    )
    return drawn
