from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from senn_cli.data.split import choose_subset, hold_out, permutation, seed_sequence
from senn_cli.errors import DataError
from senn_cli.spec.share import count_of

# Sizes of one to six classes; the labels are then laid out in a mixed order.
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=6)
SEEDS = st.integers(0, 2**70)


def mixed(sizes: list[int]) -> np.ndarray:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return labels[np.random.default_rng(sum(sizes)).permutation(len(labels))].astype(np.int32)


def counts(labels: np.ndarray, classes: int) -> np.ndarray:
    return np.bincount(labels, minlength=classes)


@given(SIZES, SEEDS, st.data())
def test_held_out_parts_are_disjoint_complete_and_stratified(
    sizes: list[int], seed: int, data: st.DataObject
) -> None:
    total, classes = sum(sizes), len(sizes)
    count = data.draw(st.integers(0, total - classes))
    labels = mixed(sizes)
    stay, held = hold_out(total, count, labels, seed=seed, purpose="test")
    assert len(held) == count
    assert sorted([*stay, *held]) == list(range(total))
    assert (counts(labels[stay], classes) >= 1).all()
    kept = counts(labels[held], classes)
    for size, k in zip(sizes, kept, strict=True):
        exact = count * size / total
        # To within one, but where a class must keep a last example and others take over.
        assert k > exact - 1 - 1e-9
        if all(count * other / total <= other - 1 for other in sizes):
            assert abs(k - exact) < 1 + 1e-9


@given(st.integers(1, 200), SEEDS, st.data())
def test_held_out_parts_of_a_regression(total: int, seed: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, total - 1))
    stay, held = hold_out(total, count, None, seed=seed, purpose="validation")
    assert len(held) == count
    assert sorted([*stay, *held]) == list(range(total))


@given(SIZES, st.data())
def test_too_many_held_out_is_an_error(sizes: list[int], data: st.DataObject) -> None:
    total = sum(sizes)
    count = data.draw(st.integers(total - len(sizes) + 1, total + 5))
    with pytest.raises(DataError, match="fewer than one example of each"):
        hold_out(total, count, mixed(sizes), seed=0, purpose="test")


@given(SIZES, SEEDS, st.data())
def test_subsets_are_balanced_and_nested(sizes: list[int], seed: int, data: st.DataObject) -> None:
    total, classes = sum(sizes), len(sizes)
    small = data.draw(st.integers(classes, total))
    large = data.draw(st.integers(small, total))
    labels = mixed(sizes)
    rows = choose_subset(total, small, labels, seed=seed)
    more = choose_subset(total, large, labels, seed=seed)
    assert len(rows) == len(set(rows.tolist())) == small
    assert set(rows.tolist()) <= set(more.tolist())
    kept = counts(labels[rows], classes)
    assert kept.min() >= 1
    # A class is smaller than the largest by more than one only if it is used up.
    for size, k in zip(sizes, kept, strict=True):
        assert k >= kept.max() - 1 or k == size


@given(st.integers(1, 100), SEEDS, st.data())
def test_subsets_of_a_regression_are_nested(total: int, seed: int, data: st.DataObject) -> None:
    small = data.draw(st.integers(1, total))
    large = data.draw(st.integers(small, total))
    rows = choose_subset(total, small, None, seed=seed)
    assert len(set(rows.tolist())) == small
    assert set(rows.tolist()) <= set(choose_subset(total, large, None, seed=seed).tolist())


@given(SEEDS, SEEDS)
def test_parts_depend_on_seed_and_purpose(one: int, other: int) -> None:
    assume(one != other)
    first = permutation(100, one, "a")
    assert np.array_equal(first, permutation(100, one, "a"))
    assert not np.array_equal(first, permutation(100, other, "a"))
    assert not np.array_equal(first, permutation(100, one, "b"))


def test_splits_do_not_depend_on_the_global_generator_or_the_order_of_calls() -> None:
    labels = mixed([20, 30])
    first = hold_out(50, 10, labels, seed=3, purpose="test")
    np.random.seed(0)
    hold_out(50, 20, labels, seed=3, purpose="validation")
    again = hold_out(50, 10, labels, seed=3, purpose="test")
    assert np.array_equal(first[1], again[1])


def test_a_permutation_is_the_order_of_the_raw_draws() -> None:
    # The definition must not change between releases: the splits of old runs hang on it.
    bits = np.random.PCG64(seed_sequence(7, "x"))
    draws = [int(bits.random_raw()) for _ in range(50)]
    assert permutation(50, 7, "x").tolist() == sorted(range(50), key=draws.__getitem__)


def test_a_single_member_class_stays_in_training() -> None:
    labels = np.array([0] * 99 + [1], dtype=np.int32)
    stay, _ = hold_out(100, 50, labels, seed=0, purpose="test")
    assert 99 in stay


def test_errors_of_subsets() -> None:
    labels = mixed([5, 5, 5])
    with pytest.raises(DataError, match=r"fewer than one example of each of 3 classes"):
        choose_subset(15, 2, labels, seed=0)
    with pytest.raises(DataError, match=r"asks for 16 examples, but there are 15"):
        choose_subset(15, 16, labels, seed=0)


@pytest.mark.parametrize(
    ("amount", "total", "expected"),
    [
        (0, 10, 0),
        (0.0, 10, 0),
        (7, 10, 7),
        (1, 10, 1),
        (1.0, 10, 10),
        (0.2, 1797, 359),
        (0.1, 4, 1),
        (0.25, 8, 2),
    ],
)
def test_counts_of_shares(amount: float, total: int, expected: int) -> None:
    assert count_of(amount, total) == expected
