"""The score of every site in every round, beside the threshold that it was compared with."""

from __future__ import annotations

from typing import Any

from senn_cli.report.page.layers import Numbers
from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record


def scores(record: Record, numbers: list[Numbers]) -> dict[str, list[Any]]:
    """The best proposal of every site in every decision, as columns, and tau over the steps.

    Keys: `step`; `kind`, `width` for neurons or `depth` for a layer; `layer`, the one that would
    get them, or that the map with the new layer leads to, by its last number, None for the
    outputs; `ratio`, Delta eta / eta_c (for a layer divided by its cost), None where eta_c was 0,
    so that it is infinite; `accepted`, whether it was carried out; and `tau`: `[step, tau]` where
    it was first used and wherever it changed.
    """
    result: dict[str, list[Any]] = {
        "step": [], "kind": [], "layer": [], "ratio": [], "accepted": [], "tau": [],
    }  # fmt: skip
    for event, known in zip(record.history, numbers, strict=True):
        step, tau = int(event["step"]), short(event.get("threshold"))
        if tau is not None and (not result["tau"] or result["tau"][-1][1] != tau):
            result["tau"].append([step, tau])
        if event.get("edit") == "enlarge_capacity":
            continue  # it prepares the next event, which has the scores
        for place, candidate in enumerate(event.get("candidates") or ()):
            result["step"].append(step)
            result["kind"].append(str(candidate.get("kind")))
            result["layer"].append(known.target(candidate))
            result["ratio"].append(short(candidate.get("ratio")))
            result["accepted"].append(bool(event.get("accepted")) and place == 0)
    return result
