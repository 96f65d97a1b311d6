from __future__ import annotations

import numpy as np

from senn_cli.report.page.fewer import LEAST, extremes, foremost, share


def test_few_rows_are_all_kept() -> None:
    assert extremes([[1, 2, 3], [0.5, None, 0.25]], 3) == [0, 1, 2]
    assert extremes([], 3) == []
    assert foremost([True, False], [None, 1.0], 2) == [0, 1]


def test_extremes_of_every_stretch_stay() -> None:
    rng = np.random.default_rng(0)
    count, most = 20_000, 600
    columns = [list(range(count)), *rng.standard_normal((3, count)).tolist()]
    kept = extremes(columns, most)
    assert len(kept) <= most + 2
    assert (kept[0], kept[-1]) == (0, count - 1)
    length = 256  # the power of two with at most 600 / 6 stretches
    assert -(-count // length) <= most // 6 < -(-count // (length // 2))
    chosen = set(kept)
    for column in np.array(columns[1:]):
        for start in range(0, count, length):
            stretch = column[start : start + length]
            assert {start + int(stretch.argmin()), start + int(stretch.argmax())} <= chosen


def test_a_column_with_gaps_has_its_extremes() -> None:
    values: list[float | None] = [None] * 1000
    values[417], values[418] = -5.0, 7.0
    kept = extremes([list(range(1000)), [0.0] * 1000, values], 40)
    assert {417, 418} <= set(kept)
    assert len(kept) <= 42


def test_what_was_chosen_stays_while_a_run_goes_on() -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal(3100).tolist()
    before = extremes([list(range(2500)), values[:2500]], 100)
    after = extremes([list(range(3100)), values], 100)
    whole = 2500 // 64 * 64  # both in stretches of 64
    assert [place for place in after if place < whole] == [p for p in before if p < whole]


def test_those_that_come_first_and_the_highest_of_the_others() -> None:
    first = [place % 10 == 0 for place in range(100)]
    scores: list[float | None] = [float(place % 7) for place in range(100)]
    scores[55] = None
    kept = foremost(first, scores, 30)
    assert set(range(0, 100, 10)) <= set(kept)
    assert len(kept) <= 30
    assert kept == sorted(kept)
    others = [place for place in range(100) if place % 10]
    for start in range(0, len(others), 8):  # 90 others in at most 20 stretches
        stretch = others[start : start + 8]
        best = max(scores[place] or 0.0 for place in stretch)
        (chosen,) = set(stretch) & set(kept)
        assert scores[chosen] == best


def test_where_too_many_come_first_the_last_ones_do() -> None:
    assert foremost([True] * 9 + [False], [0.0] * 10, 3) == [6, 7, 8]


def test_what_one_of_many_runs_gets() -> None:
    assert (share(6000, 1), share(6000, 3), share(6000, 100)) == (6000, 2000, LEAST)
