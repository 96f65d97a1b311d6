"""Splits and subsets as functions of (seed, purpose) alone.

A permutation is the order of raw 64-bit draws of PCG64. NumPy guarantees that stream for good,
which it does not for `Generator.permutation`: a seed gives the same parts with every version.
"""

from __future__ import annotations

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError
from senn_cli.randomness import purpose_number
from senn_cli.words import plural

_NUMBERS = "; for numbers to predict, write data.task: regression"


def seed_sequence(seed: int, purpose: str) -> np.random.SeedSequence:
    """The root of randomness for one purpose; different purposes never share draws."""
    return np.random.SeedSequence([seed, purpose_number(f"data/{purpose}")])


def generator(seed: int, purpose: str) -> np.random.Generator:
    """A random generator that depends on `seed` and `purpose` and nothing else."""
    return np.random.Generator(np.random.PCG64(seed_sequence(seed, purpose)))


def permutation(count: int, seed: int, purpose: str) -> Array:
    """A random order of the numbers below `count`, int64 `(count,)`."""
    draws = np.random.PCG64(seed_sequence(seed, purpose)).random_raw(count)
    return np.argsort(draws, kind="stable").astype(np.int64)


def hold_out(
    total: int, count: int, labels: Array | None, *, seed: int, purpose: str
) -> tuple[Array, Array]:
    """Splits the rows below `total` into those that stay and `count` that are held out.

    With labels, every class is held out in proportion to its size (to within one example of
    `count * size / total`), and at least one example of every class stays: a class with a single
    member stays whole.

    Args:
      total: the number of rows.
      count: how many to hold out.
      labels: class numbers `(total,)`, or None for regression (a plain random split).
      seed: the spec's seed.
      purpose: what the split is for, e.g. "test"; part of the seed.

    Returns:
      (stay, held): sorted row numbers, int64, disjoint, together all rows.

    Raises:
      DataError: fewer than one example, or of a class, would stay.
    """
    classes = 0 if labels is None else len(np.unique(labels))
    least = 1 if labels is None else classes
    if total - count < least:
        many = classes > total // 2
        each = plural(classes, "class", "classes")
        what = "one example" if labels is None else f"one example of each of the {each}"
        raise DataError(
            f"data.{purpose} takes {count} of {total} examples, so fewer than {what} would be left",
            hint=f"take a smaller share or count for data.{purpose}" + (_NUMBERS if many else ""),
        )
    order = permutation(total, seed, f"split/{purpose}")
    if labels is None:
        held = order[:count]
    else:
        groups = _grouped(labels, order)
        quotas = _proportional([len(group) for group in groups], count)
        held = np.concatenate(
            [group[:quota] for group, quota in zip(groups, quotas, strict=True)], dtype=np.int64
        )
    mask = np.zeros(total, dtype=bool)
    mask[held] = True
    return np.flatnonzero(~mask).astype(np.int64), np.flatnonzero(mask).astype(np.int64)


def choose_subset(total: int, count: int, labels: Array | None, *, seed: int) -> Array:
    """The rows of a subset, balanced over the classes and nested in every larger one.

    The rows are dealt class by class in rounds, so that class sizes differ by at most one until a
    class runs out; the subset is the first `count` of that order, so that 10% is part of 20%.

    Args:
      total: the number of rows.
      count: the size of the subset.
      labels: class numbers `(total,)`, or None for regression (a plain random subset).
      seed: the spec's seed.

    Returns:
      Sorted row numbers, int64 `(count,)`.

    Raises:
      DataError: more than there are, or fewer than one of each class.
    """
    classes = 1 if labels is None else len(np.unique(labels))
    if count > total:
        asked = plural(count, "example")
        raise DataError(f"data.subset asks for {asked}, but there are {total} to train on")
    if count < classes:
        least = "one example" if labels is None else f"one example of each of {classes} classes"
        raise DataError(
            f"data.subset takes {count} of {total} examples, fewer than {least}",
            hint="take a larger share or count for data.subset",
        )
    order = permutation(total, seed, "subset")
    if labels is None:
        return np.sort(order[:count])
    groups = _grouped(labels, order)
    # Who comes first in a round is drawn too; otherwise low class numbers would get the odd ones.
    first = permutation(len(groups), seed, "subset/classes")
    rows = np.concatenate([groups[g] for g in first])
    rounds = np.concatenate([np.arange(len(groups[g])) for g in first])
    return np.sort(rows[np.argsort(rounds, kind="stable")[:count]])


def _grouped(labels: Array, order: Array) -> list[Array]:
    """The rows of every class that occurs, each in the given random order."""
    ordered = labels[order]
    return [order[ordered == label] for label in np.unique(labels)]


def _proportional(sizes: list[int], count: int) -> list[int]:
    """Shares `count` out in proportion to `sizes` by largest remainders, one of each size staying.

    Whole numbers throughout, so that no rounding of floats decides.
    """
    total = sum(sizes)
    quotas = [count * size // total for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (-(count * sizes[i] % total), i))
    while sum(quotas) < count:
        for i in by_remainder:
            if sum(quotas) < count and quotas[i] < sizes[i] - 1:
                quotas[i] += 1
    return quotas
