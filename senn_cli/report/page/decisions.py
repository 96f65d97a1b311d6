"""The decision log: a line a decision, as columns, so that ten thousand of them stay small."""

from __future__ import annotations

import re
from typing import Any

from senn_cli.report.audit import Audit
from senn_cli.report.numbering import Numbers
from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record
from senn_cli.report.timeline import Entry, timeline
from senn_cli.words import plural


def decisions(record: Record, audited: Audit, numbers: list[Numbers]) -> dict[str, list[Any]]:
    """The columns of the table, each with a value a line of the history, None where it has none.

    Keys: `step`, `epoch`, `accepted`, `what` (in words), `where` (the site in words), `delta_eta`,
    `eta`, `ratio` (Delta eta / eta_c, for a layer divided by its cost), `tau`, `predicted` and
    `realised` (gains in loss), `own` (what the round's edits gained by themselves), `starved` (the
    gradients of new units by those of incumbents) and `inactive` (the share of them), `loss` (on
    the deciding sample), `parameters`, `seconds` (scoring and surgery, compilation included),
    `reason`.
    """
    entries = timeline(record, audited, rejected=True)
    events = record.history
    return {
        "step": [entry.step for entry in entries],
        "epoch": [short(event.get("epoch")) for event in events],
        "accepted": [entry.accepted for entry in entries],
        "what": [what(entry) for entry in entries],
        "where": [where(entry, known) for entry, known in zip(entries, numbers, strict=True)],
        "delta_eta": [short(event.get("delta_eta")) for event in events],
        "eta": [short(event.get("eta")) for event in events],
        "ratio": [short(event.get("ratio")) for event in events],
        "tau": [short(entry.threshold) for entry in entries],
        "predicted": [short(entry.predicted) for entry in entries],
        "realised": [short(entry.realised) for entry in entries],
        "own": [short(entry.own) for entry in entries],
        "starved": [short(entry.starved) for entry in entries],
        "inactive": [short(entry.inactive) for entry in entries],
        "loss": [short(event.get("train_loss")) for event in events],
        "parameters": [entry.parameters for entry in entries],
        "seconds": [_seconds(event) for event in events],
        "reason": [entry.reason for entry in entries],
    }


def what(entry: Entry) -> str:
    """What a decision did, such as `added 2 neurons`."""
    match entry.edit:
        case None:
            return "nothing added"
        case "add_neurons":
            return f"added {plural(entry.neurons, entry.unit)}"
        case "prune_neurons":
            return f"pruned {plural(entry.neurons, entry.unit)}"
        case "insert_layer":
            return f"inserted a layer of {plural(entry.neurons, entry.unit)}"
        case "enlarge_capacity":
            known = "" if entry.capacity is None else f" to {entry.capacity:,}"
            return f"enlarged the capacity{known}"
        case other:
            return other.replace("_", " ")


def where(entry: Entry, numbers: Numbers) -> str:
    """The site, with the layer's last number where the site's own does not tell it."""
    best: dict[str, Any] = next(iter(entry.event.get("candidates") or ()), {})
    here = {"site": entry.site, "layer": best.get("layer")}
    grown = numbers.grown(entry.event) if entry.accepted else numbers.target(here)
    if grown is None or not entry.site:
        return entry.site
    last = numbers.names[grown] if numbers.names else f"layer {grown}"
    if entry.site == last:
        return entry.site
    if entry.edit == "insert_layer" or re.search(r"\blayer\b", entry.site):
        return f"{entry.site} ({last} at the end)"
    # A bud that was rejected stands before its layer, and has the layer's number.
    if " bud " in entry.site and entry.site.replace(" bud ", " layer ") != last:
        return f"{entry.site} (before {last} at the end)"
    return entry.site


def _seconds(event: dict[str, Any]) -> float | int | None:
    spent = event.get("seconds")
    return short(sum(map(float, spent.values()))) if isinstance(spent, dict) else None
