"""Which line of a table names its columns, if any does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from senn_cli.data.numerals import is_missing, number
from senn_cli.words import plural

_LOOKED_AT = 100


@dataclass(frozen=True)
class Head:
    """What stands above the rows.

    Attributes:
      names: the names of the columns; None where nothing names them.
      skip: how many rows belong to it.
      classes: the names of classes in a line as scikit-learn writes it.
      notes: what was found, as sentences.
    """

    names: tuple[str, ...] | None
    skip: int
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def recognise(rows: Sequence[Sequence[str]]) -> Head:
    """The header of a table, told by what is in it.

    - A line such as `150,4,setosa,versicolor,virginica`, the numbers of rows and of features and
      the names of classes, is how scikit-learn's own files begin. They name no columns.
    - A first row without any number is a header.
    - So is one with numbers (years, say) where a text stands above a column of numbers.
    - Else the first row is one like the others.

    Args:
      rows: the cells of all rows, at least one.
    """
    first, rest = rows[0], rows[1:]
    if _is_metadata(first, rest):
        classes = tuple(first[2:])
        named = f" and the classes {', '.join(classes)}" if classes else ""
        return Head(
            None,
            1,
            classes,
            (
                f"the first line is scikit-learn's: {plural(len(rest), 'row')}, "
                f"{plural(len(rest[0]) - 1, 'feature')}{named}; "
                f"columns are called x1 to x{len(rest[0])}",
            ),
        )
    numeric = [number(cell) is not None for cell in first]
    if not any(numeric) and any(first):
        # Missing cells alone cannot be names.
        if not all(is_missing(cell) for cell in first):
            return Head(tuple(first), 1)
    elif any(
        not (numeric[place] or is_missing(cell)) and _is_numeric(rest, place)
        for place, cell in enumerate(first)
    ):
        return Head(tuple(first), 1)
    what = "all its cells are numbers" if all(numeric) else "it is like the others"
    return Head(
        None,
        0,
        notes=(
            f"the first line names no columns, as {what}; they are called x1 to x{len(first)} "
            "(`header: 1` takes it for names)",
        ),
    )


def _is_metadata(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    if len(first) < 2 or not rest:
        return False
    width = len(rest[0])
    sizes = first[0] == str(len(rest)) and first[1] == str(width - 1)
    return sizes and _is_numeric(rest, width - 1)


def _is_numeric(rows: Sequence[Sequence[str]], place: int) -> bool:
    cells = [row[place] for row in rows[:_LOOKED_AT] if place < len(row)]
    present = [cell for cell in cells if not is_missing(cell)]
    return bool(present) and all(number(cell) is not None for cell in present)
