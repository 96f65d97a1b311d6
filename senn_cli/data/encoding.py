"""How the rows of a table become numbers: which columns, which categories, what stands for a gap.

It is fitted on the training part and kept with the run, so that every other table is read alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError
from senn_cli.words import plural

Fill = Literal["mean", "median", "most_frequent"]


@dataclass(frozen=True)
class Column:
    """A column that a network learns from.

    Attributes:
      name: in the table.
      categories: its values, each of which is an input; None for a column of numbers.
    """

    name: str
    categories: tuple[str, ...] | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of its inputs, such as `age`, or `city=Rome` and `city=Oslo`."""
        if self.categories is None:
            return (self.name,)
        return tuple(f"{self.name}={category}" for category in self.categories)


@dataclass(frozen=True)
class Encoding:
    """How rows become inputs.

    Attributes:
      features: the columns in the order of the inputs.
      targets: the names of the columns that are predicted.
      named: whether the names are the table's own, or `x1`, `x2`, ... by position.
      fill: what stands for a missing value, one number an input; None where none may be missing.
    """

    features: tuple[Column, ...]
    targets: tuple[str, ...] = ()
    named: bool = True
    fill: tuple[float, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        return tuple(column.name for column in self.features)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(name for column in self.features for name in column.inputs)

    @property
    def one_hot(self) -> Array:
        """Which inputs stand for categories, bool `(inputs,)`."""
        return np.array([c.categories is not None for c in self.features for _ in c.inputs])

    def encode(self, columns: Sequence[Column], x: Array) -> Array:
        """The inputs of rows, float64 `(N, inputs)`, with NaN where a value is missing.

        A category is an input of 1 among zeros; one that is not known here gives zeros alone.

        Args:
          columns: those of `x`, in the order of `features`; categories may be others.
          x: `(N, columns)`; of categories their numbers, NaN where a value is missing.
        """
        blocks = []
        for place, (own, other) in enumerate(zip(self.features, columns, strict=True)):
            values = x[:, place]
            if own.categories is None or other.categories is None:
                blocks.append(values[:, None])
                continue
            hit = [np.asarray(values == number) for number in _numbers(own, other)]
            block = np.stack(hit, axis=1).astype(np.float64)
            block[np.isnan(values)] = np.nan
            blocks.append(block)
        return np.concatenate(blocks, axis=1)

    def unknown(self, columns: Sequence[Column], x: Array) -> Iterator[str]:
        """A sentence for every column with categories that are not known here."""
        for place, (own, other) in enumerate(zip(self.features, columns, strict=True)):
            if own.categories is None or other.categories is None:
                continue
            new = [n for n, name in enumerate(other.categories) if name not in own.categories]
            count = int(np.isin(x[:, place], new).sum())
            if count:
                first = next(name for n, name in enumerate(other.categories) if n in new)
                yield (
                    f"in {count} of {plural(len(x), 'row')} {own.name!r} has a value that is not "
                    f"in the training part, such as {first!r}; its inputs are 0 there"
                )

    def filled(self, x: Array) -> Array:
        """Inputs without gaps.

        Raises:
          ValueError: there are gaps, but nothing to fill them with.
        """
        gaps = np.isnan(x)
        if not gaps.any():
            return x
        if self.fill is None:
            raise ValueError("values are missing, and the run has nothing that stands for them")
        return np.where(gaps, np.asarray(self.fill), x)

    def to_json(self) -> dict[str, Any]:
        """A mapping of plain values, read back by `from_json`."""
        return {
            "features": [
                {"name": c.name, "categories": None if c.categories is None else [*c.categories]}
                for c in self.features
            ],
            "targets": list(self.targets),
            "named": self.named,
            "fill": None if self.fill is None else list(self.fill),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Encoding:
        """What `to_json` described; ValueError, KeyError or TypeError if it is none."""
        features = tuple(
            Column(
                str(one["name"]),
                None if one["categories"] is None else tuple(map(str, one["categories"])),
            )
            for one in value["features"]
        )
        fill = None if value["fill"] is None else tuple(map(float, value["fill"]))
        found = cls(features, tuple(map(str, value["targets"])), bool(value["named"]), fill)
        if fill is not None and len(fill) != len(found.inputs):
            raise ValueError(f"{len(fill)} values fill the gaps of {len(found.inputs)} inputs")
        return found


def fit(found: Encoding, x: Array, fill: Fill | None) -> Encoding:
    """The encoding of a training part.

    Categories are those that occur in it. A missing number is filled by the mean, the median or the
    most frequent value of its column (the smallest of several), as scikit-learn's SimpleImputer
    does; a missing category always by the most frequent one (the first in their order).

    Args:
      found: of all rows of the table.
      x: the training part, as `Encoding.encode` takes it.
      fill: None where no value may be missing.

    Raises:
      DataError: a column without any value.
    """
    features, numbers = [], []
    for place, column in enumerate(found.features):
        values = x[~np.isnan(x[:, place]), place]
        if not len(values):
            raise DataError(
                f"column {column.name!r} has no value in the training part",
                hint=f"leave it out: data.drop: [{column.name}]",
            )
        known, counts = np.unique(values, return_counts=True)
        if column.categories is not None:
            names = tuple(column.categories[int(number)] for number in known)
            features.append(replace(column, categories=names))
            numbers += [float(n == int(counts.argmax())) for n in range(len(known))]
            continue
        features.append(column)
        if fill == "most_frequent":
            numbers.append(float(known[counts.argmax()]))
        else:
            numbers.append(float(np.median(values) if fill == "median" else np.mean(values)))
    return replace(found, features=tuple(features), fill=None if fill is None else tuple(numbers))


def _numbers(own: Column, other: Column) -> list[int]:
    """The numbers that another table gives to the own categories; -1 for those it has not."""
    assert own.categories is not None and other.categories is not None
    numbers = {name: number for number, name in enumerate(other.categories)}
    return [numbers.get(name, -1) for name in own.categories]
