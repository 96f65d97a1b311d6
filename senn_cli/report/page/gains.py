"""Predicted against realised gains, and what the audit says of them in words."""

from __future__ import annotations

from typing import Any

from senn_cli.report.audit import UNMEASURED, Audit, pruning_words
from senn_cli.report.page.numbers import plural, short

_SAME = 0.05  # correlations closer than this tell about as much
_FEW = 10  # rounds; a correlation over fewer may well be chance


def gains(audited: Audit) -> dict[str, Any]:
    """The rounds that were measured again, as columns, and `words`, sentences about them.

    Keys of the columns: `step`, `until`, `edits`, `predicted`, `realised`, `before` (what the
    interval before the round gained, None for the first).
    """
    found = [each for each in audited.rounds if each.realised is not None]
    return {
        "step": [each.step for each in found],
        "until": [each.until for each in found],
        "edits": [each.edits for each in found],
        "predicted": [short(each.predicted) for each in found],
        "realised": [short(each.realised) for each in found],
        "before": [short(each.before) for each in found],
        "words": words(audited),
    }


def words(audited: Audit) -> list[str]:
    """What the audit found, a sentence an item."""
    count = sum(each.realised is not None for each in audited.rounds)
    pruned = [] if audited.prunings is None else [f"{pruning_words(audited.prunings)}"]
    if count == 0:
        why = [UNMEASURED] if audited.unmeasured else []
        return ["No growth round has had its loss measured again.", *why, *pruned]
    if audited.pearson is None:
        told = [
            f"{plural(count, 'growth round has', 'growth rounds have')} had the loss measured "
            "again: too few, or too much alike, for a correlation."
        ]
    else:
        ranked = "" if audited.spearman is None else f", that of their ranks {audited.spearman:.2f}"
        told = [
            f"Over {plural(count, 'growth round')} the correlation of the predicted with the "
            f"realised gains is {audited.pearson:.2f}{ranked}."
        ]
    if audited.pearson is not None and audited.control is not None:
        difference = audited.pearson - audited.control
        verdict = "about as much as" if abs(difference) < _SAME else "more than"
        if difference <= -_SAME:
            verdict = "less than"
        told.append(
            "A control that knows nothing of the score, what the interval before the round had "
            f"gained, has a correlation of {audited.control:.2f} with the realised gains: the "
            f"score told {verdict} that."
        )
    if audited.pearson is not None and count < _FEW:
        told.append("Correlations over so few rounds may be chance.")
    if audited.ratio is not None:
        told.append(f"The median round gained {audited.ratio:.3g} times what was predicted.")
    return told + pruned
