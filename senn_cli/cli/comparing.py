"""What `senn compare` shows: settings, where they differ, runs, figures and curves, as lines."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Sequence
from typing import Any

from senn_cli.cli.inspection.columns import Column, lay_out
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.cli.runs import columns, styles
from senn_cli.report.comparison import (
    CONFIDENCE,
    Setting,
    devices,
    differences,
    figure_of,
    figures,
    paired,
    pairs,
    summarised,
)
from senn_cli.report.curves import Curve, axis_of, curve, main_curve, places
from senn_cli.report.listing import read_listed
from senn_cli.report.record import Record, unit_of
from senn_cli.report.spark import is_logarithmic, spark
from senn_cli.words import plural

BARS = 40
"""Columns of a sparkline where there is room."""

_NAMES = {"seconds_total": "seconds", "seconds_compile": "of these compiling"}
_NOTHING = "-"
_WIDEST = 100  # columns of a paragraph
_NOTE = 24  # letters behind a sparkline
_FEWEST_BARS = 8


def page(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    """Everything in order."""
    return [
        *_settings(settings, screen),
        *_differences(settings, screen),
        *_runs(settings, screen),
        *_figures(settings, screen),
        *_pairs(settings, screen),
        *_curves(settings, screen),
    ]


def _title(text: str) -> list[Line]:
    return [("", ""), (text, "bold")]


def _paragraph(text: str, screen: Screen, indent: str = "") -> list[Line]:
    room = min(screen.width, _WIDEST)
    wrapped = textwrap.wrap(screen.text(text), room, subsequent_indent=indent)
    return [(line, "") for line in wrapped]


def _settings(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    runs = sum(len(setting.records) for setting in settings)
    lines: list[Line] = [(f"{plural(len(settings), 'setting')}, {plural(runs, 'run')}", "bold")]
    for setting in settings:
        names = ", ".join(dict.fromkeys(record.name for record in setting.records))
        seeds = ", ".join(map(str, setting.seeds))
        text = f"{setting.label}  {names}: {plural(len(setting.records), 'run')}, "
        text += f"{'seed' if len(setting.seeds) == 1 else 'seeds'} {seeds}"
        others = [r.status for r in setting.records if r.status != "finished"]
        if others:
            left = ", ".join(f"{others.count(s)} {s}" for s in dict.fromkeys(others))
            text += f"; {left}, left out of the figures"
        if setting.repeated:
            again = ", ".join(map(str, setting.repeated))
            text += f"; several runs of seed {again}, which are no independent samples"
        lines += _paragraph(text, screen, "   ")
    return lines


def _differences(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    """A column a setting, or where they are too many, a line each below the option."""
    if len(settings) < 2:
        return [("", ""), *_paragraph("The specs differ in the seed or the name alone.", screen)]
    found = differences(settings)
    labels = [setting.label for setting in settings]
    texts = {
        option: [
            screen.text(_value(values[label])) if label in values else _NOTHING for label in labels
        ]
        for option, values in found.items()
    }
    lines = _title("Where the specs differ")
    options = Column("option", [screen.text(option) for option in texts])
    cells = list(zip(*texts.values(), strict=True))
    others = [Column(label, cell) for label, cell in zip(labels, cells, strict=True)]
    if sum(column.width + 2 for column in (options, *others)) - 2 <= screen.width:
        lines += lay_out([options, *others], screen)
    else:
        for option, values in texts.items():
            lines.append((screen.text(option), ""))
            for label, text in zip(labels, values, strict=True):
                lines += [(f"  {part}", "") for part in _folded(f"{label}  {text}", screen)]
    if any(label not in values for values in found.values() for label in labels):
        lines.append(
            (f"{_NOTHING}  no such option; if another version lacked it, today's default", "dim")
        )
    return lines


def _folded(text: str, screen: Screen) -> list[str]:
    return textwrap.wrap(text, max(20, screen.width - 2), subsequent_indent="   ")


def _runs(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    records = [record for setting in settings for record in setting.records]
    names = _short_names(records)
    rows = [read_listed(r.path, name) for r, name in zip(records, names, strict=True)]
    first = Column("", [s.label for s in settings for _ in s.records])
    seeds = Column("seed", [str(seed) for s in settings for seed in s.seeds], True, 2)
    # The rest of the room is the run's: these stand before it.
    taken = first.width + seeds.width + 4
    narrower = Screen(screen.width - taken, screen.encoding, screen.styled, screen.terminal)
    shown = [c for c in columns(rows, narrower) if c.heading not in ("started", "name")]
    return [*_title("Runs"), *lay_out([first, seeds, *shown], screen, styles(rows))]


def _short_names(records: Sequence[Record]) -> list[str]:
    """The directories' names, or as much of their paths as tells them apart."""
    names = [record.path.name for record in records]
    if len(set(names)) == len(names):
        return names
    above = os.path.commonpath([record.path.parent for record in records])
    return [os.path.relpath(record.path, above) for record in records]


def _figures(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    runs = [record for setting in settings for record in setting.finished]
    keys, names = figures(runs), _NAMES | {"hidden_neurons": f"hidden {unit_of(runs)}s"}
    if not keys:
        return [("", ""), *_paragraph("No run has finished, so there are no figures yet.", screen)]
    rows: list[list[str]] = []
    for key in keys:
        for index, setting in enumerate(settings):
            found = summarised(setting, key)
            numbers = (found.mean, found.deviation, found.low, found.high)
            head = "" if index else names.get(key, key.replace("_", " "))
            rows.append([head, setting.label, str(found.n), *(_number(key, n) for n in numbers)])
    headings = ("figure", "", "n", "mean", "sd", "min", "max")
    table = [
        Column(heading, cells, right=index > 1, rank=int(index > 1))
        for index, (heading, cells) in enumerate(
            zip(headings, zip(*rows, strict=True), strict=True)
        )
    ]
    lines = [*_title("Figures of the finished runs"), *lay_out(table, screen)]
    text = "n: runs; sd: sample standard deviation over them, at least two."
    where = devices(runs)
    if len(where) > 1:
        text += f" Seconds are of different devices: {'; '.join(where)}."
    return lines + [(line, "dim") for line, _ in _paragraph(text, screen)]


def _pairs(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    """Differences from the first setting, or of a control from what it is made from."""
    runs = [record for setting in settings for record in setting.finished]
    names = _NAMES | {"hidden_neurons": f"hidden {unit_of(runs)}s"}
    rows: list[list[str]] = []
    for key in figures(runs):
        head = names.get(key, key.replace("_", " "))
        for setting, reference in pairs(settings):
            found = paired(setting, reference, key)
            if found.mean is None:
                continue
            numbers = [_signed(key, n) for n in (found.mean, found.low, found.high)]
            rows.append([head, f"{setting.label} - {reference.label}", str(found.n), *numbers])
            head = ""
    if not rows:
        return []
    headings = ("figure", "", "pairs", "mean", "from", "to")
    table = [
        Column(heading, cells, right=index > 1, rank=int(index > 1))
        for index, (heading, cells) in enumerate(
            zip(headings, map(list, zip(*rows, strict=True)), strict=True)
        )
    ]
    text = f"Pairs share their seed; from and to: the {CONFIDENCE:.0%} confidence interval of the "
    text += "mean by Student's t, for at least two pairs."
    lines = [*_title("Differences of pairs"), *lay_out(table, screen)]
    return lines + [(line, "dim") for line, _ in _paragraph(text, screen)]


def _signed(key: str, value: float | None) -> str:
    text = _number(key, value)
    return f"+{text}" if value is not None and value > 0 else text


def _curves(settings: Sequence[Setting], screen: Screen) -> list[Line]:
    records = [record for setting in settings for record in setting.records]
    key, axis, at = main_curve(records, figure_of(records)), axis_of(records), places(records)
    if key is None or not at:
        return []
    name = key.replace("_", " ")
    lines = _title(f"{name.capitalize()} by {axis}, means over runs")
    room = max(len(setting.label) for setting in settings) + 2
    bars = min(BARS, screen.width - room - _NOTE)
    if bars >= _FEWEST_BARS:
        fine = places(records, bars)
        drawn = [curve(setting.records, key, axis, fine).means for setting in settings]
        # One scale for all, so that equal bars are equal values.
        every = [value for means in drawn for value in means]
        letters = spark(every, levels=screen.glyphs.levels)
        for index, setting in enumerate(settings):
            line = letters[index * bars : (index + 1) * bars]
            lines.append((f"{setting.label.ljust(room)}{line}  {_ends(setting, key, screen)}", ""))
        scale = ", by logarithms" if is_logarithmic(every) else ""
        lines += [(f"one scale for all{scale}", "dim"), ("", "")]
    columns = [
        Column(setting.label, _cells(key, curve(setting.records, key, axis, at), setting), True)
        for setting in settings
    ]
    return lines + _side_by_side(
        Column(axis, [f"{place:.4g}" for place in at], True), columns, screen
    )


def _ends(setting: Setting, key: str, screen: Screen) -> str:
    """The first measurement, and that at the end of the setting's longest run; means."""
    axis = axis_of(setting.records)
    measured = [
        [float(row[axis]) for row in record.metrics if row.get(key) is not None]
        for record in setting.records
    ]
    known = [found for found in measured if found]
    if not known:
        return ""
    first, last = max(found[0] for found in known), max(found[-1] for found in known)
    texts = [_number(key, v) for v in curve(setting.records, key, axis, (first, last)).means]
    return f" {screen.glyphs.arrow} ".join(texts)


def _cells(key: str, found: Curve, setting: Setting) -> list[str]:
    """The means; with their number where not all runs have come so far."""
    texts = []
    for mean, count in zip(found.means, found.counts, strict=True):
        text = _number(key, mean)
        texts.append(f"{text} (n {count})" if 0 < count < len(setting.records) else text)
    return texts


def _side_by_side(first: Column, others: Sequence[Column], screen: Screen) -> list[Line]:
    """As many columns beside the first as there is room for, the others below."""
    lines: list[Line] = []
    rest = list(others)
    while rest:
        width, taken = first.width, 0
        while taken < len(rest) and (not taken or width + 2 + rest[taken].width <= screen.width):
            width += 2 + rest[taken].width
            taken += 1
        lines += [("", "")] if lines else []
        lines += lay_out([first, *rest[:taken]], screen)
        rest = rest[taken:]
    return lines


def _number(key: str, value: float | None) -> str:
    if value is None:
        return _NOTHING
    if key.endswith("_accuracy"):
        return f"{value:.2%}"
    if key.endswith(("_loss", "_mse")):
        return f"{value:.4g}"
    if key.startswith("seconds_") or value != round(value):
        return f"{value:,.1f}"
    return f"{value:,.0f}"


def _value(value: Any) -> str:
    """An option as a spec writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and len(value) == 1:  # a duration
        ((unit, length),) = value.items()
        return f"{length} {unit.removesuffix('s') if length == 1 else unit}"
    return json.dumps(value, ensure_ascii=False, default=str)
