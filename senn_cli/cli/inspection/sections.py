"""The sections of `senn inspect` as lines: heading, architecture, curves."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from senn_cli.cli.inspection.columns import Column, lay_out
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.report.overview import Shape
from senn_cli.report.record import Record
from senn_cli.report.spark import is_logarithmic, resample, spark
from senn_cli.report.tracks import tracks
from senn_cli.report.words import best_evaluation, duration, measures

BARS = 48
"""Columns of a sparkline where there is room."""

_FEWEST_BARS = 8  # fewer show nothing
_NOTE = 26  # letters for the numbers behind a sparkline


def title(text: str) -> list[Line]:
    """A heading above a section."""
    return [("", ""), (text, "bold")]


def head(record: Record, screen: Screen) -> list[Line]:
    """Name, status, length, and what came out."""
    from senn_cli.training.origin import origins

    spec, summary = record.spec, record.summary or {}
    known = record.metrics[-1] if record.metrics else {}
    at_end = record.step is None or record.step >= summary.get("steps", record.step + 1)
    policy = spec.get("expansion", {}).get("policy", "unknown")
    rows = [
        ("run", record.name),
        ("made by", f"policy {policy}, {_dormant(record)}seed {spec.get('seed', 'unknown')}"),
        ("status", _status(record)),
    ]
    if at_end and summary:
        rows.append(("test", tested(summary)))
    if record.ending is not None:
        rows.append(("end", record.ending.get("reason", "")))
    elif at_end and summary.get("best"):
        rows.append(("best", best_evaluation(summary)))
    if known:
        rows.append((f"step {known['step']}", ", ".join(measures(known, screen.encoding))))
    rows += [("from", _origin(found)) for found in origins(record.path)]
    rows += [("resumed", _resumption(row)) for row in record.resumed]
    rows.append(("directory", str(record.path)))
    room = max(len(label) for label, _ in rows) + 2
    return [(label.ljust(room) + value, "") for label, value in rows if value]


def _dormant(record: Record) -> str:
    grows = record.spec.get("expansion", {}).get("policy") == "senn"
    return "dormant proposals, " if grows and record.proposals == "dormant" else ""


def _status(record: Record) -> str:
    summary, known = record.summary or {}, record.metrics[-1] if record.metrics else {}
    text = f"{record.status} at step {summary.get('steps', record.last_step):,}"
    if record.step is not None:
        text = f"as of step {record.step:,}; {text}"
    epochs = summary.get("epochs", known.get("epoch"))
    seconds = (summary.get("seconds") or {}).get("total", known.get("seconds"))
    if record.step is None and epochs is not None:
        text += f", epoch {epochs:.4g}"
    return text if seconds is None else f"{text}, {duration(seconds)} spent"


def tested(summary: Mapping[str, object]) -> str:
    """What the test part says: accuracy or squared error, and the loss."""
    texts = []
    for key, form in (("accuracy", ".2%"), ("mse", ".4g"), ("loss", ".4g")):
        value = summary.get(f"test_{key}")
        if isinstance(value, int | float):
            texts.append(f"{key} {value:{form}}")
    return ", ".join(texts)


def _resumption(row: dict[str, object]) -> str:
    text = f"at step {row.get('step')}, {row.get('time')}"
    if row.get("branched_from"):
        text += f", branched from {row['branched_from']}"
    overrides = row.get("overrides")
    if isinstance(overrides, list) and overrides:
        text += f", with {' '.join(map(str, overrides))}"
    return text


def architecture(shape: Shape, screen: Screen) -> list[Line]:
    """The table of sites."""
    rows = shape.rows

    def cells(name: str) -> list[str]:
        values = [getattr(row, name) for row in rows]
        return ["?" if value is None else f"{value:,}" for value in values]

    total = "?" if shape.parameters is None else f"{shape.parameters:,}"
    # Buds are proposals: they are no part of the network, and none of the totals.
    buds = [" bud " in row.site for row in rows]
    hidden = [row for row, bud in zip(rows, buds, strict=True) if row.site != "output" and not bud]
    lines = lay_out(
        [
            Column("site", [*(row.site for row in rows), "total"]),
            Column("width", [*cells("width"), f"{sum(r.width or 0 for r in hidden):,}"], True),
            Column("capacity", [*cells("capacity"), ""], True, 2),
            Column("inputs", [*cells("inputs"), ""], True, 5),
            Column("parameters", [*cells("parameters"), total], True, 1),
            Column("activation", [*(row.activation for row in rows), ""], False, 6),
        ],
        screen,
        [*("dim" if bud else "" for bud in buds), ""],
    )
    if any(buds):
        told = "A bud is a proposal: what it has is not used, and not counted in the totals."
        lines += [(line, "dim") for line in textwrap.wrap(told, min(screen.width, 100))]
    return lines


def architecture_title(shape: Shape) -> str:
    """What the table of sites shows."""
    told = "" if shape.source != "history" else ", as the history tells (no checkpoint has it)"
    return f"Architecture ({shape.kind}) at step {shape.step:,}{told}"


def curves(record: Record, screen: Screen) -> list[Line]:
    """Sparklines of widths, loss, eta and validation figure, all over the same steps."""
    last, glyphs = record.last_step, screen.glyphs
    named = {"loss": "train_loss", glyphs.score: "eta"}
    named |= {f"valid. {record.figure}": f"validation_{record.figure}"}
    grown = tracks(record)
    found = {label: _points(record, key) for label, key in named.items()}
    found = {label: points for label, points in found.items() if points}
    room = max(map(len, (*(track.name for track in grown), *found)), default=0) + 2
    bars = min(BARS, screen.width - room - _NOTE)
    if last <= 0 or bars < _FEWEST_BARS:
        return []
    lines: list[Line] = []
    for track in grown:
        # A column shows what held at its end, and nothing before the layer came.
        ends = [last * (index + 1) // bars for index in range(bars)]
        widths = [track.width_at(end) or None for end in ends]
        note = f"{track.widths[0]} {glyphs.arrow} {track.widths[-1]}"
        note += f", since step {track.born}" if track.born else ""
        line = spark(widths, zero=True, levels=glyphs.levels)
        lines.append((f"{track.name.ljust(room)}{line}  {note}", ""))
    for label, points in found.items():
        values = resample(points, 0, last, bars)
        note = f"{_number(points[0][1])} {glyphs.arrow} {_number(points[-1][1])}"
        note += " (log)" if is_logarithmic(values) else ""
        line = spark(values, levels=glyphs.levels)
        lines.append((f"{label.ljust(room)}{line}  {note}", ""))
    return lines


def _points(record: Record, key: str) -> list[tuple[int, float]]:
    return [(row["step"], row[key]) for row in record.metrics if row.get(key) is not None]


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.4g}"


def _origin(found: Mapping[str, Any]) -> str:
    """A link of the chain of transfers; imported weights have no step."""
    at = "" if found.get("step") is None else f" at step {found['step']}"
    return f"{found['name']}{at}, {found['path']}"
