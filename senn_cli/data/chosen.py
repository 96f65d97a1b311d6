"""Which columns of a table a spec chooses: by name, or by number from 1."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from senn_cli.data.encoding import Encoding
from senn_cli.data.table import Table
from senn_cli.errors import DataError
from senn_cli.spec.data import CsvSpec


def targets_of(table: Table, spec: CsvSpec, known: Encoding | None) -> tuple[str, ...]:
    """The names of the columns to predict."""
    if spec.target is None:
        if known is not None:
            return known.targets
        if table.named:
            raise DataError(
                f"data.target is missing: which column of {table.name} is to be predicted? They "
                f"are {', '.join(table.header)}",
                hint=f"for example data.target: {table.header[-1]}",
            )
        return (table.header[-1],)
    wanted = spec.target if isinstance(spec.target, tuple) else (spec.target,)
    if spec.task == "classification" and len(wanted) != 1:
        raise DataError(f"data.target names {len(wanted)} columns; a classification has one")
    return tuple(_named(table, one, "data.target") for one in wanted)


def features_of(table: Table, spec: CsvSpec, targets: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns to learn from."""
    names = [name for name in table.header if name not in targets]
    if spec.columns is not None:
        names = [_named(table, one, "data.columns") for one in spec.columns]
    out = {_named(table, one, "data.drop") for one in spec.drop}
    for key, chosen in (("columns", names if spec.columns is not None else ()), ("drop", out)):
        both = [name for name in targets if name in chosen]
        if both:
            raise DataError(f"data.{key} names {both[0]!r}, which data.target names too")
    names = [name for name in names if name not in out]
    if not names:
        raise DataError(f"{table.name} has no column besides {', '.join(targets)} to learn from")
    return tuple(names)


def categories_of(table: Table, wanted: Sequence[str | int], features: Sequence[str]) -> list[str]:
    """The columns that `data.categories` names, which must be among the features."""
    names = [_named(table, one, "data.categories") for one in wanted]
    for name in names:
        if name not in features:
            raise DataError(f"data.categories names {name!r}, which is no column to learn from")
    return names


def _named(table: Table, column: str | int, asked_by: str) -> str:
    """The name of a column that is given by its name or by its number, from 1."""
    if isinstance(column, str):
        require(table, column, asked_by)
        return column
    if column > len(table.header):
        raise DataError(
            f"{asked_by} names column {column}, but {table.name} has {len(table.header)}"
        )
    return table.header[column - 1]


def require(table: Table, name: str, asked_by: str) -> None:
    """Raises DataError where a table lacks a column, which `asked_by` names."""
    if name in table.header:
        return
    close = get_close_matches(name, table.header, n=1)
    raise DataError(
        f"{table.name} has no column {name!r}, which {asked_by} names; "
        f"its columns are {', '.join(table.header)}",
        hint=f"did you mean {close[0]!r}?" if close else None,
    )
