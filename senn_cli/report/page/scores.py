"""The score of every site in every round, beside the threshold that it was compared with."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from senn_cli.report.numbering import Numbers
from senn_cli.report.page.numbers import short
from senn_cli.report.record import Record
from senn_cli.report.unscored import unscored


def scores(
    record: Record, numbers: list[Numbers], kept: Set[int] | None = None
) -> dict[str, list[Any]]:
    """The best proposal of every site in every decision, as columns, and tau over the steps.

    Keys: `step`; `kind`, `width` for neurons, `depth` for a layer, `pruned` for a neuron that was
    taken out; `layer`, the one that would get them, or that the map with the new layer leads to, by
    its last number, None for the outputs; `ratio`, Delta eta / eta_c (for a layer divided by its
    cost, for a bud by its neurons; of a pruned neuron what its removal costs), None where eta_c was
    0, so that it is infinite; `accepted`, whether it was carried out; `tau`: `[step, tau]` where it
    was first used and wherever it changed; and `words`, what to know about them.

    Args:
      kept: the places of the decisions whose proposals are told; all without it.
    """
    result: dict[str, list[Any]] = {
        "step": [], "kind": [], "layer": [], "ratio": [], "accepted": [], "tau": [],
    }  # fmt: skip
    for index, (event, known) in enumerate(zip(record.history, numbers, strict=True)):
        step, tau = int(event["step"]), short(event.get("threshold"))
        if tau is not None and (not result["tau"] or result["tau"][-1][1] != tau):
            result["tau"].append([step, tau])
        if event.get("edit") == "enlarge_capacity" or (kept is not None and index not in kept):
            continue  # the former prepares the next event, which has the scores
        for place, candidate in enumerate(event.get("candidates") or ()):
            result["step"].append(step)
            pruned = event.get("edit") == "prune_neurons"
            result["kind"].append("pruned" if pruned else str(candidate.get("kind")))
            result["layer"].append(known.target(candidate))
            result["ratio"].append(short(candidate.get("ratio")))
            result["accepted"].append(bool(event.get("accepted")) and place == 0)
    result["words"] = words(record)
    return result


def words(record: Record) -> list[str]:
    """How the scores of a run came about and what they were compared with, a sentence an item."""
    told = ["The best proposal of every site in every decision."]
    if record.proposals == "search":
        told.append(
            "Each is divided by the score \u03b7_c that its map has. What is above \u03c4 can be "
            "accepted; of several the one with the greatest gain is, and \u03b1 and the noise of "
            "the sample must be passed, too."
        )
    elif record.buds:
        factor = record.spec.get("expansion", {}).get("dormant", {}).get("bud_factor")
        bud = "" if factor is None else f" times {factor:g}"
        told.append(
            "Proposals are dormant: channels that are allocated but not in use, and buds, which "
            "may become layers; the score of a bud is the mean over its channels. Each is divided "
            "by the score \u03b7 of all maps together. A channel above \u03c4 that passes "
            "\u03b1 and its noise, too, is taken into use by chance; the best bud above "
            f"\u03c4{bud} becomes a layer. Rounds that changed nothing are recorded once an epoch."
        )
    else:
        told.append(
            f"Proposals are dormant: {record.unit}s that are allocated but not in use. Each is "
            "divided by the score \u03b7 of all maps together. What is above \u03c4 and beyond "
            "\u03b1 and its noise is taken into use by chance. Rounds that changed nothing are "
            "recorded once an epoch."
        )
    if any(event.get("edit") == "prune_neurons" for event in record.accepted):
        told.append(f"A {record.unit} was pruned where its removal costs less than that.")
    ended = unscored(record)
    return told if ended is None else [*told, ended]
