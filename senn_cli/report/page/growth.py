"""Growth over time: the width of every layer, and what each round did and why."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from senn_cli.report.audit import Audit
from senn_cli.report.numbering import Numbers
from senn_cli.report.page.decisions import what, where
from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record
from senn_cli.report.timeline import Entry, merged, timeline
from senn_cli.report.tracks import tracks

_MARKS = {"insert_layer": "layer", "add_neurons": "neurons", "prune_neurons": "pruned"}


def layers(record: Record) -> list[dict[str, Any]]:
    """Every hidden layer in the last order: its name, and its widths from which steps on."""
    return [
        {
            "name": track.name,
            "steps": list(track.steps),
            "widths": list(track.widths),
        }
        for track in tracks(record)
    ]


def rounds(record: Record, audited: Audit, numbers: list[Numbers]) -> list[dict[str, Any]]:
    """The rounds that changed the network; like edits of one round at one site are one line.

    Keys: `step`, `marks` (`layer`, `neurons`, `pruned`: what happened), `edits`, `predicted` and
    `realised` (gains in loss of the whole round, None where not known), `until` (the step of the
    second measurement), `hidden` (widths afterwards). An edit has `what`, `where`, `ratios` (the
    least and the greatest Delta eta / eta_c), `tau`, `reason`, and `predicted` and `realised`: of a
    pruning the gains of the loss at once, otherwise None.

    Enlarged capacities are left out: they change no width.
    """
    known = {id(event): found for event, found in zip(record.history, numbers, strict=True)}
    gains = {found.step: found for found in audited.rounds}
    entries = [entry for entry in timeline(record, audited) if entry.edit in _MARKS]
    result = []
    for step, group in groupby(merged(entries), key=lambda entry: entry.step):
        edits = list(group)
        gain = gains.get(step)
        result.append(
            {
                "step": step,
                "marks": sorted({_MARKS[str(entry.edit)] for entry in edits}),
                "edits": [_edit(entry, known[id(entry.event)]) for entry in edits],
                "predicted": None if gain is None else short(gain.predicted),
                "realised": None if gain is None else short(gain.realised),
                "until": None if gain is None else gain.until,
                "hidden": list(edits[-1].hidden),
            }
        )
    return result


def _edit(entry: Entry, numbers: Numbers) -> dict[str, Any]:
    pruned = entry.edit == "prune_neurons"
    ratios = [min(entry.ratios), max(entry.ratios)] if entry.ratios else []
    return {
        "what": what(entry),
        "where": where(entry, numbers),
        "ratios": [short(ratio) for ratio in ratios],
        "tau": short(entry.threshold),
        "reason": entry.reason,
        "predicted": short(entry.predicted) if pruned else None,
        "realised": short(entry.realised) if pruned else None,
    }
