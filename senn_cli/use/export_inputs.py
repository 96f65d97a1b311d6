"""What an export takes: examples in their own shape and type, or the columns of a table by name.

Inside senn an example of a table is a row of numbers, in which `city=Rome` is 1 or 0. Other
programs have the table itself: numbers and texts, a column each. Both ways are here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.encoding import Column
from senn_cli.data.preprocessing import Preprocessing

EXAMPLES = "examples"
"""The name of the only input, where it is not a column."""

_GAPS = 0.1
"""The share of missing values among random examples, where a run has something for these."""


@dataclass(frozen=True)
class Input:
    """One input of an export.

    Attributes:
      name: `examples`, or that of a column.
      dtype: uint8, float32, float64 or string.
      shape: of one example; (1,) of a column.
      column: None where the input is no column.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    column: Column | None = None


def whole(how: Preprocessing) -> Input:
    """Examples as one array, as they are stored."""
    return Input(EXAMPLES, how.dtype, how.shape)


def by_column(how: Preprocessing) -> tuple[Input, ...]:
    """The columns of a table that has names, or texts; else `whole`."""
    known = how.encoding
    if known is None or not (known.named or known.one_hot.any()):
        return (whole(how),)
    return tuple(
        Input(column.name, "string" if column.categories is not None else "float64", (1,), column)
        for column in known.features
    )


def described(inputs: Sequence[Input]) -> list[dict[str, Any]]:
    """The inputs as plain values, for the description in an export."""
    found = []
    for one in inputs:
        entry: dict[str, Any] = {"name": one.name, "type": one.dtype, "shape": ["b", *one.shape]}
        if one.column is not None and one.column.categories is not None:
            entry["categories"] = list(one.column.categories)
        found.append(entry)
    return found


def columns_of(inputs: Sequence[Input], x: Array) -> dict[str, Array]:
    """The columns of a table whose rows are the numbers `x` (N, inputs).

    Zeros for all categories become a text that is none of them, NaN the empty text.
    """
    found, place = {}, 0
    for one in inputs:
        assert one.column is not None
        categories = one.column.categories
        if categories is None:
            found[one.name] = x[:, place : place + 1].astype(np.float64)
            place += 1
            continue
        block = x[:, place : place + len(categories)]
        place += len(categories)
        names = np.array([*categories, "".join(categories) + "?", ""], object)
        number = np.where(block.any(axis=1), block.argmax(axis=1), len(categories))
        number = np.where(np.isnan(block).any(axis=1), len(categories) + 1, number)
        found[one.name] = names[number][:, None]
    return found


def random_examples(how: Preprocessing, rng: np.random.Generator, n: int) -> Array:
    """Examples of a run `(n, size)`, standard normal after scaling where they are numbers.

    Those of 8 bits are rounded; of a table a category is one of the known, or none, and some values
    are missing where they may be. Else float32, which all formats take.
    """
    normal = rng.standard_normal((n, *how.shape)).astype(np.float32)
    found: Array = (normal / how.scale + how.shift).astype(np.float32).reshape(n, -1)
    if how.dtype == "uint8":
        return np.clip(np.rint(found), 0, 255).astype(np.uint8)
    known = how.encoding
    if known is None:
        return found
    place = 0
    for column in known.features:
        width = len(column.inputs)
        if column.categories is not None:
            number = rng.integers(0, width + 1, n)
            found[:, place : place + width] = number[:, None] == np.arange(width)
        if known.fill is not None:
            found[rng.random(n) < _GAPS, place : place + width] = np.nan
        place += width
    return found


def some_row(how: Preprocessing) -> dict[str, list[Any]]:
    """A row of a table: the mean of every number, rounded, and a category of every text."""
    assert how.encoding is not None
    means = np.broadcast_to(how.shift, how.shape).reshape(-1).tolist()
    row: dict[str, list[Any]] = {}
    place = 0
    for column in how.encoding.features:
        number = float(f"{means[place]:.6g}")
        row[column.name] = [number if column.categories is None else column.categories[0]]
        place += len(column.inputs)
    return row


def quoted(text: object) -> str:
    """A text, or a path, as a literal of Python in double quotes."""
    return json.dumps(str(text), ensure_ascii=False)


def call_of(how: Preprocessing, inputs: Sequence[Input]) -> str:
    """An example as a line of Python, `x = ...`, for the usage of an export."""
    if inputs[0].column is not None:
        return f"x = {some_row(how)!r}  # columns of a table"
    shape = (1, *inputs[0].shape)
    what = "your examples" if how.encoding is None else "the numbers of the features"
    return f'x = np.zeros({shape}, "{inputs[0].dtype}")  # {what}'


def module_usage(how: Preprocessing, file: Path, call: str, axis: str) -> tuple[str, ...]:
    """Lines of Python that load an export which is a module, and run it.

    Args:
      file: the module, `network.py`.
      call: what gives the answers of `x`.
      axis: what the framework calls an axis.
    """
    named = f"print([model.classes[i] for i in answers.argmax({axis}=1)])"
    return (
        f"import sys; sys.path.insert(0, {quoted(file.parent)})",
        "import network, numpy as np",
        call_of(how, by_column(how)),
        f"model = network.load(); answers = {call}",
        named if how.task == "classification" else "print(answers)",
    )
