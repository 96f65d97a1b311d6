"""Which checkpoints are kept: each rule by hand, and what must hold for any run of saves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.runs.keep import KeepRules, best_step, evicted

HUNDREDS = range(100, 1100, 100)


def test_the_newest_are_kept() -> None:
    assert evicted(HUNDREDS, {}, KeepRules(keep=3)) == {100, 200, 300, 400, 500, 600, 700}
    assert evicted([300, 100, 200], {}, KeepRules(keep=2)) == {100}  # in any order
    assert evicted([7], {}, KeepRules(keep=1)) == set()
    assert evicted([], {}, KeepRules()) == set()


def test_the_best_is_kept_however_old() -> None:
    metrics = {100: 0.5, 200: 0.1, 300: 0.2, 400: 0.3, 500: None}
    assert evicted(metrics, metrics, KeepRules(keep=1, best=True)) == {100, 300, 400}
    assert evicted(metrics, metrics, KeepRules(keep=1, best=True, maximise=True)) == {200, 300, 400}
    assert evicted(metrics, metrics, KeepRules(keep=1)) == {100, 200, 300, 400}


def test_the_earliest_of_equals_is_the_best() -> None:
    assert best_step([3, 1, 2], {1: 0.9, 2: 0.9, 3: 0.8}, maximise=True) == 1


def test_what_is_not_finite_is_never_the_best() -> None:
    metrics = {1: math.nan, 2: -math.inf, 3: math.inf, 4: 7.0, 5: None}
    assert best_step([*metrics, 6], metrics, maximise=False) == 4
    assert best_step([*metrics, 6], metrics, maximise=True) == 4
    assert best_step([1, 2, 3, 5, 6], metrics, maximise=False) is None


def test_one_an_interval_is_kept_for_ever() -> None:
    rules = KeepRules(keep=1, keep_every_steps=300)
    # Intervals 1-300, 301-600, 601-900 and 901-1200: their newest are 300, 600, 900 and 1000.
    assert set(HUNDREDS) - evicted(HUNDREDS, {}, rules) == {300, 600, 900, 1000}
    # Checkpoints by the clock fall between the multiples.
    assert set() == evicted([290, 590, 880], {}, rules)
    assert evicted([0, 120, 290, 310, 590, 610], {}, rules) == {0, 120, 310}


@pytest.mark.parametrize("wrong", [{"keep": 0}, {"keep_every_steps": 0}])
def test_faulty_rules(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="should be at least 1, found 0"):
        KeepRules(**wrong)  # type: ignore[arg-type]


metric = st.one_of(st.none(), st.floats(), st.integers(0, 3).map(float))
runs = st.dictionaries(st.integers(0, 60), metric, min_size=1, max_size=25)
rules_of = st.builds(
    KeepRules, st.integers(1, 5), st.none() | st.integers(1, 25), st.booleans(), st.booleans()
)


@given(runs, rules_of)
def test_what_is_kept_is_what_a_rule_names(run: dict[int, float | None], rules: KeepRules) -> None:
    gone = evicted(run, run, rules)
    kept = set(run) - gone
    assert gone <= set(run)
    newest = sorted(run)[-rules.keep :]
    assert set(newest) <= kept
    assert max(run) in kept
    finite = {s: v for s, v in run.items() if v is not None and math.isfinite(v)}
    if rules.best and finite:
        best = (max if rules.maximise else min)(finite.values())
        assert any(finite.get(step) == best for step in kept)
    for step in kept - set(newest):
        alone = rules.keep_every_steps is not None and not any(
            step < other <= math.ceil(step / rules.keep_every_steps) * rules.keep_every_steps
            for other in run
        )
        is_best = rules.best and step == best_step(run, run, maximise=rules.maximise)
        assert is_best or (alone and step > 0)
    if rules.keep_every_steps is not None:
        interval = rules.keep_every_steps
        assert {math.ceil(s / interval) for s in run} - {0} <= {
            math.ceil(s / interval) for s in kept
        }


@given(runs, rules_of)
def test_after_every_save_is_as_once_at_the_end(
    run: dict[int, float | None], rules: KeepRules
) -> None:
    kept: set[int] = set()
    for step in sorted(run):
        kept.add(step)
        kept -= evicted(kept, run, rules)
    assert kept == set(run) - evicted(run, run, rules)
    assert evicted(kept, run, rules) == set()
