"""The head of a run's part of the page: its figures, and in a sentence what grew."""

from __future__ import annotations

from typing import Any

from senn_cli.report.record import Record
from senn_cli.report.tracks import starting_widths
from senn_cli.report.words import best_evaluation, duration, widths
from senn_cli.words import plural

_EDITS = ("insert_layer", "add_neurons", "prune_neurons")


def facts(record: Record) -> list[list[str]]:
    """Labels and values, such as `["test accuracy", "91.20%"]`; what is not known is left out."""
    summary = result(record)
    row = record.metrics[-1] if record.metrics else {}
    newest = (record.history or ({},))[-1]
    ending = record.ending or {}
    hidden = ending.get("hidden")  # with the best network's, which may have none
    hidden = final_widths(record) if hidden is None else hidden
    steps = summary.get("steps", record.last_step)
    epochs = summary.get("epochs", row.get("epoch"))
    known = [
        ("test accuracy", _percent(summary.get("test_accuracy"))),
        ("test mean squared error", _number(summary.get("test_mse"))),
        ("validation accuracy", _percent(row.get("validation_accuracy"))),
        ("validation mean squared error", _number(row.get("validation_mse"))),
        ("training loss", _number(row.get("train_loss"))),
        ("hidden sizes", widths(hidden)),
        ("parameters", _count(summary.get("parameters", _parameters(row, newest)))),
        ("growth", plural(sum(e.get("edit") in _EDITS for e in record.accepted), "edit")),
        ("steps", _count(steps)),
        ("epochs", None if epochs is None else f"{epochs:,.4g}"),
        ("best evaluation", best_evaluation(summary) if summary.get("best") else None),
        ("end", ending.get("reason")),
        ("time", _time(summary, row)),
    ]
    return [[label, value] for label, value in known if value is not None]


def sentence(record: Record) -> str:
    """What grew, in a sentence or two."""
    edits = [event for event in record.accepted if event.get("edit") in _EDITS]
    began, end = starting_widths(record), widths(final_widths(record))
    start = f"hidden sizes {widths(began)} to {end}" if began else f"no hidden layer to {end}"
    dormant = record.proposals == "dormant"
    rounds = {event["step"] for event in record.history}
    if not edits:
        if not record.history and record.spec.get("expansion", {}).get("policy") == "none":
            return f"A network of fixed size, hidden sizes {end}: its policy is none."
        if not record.history:
            return f"Nothing has been decided yet; its hidden sizes are {end}."
        tried = plural(len(rounds), "recorded growth round" if dormant else "growth round")
        return f"It has not grown: {tried} added nothing, and its hidden sizes are {end}."
    steps = [int(event["step"]) for event in edits]
    when = f"at step {steps[0]:,}"
    if steps[-1] > steps[0]:
        when = f"between steps {steps[0]:,} and {steps[-1]:,}"
    told = ", ".join(_counts(edits, record.unit))
    changed = len(set(steps))
    if dormant:  # of the rounds that change nothing, few are recorded
        counted = f"{plural(changed, 'growth round')} changed the network."
    else:
        counted = f"Of {plural(len(rounds), 'growth round')}, {changed:,} changed the network."
    return f"It grew from {start} {when}: {told}. {counted}"


def note(record: Record) -> str:
    """What to know of a run that is no finished one; empty for one that is."""
    if record.step is not None:
        return f"Everything after step {record.step:,} is left out."
    match record.status:
        case "running":
            return "It was still running when this page was written; a new page shows more."
        case "interrupted":
            known = f"It was interrupted at or after step {record.last_step:,}"
            return f"{known}; senn resume goes on with it."
        case "diverged":
            return "It diverged: its loss or its weights were no longer finite."
        case _:
            return ""


def result(record: Record) -> dict[str, Any]:
    """The summary; empty while there is none, or where a step before the end was asked for."""
    return (record.summary or {}) if record.step is None else {}


def final_widths(record: Record) -> list[int]:
    """The last widths that the files tell; of one step, growth comes after the evaluation."""
    rows = [
        row for row in (*record.metrics[-1:], *record.history[-1:]) if row.get("hidden") is not None
    ]
    if not rows:
        return list(starting_widths(record))
    return [int(width) for width in max(reversed(rows), key=lambda row: int(row["step"]))["hidden"]]


def _counts(edits: list[dict[str, Any]], unit: str) -> list[str]:
    inserted = sum(event["edit"] == "insert_layer" for event in edits)
    added = sum(int(e.get("neurons") or 0) for e in edits if e["edit"] == "add_neurons")
    pruned = sum(event["edit"] == "prune_neurons" for event in edits)
    named = (
        (inserted, plural(inserted, "layer") + " inserted"),
        (added, plural(added, unit) + " added"),
        (pruned, plural(pruned, unit) + " pruned"),
    )
    return [text for count, text in named if count]


def _parameters(*rows: dict[str, Any]) -> int | None:
    known = [row for row in rows if row.get("parameters") is not None]
    newest = max(reversed(known), key=lambda row: int(row["step"]), default=None)
    return None if newest is None else int(newest["parameters"])


def _time(summary: dict[str, Any], row: dict[str, Any]) -> str | None:
    spent = (summary.get("seconds") or {}).get("total", row.get("seconds"))
    if spent is None:
        return None
    return duration(spent) if spent >= 60 else f"{spent:.1f} s"


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.2%}"


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"
