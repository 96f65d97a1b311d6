"""Which checkpoints are kept: each rule by hand, and what must hold for any run of saves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.runs.keep import KeepRules, best_moments, evicted

HUNDREDS = range(100, 1100, 100)


def test_the_newest_are_kept() -> None:
    assert evicted(HUNDREDS, KeepRules(keep=3)) == {100, 200, 300, 400, 500, 600, 700}
    assert evicted([300, 100, 200], KeepRules(keep=2)) == {100}  # in any order
    assert evicted([7], KeepRules(keep=1)) == set()
    assert evicted([], KeepRules()) == set()


def test_every_checkpoint_keeps_the_best_moment_of_its_time() -> None:
    # At step 12 the best was that of 10, at 25 that of 20, at 30 its own.
    assert best_moments([10, 20, 30, 40], [12, 25, 30]) == {10, 20, 30}
    assert best_moments([30, 10], [25, 26, 29]) == {10}
    assert best_moments([10], [9]) == set()  # nothing was the best yet
    assert best_moments([], [1]) == best_moments([1], []) == set()


def test_one_an_interval_is_kept_for_ever() -> None:
    rules = KeepRules(keep=1, keep_every_steps=300)
    # Intervals 1-300, 301-600, 601-900 and 901-1200: their newest are 300, 600, 900 and 1000.
    assert set(HUNDREDS) - evicted(HUNDREDS, rules) == {300, 600, 900, 1000}
    # Checkpoints by the clock fall between the multiples.
    assert set() == evicted([290, 590, 880], rules)
    assert evicted([0, 120, 290, 310, 590, 610], rules) == {0, 120, 310}


@pytest.mark.parametrize("wrong", [{"keep": 0}, {"keep_every_steps": 0}])
def test_faulty_rules(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="should be at least 1, found 0"):
        KeepRules(**wrong)  # type: ignore[arg-type]


runs = st.sets(st.integers(0, 60), min_size=1, max_size=25)
rules_of = st.builds(KeepRules, st.integers(1, 5), st.none() | st.integers(1, 25))


@given(runs, rules_of)
def test_what_is_kept_is_what_a_rule_names(run: set[int], rules: KeepRules) -> None:
    gone = evicted(run, rules)
    kept = run - gone
    assert gone <= run
    newest = sorted(run)[-rules.keep :]
    assert set(newest) <= kept
    assert max(run) in kept
    for step in kept - set(newest):
        assert step > 0 and rules.keep_every_steps is not None
        end = math.ceil(step / rules.keep_every_steps) * rules.keep_every_steps
        assert not any(step < other <= end for other in run)
    if rules.keep_every_steps is not None:
        interval = rules.keep_every_steps
        assert {math.ceil(s / interval) for s in run} - {0} <= {
            math.ceil(s / interval) for s in kept
        }


@given(runs, rules_of)
def test_after_every_save_is_as_once_at_the_end(run: set[int], rules: KeepRules) -> None:
    kept: set[int] = set()
    for step in sorted(run):
        kept.add(step)
        kept -= evicted(kept, rules)
    assert kept == run - evicted(run, rules)
    assert evicted(kept, rules) == set()
