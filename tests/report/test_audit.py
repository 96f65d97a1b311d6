from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from senn_cli.report.audit import AtOnce, AuditedRound, audit, correlation, ranks
from senn_cli.report.timeline import merged, timeline
from senn_cli.report.verdict import audit_words
from tests.handmade import added, event, inserted, record, row


def test_every_round_by_hand() -> None:
    found = audit(
        record(
            history=[
                event(10, [2], train_loss=1.0),
                added(20, [3], 0, 0.125, train_loss=0.75),  # two edits of one round
                added(20, [4], 0, 0.0625, train_loss=0.75),
                event(20, [4], train_loss=0.75, predicted_gain=9.0),  # a rejection promises nothing
                event(30, [4], train_loss=0.5),
                inserted(40, [4, 4], 1, 0.5, train_loss=0.625),
                event(50, [4, 4], "enlarge_capacity", layer=0, capacity=16, train_loss=0.5),
                added(60, [5, 4], 0, 0.25, train_loss=0.375),
            ],
            metrics=[row(60, [4, 4], train_loss=7.0), row(70, [5, 4], train_loss=0.25)],
        )
    )
    assert found.rounds == (
        # 0.75 to 0.5 until step 30; before, 1 to 0.75
        AuditedRound(20, 2, 0.1875, 30, 0.25, 0.25),
        # 0.625 to 0.5; before, 0.5 to 0.625
        AuditedRound(40, 1, 0.5, 50, 0.125, -0.125),
        # the last one: the metrics tell, 0.375 to 0.25
        AuditedRound(60, 1, 0.25, 70, 0.125, 0.125),
    )
    predicted, realised, before = [0.1875, 0.5, 0.25], [0.25, 0.125, 0.125], [0.25, -0.125, 0.125]
    assert found.pearson == pytest.approx(stats.pearsonr(predicted, realised).statistic)
    assert found.spearman == pytest.approx(stats.spearmanr(predicted, realised).statistic)
    assert found.control == pytest.approx(stats.spearmanr(before, realised).statistic)
    assert found.ratio == 0.5  # the median of 4/3, 1/4 and 1/2


def test_the_last_round_of_a_run_that_ended_there_is_not_measured() -> None:
    found = audit(record(history=[added(10, [3], 0, 0.5, train_loss=1.0)]))
    assert found.rounds == (AuditedRound(10, 1, 0.5, None, None, None),)
    assert (found.pearson, found.spearman, found.ratio, found.control) == (None,) * 4


def test_the_first_round_has_no_interval_before_it() -> None:
    history = [added(10, [3], 0, 0.5, train_loss=1.0), event(20, [3], train_loss=0.5)]
    (only,) = audit(record(history=history)).rounds
    assert (only.realised, only.before) == (0.5, None)


def test_rounds_that_measured_nothing_are_passed_over() -> None:
    history = [
        event(10, [2], train_loss=2.0),
        event(15, [2], train_loss=None),
        added(20, [3], 0, 0.5, train_loss=1.0),
        event(30, [3], train_loss=None),
        event(40, [3], train_loss=0.25),
    ]
    (only,) = audit(record(history=history)).rounds
    assert (only.until, only.realised, only.before) == (40, 0.75, 1.0)


def test_rounds_without_a_deciding_sample_tell_the_loss_that_they_measured() -> None:
    def measured(before: float, after: float) -> dict[str, float | None]:
        return {"train_loss": None, "loss_before": before, "loss_after": after}

    history = [
        added(10, [3], 0, 0.5, **measured(2.0, 2.0)),
        event(20, [3], train_loss=None),  # a rejection measures nothing
        added(30, [4], 0, 0.125, **measured(1.5, 1.625)),  # with a pruning in the same round
        event(30, [3], "prune_neurons", layer=0, neuron=1, **measured(1.5, 1.625)),
        event(40, [3], "prune_neurons", layer=0, neuron=1, **measured(1.25, 1.25)),
    ]
    found = audit(record(history=history))
    assert found.unmeasured == 0
    assert found.rounds == (
        AuditedRound(10, 1, 0.5, 30, 0.5, None),
        AuditedRound(30, 1, 0.125, 40, 0.25, 0.5),
    )


def test_nothing_grown_is_nothing_audited() -> None:
    assert audit(record()).rounds == ()
    assert audit(record(history=[event(10, [2], train_loss=1.0)])).rounds == ()


def test_pruning_predicts_no_gain() -> None:
    pruned = event(10, [1], "prune_neurons", layer=0, neuron=0, train_loss=1.0)
    assert audit(record(history=[pruned, event(20, [1], train_loss=0.5)])).rounds == ()


@pytest.mark.parametrize("seed", range(5))
def test_correlation_and_ranks_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, 30).astype(float)  # with ties
    y = x + rng.normal(size=30)
    assert correlation(x.tolist(), y.tolist()) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert ranks(x.tolist()) == stats.rankdata(x).tolist()
    assert correlation(ranks(x.tolist()), ranks(y.tolist())) == pytest.approx(
        stats.spearmanr(x, y).statistic
    )


def test_no_correlation_without_pairs_or_spread() -> None:
    assert correlation([1, 2], [1, 2]) is None
    assert correlation([1, 1, 1], [1, 2, 3]) is None
    assert correlation([1, 2, 3], [5, 5, 5]) is None
    assert correlation([1, 2, 3], [1, 2, float("inf")]) is None


def test_a_perfect_correlation() -> None:
    assert correlation([1, 2, 4], [3, 5, 9]) == pytest.approx(1.0)
    assert correlation([1, 2, 4], [-1, -2, -4]) == pytest.approx(-1.0)
    assert ranks([]) == []


def test_what_edits_gained_by_themselves_by_hand() -> None:
    losses = {10: 4.0, 20: 3.0, 30: 2.5, 40: 2.0}

    def forked(step: int, gain: float, fork: dict[str, float]) -> dict[str, Any]:
        told = {"steps": 4, "loss": 1.0, **fork}
        return added(step, [3], 0, gain, train_loss=losses[step], fork=told)

    found = audit(
        record(
            history=[
                event(5, [2], train_loss=6.0),
                forked(10, 0.5, {"without": 0.75, "with": 0.5}),
                forked(20, 0.25, {"without": 0.75, "with": 0.875}),
                forked(30, 0.125, {"without": 0.75, "with": 0.625}),
                forked(30, 0.125, {"without": 0.75, "with": 0.625}),  # of the same round
                forked(40, 1.0, {"without": 0.5}),  # with the edits it diverged
                added(50, [3], 0, 0.5, train_loss=1.0),  # before there were forks
            ]
        )
    )
    assert [each.own for each in found.rounds] == [0.25, -0.125, 0.125, None, None]
    assert [each.forked for each in found.rounds] == [4, 4, 4, 4, None]
    assert found.own is not None
    assert (found.own.count, found.own.positive, found.own.steps) == (3, 2, 4)
    wanted = stats.spearmanr([0.5, 0.25, 0.25], [0.25, -0.125, 0.125]).statistic
    assert found.own.spearman == pytest.approx(wanted)
    # The intervals before had gained 2, 1 and 0.5.
    wanted = stats.spearmanr([2.0, 1.0, 0.5], [0.25, -0.125, 0.125]).statistic
    assert found.own.control == pytest.approx(wanted)
    assert found.own.ratio == 0.5  # the median of 1/2, -1/2 and 1/2


def test_without_forks_nothing_is_said_of_own_effects() -> None:
    assert audit(record(history=[added(10, [3], 0, 0.5, train_loss=1.0)])).own is None


def test_additions_that_change_the_function_are_told_apart_from_prunings() -> None:
    declared = {"keeps_function": False, "train_loss": 0.75}
    made = record(
        history=[
            added(20, [3], 0, 0.25, **declared, predicted_change=-0.125, realised_change=-0.0625),
            added(20, [4], 0, 0.25, predicted_change=0.125, realised_change=-0.25)
            | {"keeps_function": False, "train_loss": 0.625},
            event(30, [3], "prune_neurons", layer=0, neuron=1, train_loss=0.25,
                  predicted_change=0.5, realised_change=0.25),
        ],
    )  # fmt: skip
    found = audit(made)
    assert found.additions == AtOnce(2, 0.0, -0.3125, 1)
    assert found.prunings == AtOnce(1, 0.5, 0.25, 1)
    told = audit_words(found)
    assert any(text.startswith("2 additions: the loss was predicted to change") for text in told)
    first, second, pruned = timeline(made, found)
    assert (first.losses, second.losses, pruned.losses) == ((0.75, 0.625), (0.625, 0.75), None)
    # The round gains until the next measurement, and of a pruning what it gained at once.
    assert (first.predicted, first.realised, second.realised) == (0.25, None, 0.5)
    assert (pruned.predicted, pruned.realised) == (-0.5, -0.25)
    (both, _) = merged([first, second, pruned])
    assert (both.losses, both.predicted) == ((0.75, 0.75), 0.5)
