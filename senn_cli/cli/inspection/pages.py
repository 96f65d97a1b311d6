"""What each form of `senn inspect` shows: its sections in order."""

from __future__ import annotations

from senn_cli.cli.inspection import decisions, sections
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.report.audit import audit
from senn_cli.report.overview import shape
from senn_cli.report.record import Record
from senn_cli.report.timeline import merged, timeline

MOST_ROWS = 24
"""Rows of the timeline in the overview; the first and the last ones where there are more."""


def overview(record: Record, screen: Screen, *, rejected: bool = False) -> list[Line]:
    """Everything at a glance."""
    found = shape(record)
    return [
        *sections.head(record, screen),
        *sections.title(sections.architecture_title(found)),
        *sections.architecture(found, screen),
        *_curves(record, screen),
        *_timeline(record, screen, rejected=rejected, whole=False),
    ]


def architecture(record: Record, screen: Screen) -> list[Line]:
    """The table of sites alone."""
    found = shape(record)
    return [(sections.architecture_title(found), "bold"), *sections.architecture(found, screen)]


def history(record: Record, screen: Screen, *, rejected: bool = False) -> list[Line]:
    """Every decision in a row of its own."""
    return _timeline(record, screen, rejected=rejected, whole=True)[1:]


def live(record: Record, screen: Screen, *, rejected: bool = False) -> list[Line]:
    """The overview of a run that goes on, in as many lines as the terminal has.

    The newest events are what changes, so the rest gives way: of the timeline the last rows stay,
    then those of the curves; the architecture is told by the curves of the widths.
    """
    most = max(4, screen.height - 1)
    above = [*sections.head(record, screen), *_curves(record, screen)]
    entries = merged(timeline(record, audit(record), rejected=rejected))
    heading, *rows = decisions.history(entries, screen, reasons=rejected) if entries else [("", "")]
    room = most - len(above) - 2
    if room < 3:
        return above[:most]
    return [*above, ("", ""), heading, *rows[-room:]]


def _curves(record: Record, screen: Screen) -> list[Line]:
    lines = sections.curves(record, screen)
    if not lines:
        return []
    inserted = any(event["edit"] == "insert_layer" for event in record.accepted)
    numbers = ", layers by their last numbers" if inserted else ""
    return [*sections.title(f"From step 0 to {record.last_step:,}{numbers}"), *lines]


def _timeline(record: Record, screen: Screen, *, rejected: bool, whole: bool) -> list[Line]:
    audited = audit(record)
    entries = timeline(record, audited, rejected=rejected)
    # Room for an edit is part of it, and no decision of its own.
    accepted = sum(entry.edit not in (None, "enlarge_capacity") for entry in entries)
    decided = sum(event.get("edit") != "enlarge_capacity" for event in record.history)
    text = f"History: {accepted:,} accepted of {decided:,} decisions"
    if not entries:
        more = "" if rejected or not decided else "; --rejected shows why nothing was accepted"
        return sections.title(f"History: nothing has grown{more}")
    notes = {}
    if not whole:
        entries = merged(entries)
        left_out = len(entries) - MOST_ROWS
        if left_out > 1:
            first, last = MOST_ROWS // 3, MOST_ROWS - MOST_ROWS // 3
            entries = (*entries[:first], *entries[-last:])
            notes[first] = f"  {left_out:,} more: senn inspect history RUN"
    table = decisions.history(entries, screen, reasons=rejected, notes=notes)
    lines = [*sections.title(text), *table, *decisions.legend(record, screen)]
    lines += decisions.ended(record, screen)
    return lines + ([("", ""), *decisions.score_audit(audited, screen)] if accepted else [])
