"""What the score audit found, in sentences that promise no more than its numbers.

What counts comes first: how many rounds gained at all, and whether larger gains followed larger
predictions, which is a correlation of ranks. The linear one comes behind it: the large gains of the
first rounds carry it.
"""

from __future__ import annotations

import math

from senn_cli.report.audit import UNMEASURED, AtOnce, Audit, Own
from senn_cli.words import plural

_FEW = 30  # rounds; with more, what chance makes of a correlation is small


def audit_words(audit: Audit) -> list[str]:
    """The audit in sentences, for the terminal as for the page."""
    gained = [each.realised for each in audit.rounds if each.realised is not None]
    kinds = (("pruning", audit.prunings), ("addition", audit.additions))
    at_once = [at_once_words(what, found) for what, found in kinds if found is not None]
    count = len(gained)
    if not count:
        why = [UNMEASURED] if audit.unmeasured else []
        return ["No growth round has had its loss measured again.", *why, *at_once]
    told = [
        f"The loss fell after {sum(gain > 0 for gain in gained):,} of "
        f"{plural(count, 'growth round')}."
    ]
    if audit.spearman is None:
        told.append(
            "These are too few for a correlation."
            if count < 3
            else "They are too much alike for a correlation."
        )
    else:
        linear = "" if audit.pearson is None else f" (linearly by {audit.pearson:.2f})"
        told.append(
            f"Predicted and realised gains correlate by {audit.spearman:.2f} by rank{linear}."
        )
        if audit.control is not None:
            told.append(
                "The control, what the interval before the round had gained, correlates with the "
                f"realised gains by {audit.control:.2f} by rank."
            )
        if count < _FEW:
            told.append(
                f"Of {plural(count, 'round')}, chance alone makes correlations of up to "
                f"{chance(count):.2f} either way in nineteen of twenty runs."
            )
    if audit.ratio is not None:
        told.append(f"The median round gained {audit.ratio:.2g} times what was predicted.")
    return told + ([] if audit.own is None else own_words(audit.own)) + at_once


def own_words(own: Own) -> list[str]:
    """What edits gained by themselves, beside copies that trained on without them."""
    told = [
        f"Beside copies that trained on without the edits, up to {plural(own.steps, 'step')}, they "
        f"gained by themselves in {own.positive:,} of {plural(own.count, 'round')}; coins would "
        f"fall so often or more in {luck(own.positive, own.count):.2g} of runs."
    ]
    if own.spearman is not None:
        few = ""
        if own.count < _FEW:
            few = f", where chance alone makes up to {chance(own.count):.2f}"
        control = "" if own.control is None else f", the control by {own.control:.2f}"
        told.append(
            f"Predicted gains and own effects correlate by {own.spearman:.2f} by rank"
            f"{control}{few}."
        )
    if own.exact is not None and own.factors is not None:
        told.append(
            "Gains by the whole Fisher matrix of the deciding sample correlate with own effects by "
            f"{own.exact:.2f} and with the predicted ones by {own.factors:.2f} by rank."
        )
    if own.ratio is not None:
        told.append(f"The median own effect is {own.ratio:.2g} times what was predicted.")
    return told


def luck(heads: int, count: int) -> float:
    """The share of throws of `count` coins that show at least `heads` heads."""
    ways = sum(math.comb(count, k) for k in range(heads, count + 1))
    return ways / (1 << count)


def chance(count: int) -> float:
    """The size that a correlation of ranks of unrelated values stays below, 19 times of 20.

    Its standard deviation is `1 / sqrt(n - 1)`; the normal distribution is near enough for words.
    """
    return min(1.0, 1.96 / math.sqrt(count - 1))


def at_once_words(what: str, found: AtOnce) -> str:
    """What prunings or additions did to the loss, in a sentence."""
    return (
        f"{plural(found.count, what)}: the loss was predicted to change by "
        f"{found.predicted:+.3g} in all, and changed by {found.realised:+.3g} at once; "
        f"{found.agreeing:,} of {found.count:,} in the predicted direction."
    )
