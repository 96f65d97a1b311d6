from __future__ import annotations

import math

import pytest

from senn_cli.report.spark import ASCII, BLOCKS, is_logarithmic, resample, spark


def test_a_ramp_uses_every_level_once() -> None:
    assert spark([10, 11, 12, 13, 14, 15, 16, 17]) == BLOCKS
    assert spark([10, 11, 12, 13, 14, 15, 16, 17], levels=ASCII) == ASCII
    assert ASCII.isascii()


def test_counts_start_at_zero() -> None:
    assert spark([0, 7, 14], zero=True) == "▁▅█"
    assert spark([3, 3, 3], zero=True) == "███"
    assert spark([0, 0], zero=True) == "▁▁"


def test_equal_values_are_in_the_middle() -> None:
    assert set(spark([2.5, 2.5, 2.5])) == {"▄"}


def test_gaps_are_spaces() -> None:
    assert spark([None, 1, None, 2]) == " ▁ █"
    assert spark([None, None]) == "  "
    assert spark([]) == ""


def test_large_spans_are_logarithmic() -> None:
    # Three decades in equal steps of the exponent: 0, 1/3 and 2/3 of 7 levels, rounded, and 7.
    values = [1.0, 10.0, 100.0, 1000.0]
    assert is_logarithmic(values)
    assert spark(values) == "▁▃▆█"
    assert not is_logarithmic([1.0, 19.0])
    assert not is_logarithmic([0.0, 1000.0])
    assert not is_logarithmic([None])


def test_the_largest_floats_are_no_trouble() -> None:
    assert spark([-1.7e308, 0.0, 1.7e308]) == "▁▅█"


def test_columns_hold_means_and_the_next_value_where_they_have_none() -> None:
    # Columns end at 10, 20, 30, 40.
    points = [(5, 1.0), (10, 3.0), (11, 5.0), (40, 7.0)]
    assert resample(points, 0, 40, 4) == [2.0, 5.0, 7.0, 7.0]


def test_after_the_last_value_it_stays() -> None:
    assert resample([(20, 1.0)], 0, 40, 4) == [1.0, 1.0, 1.0, 1.0]
    assert resample([(10, 2.0), (20, 1.0)], 0, 40, 4) == [2.0, 1.0, 1.0, 1.0]
    assert resample([], 0, 40, 2) == [None, None]


def test_what_is_not_finite_or_outside_is_left_out() -> None:
    points = [(1, math.nan), (2, None), (3, 4.0), (4, math.inf), (99, 8.0)]
    assert resample(points, 0, 4, 1) == [4.0]


@pytest.mark.parametrize("count", [1, 7, 48])
def test_one_step_is_enough(count: int) -> None:
    assert len(resample([(0, 1.0)], 0, 0, count)) == count
