from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from senn_cli.report.audit import Audit, AuditedRound, Own
from senn_cli.report.verdict import audit_words, chance, luck, own_words


def audited(
    gains: list[float],
    *,
    spearman: float | None = None,
    control: float | None = None,
    ratio: float | None = None,
) -> Audit:
    rounds = tuple(AuditedRound(10 * k, 1, 0.5, 10 * k + 10, g, None) for k, g in enumerate(gains))
    pearson = None if spearman is None else 0.875
    return Audit(rounds, pearson, spearman, ratio, control)


def test_nothing_to_tell() -> None:
    nothing = ["No growth round has had its loss measured again."]
    unmeasured = AuditedRound(10, 1, 0.5, None, None, None)
    assert audit_words(Audit((), None, None, None, None)) == nothing
    assert audit_words(Audit((unmeasured,), None, None, None, None)) == nothing


def test_how_many_rounds_gained_comes_first_and_the_correlation_by_rank_second() -> None:
    told = audit_words(audited([0.25, -0.125, 0.5, 0.0], spearman=0.4, control=0.8, ratio=0.5))
    assert told == [
        "The loss fell after 2 of 4 growth rounds.",
        "Predicted and realised gains correlate by 0.40 by rank (linearly by 0.88).",
        "The control, what the interval before the round had gained, correlates with the realised "
        "gains by 0.80 by rank.",
        "Of 4 rounds, chance alone makes correlations of up to 1.00 either way in nineteen of "
        "twenty runs.",
        "The median round gained 0.5 times what was predicted.",
    ]


def test_eight_rounds_are_called_few_and_no_verdict_is_given() -> None:
    text = " ".join(audit_words(audited([0.25] * 8, spearman=0.7, control=0.1)))
    assert "Of 8 rounds, chance alone makes correlations of up to 0.74" in text
    assert "more than that" not in text
    assert "chance" not in " ".join(audit_words(audited([0.25] * 30, spearman=0.7)))


def test_too_few_or_too_much_alike_for_a_correlation() -> None:
    assert audit_words(audited([0.25])) == [
        "The loss fell after 1 of 1 growth round.",
        "These are too few for a correlation.",
    ]
    assert audit_words(audited([0.25] * 3))[1] == "They are too much alike for a correlation."


@pytest.mark.parametrize("count", [8, 15, 30])
def test_what_chance_makes_of_unrelated_ranks(count: int) -> None:
    rng = np.random.default_rng(0)
    found = [
        abs(stats.spearmanr(rng.permutation(count), rng.permutation(count)).statistic)
        for _ in range(2000)
    ]
    assert np.mean(np.array(found) <= chance(count)) == pytest.approx(0.95, abs=0.02)


def test_own_effects_are_told_beside_what_chance_makes() -> None:
    assert own_words(Own(4, 3, 10, 0.5, 0.25, 0.125)) == [
        "Beside copies that trained on without the edits, up to 10 steps, they gained by "
        "themselves in 3 of 4 rounds; coins would fall so often or more in 0.31 of runs.",
        "Predicted gains and own effects correlate by 0.50 by rank, the control by 0.12, where "
        "chance alone makes up to 1.00.",
        "The median own effect is 0.25 times what was predicted.",
    ]
    assert len(own_words(Own(2, 2, 10, None, None))) == 1
    told = audit_words(Audit((AuditedRound(1, 1, 0.5, 2, 0.25, None),), None, None, None, None))
    assert not any("copies" in text for text in told)


@pytest.mark.parametrize(("heads", "count"), [(0, 3), (3, 4), (8, 8), (150, 2000)])
def test_luck_is_that_of_coins(heads: int, count: int) -> None:
    assert luck(heads, count) == pytest.approx(stats.binom.sf(heads - 1, count, 0.5))
