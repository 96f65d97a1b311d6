"""Which columns of a table a spec chooses: by name, or by number from 1."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from senn_cli.data.encoding import Encoding
from senn_cli.data.table import Table
from senn_cli.errors import DataError
from senn_cli.spec.tables import TableSpec


def targets_of(table: Table, spec: TableSpec, known: Encoding | None) -> tuple[str, ...]:
    """The names of the columns to predict."""
    if spec.target is None:
        if known is not None:
            return known.targets
        if table.targets:
            return _fitting(table.targets, spec)
        if table.named:
            raise DataError(
                f"data.target is missing: which column of {table.name} is to be predicted? They "
                f"are {', '.join(table.header)}",
                hint=f"for example data.target: {table.header[-1]}",
            )
        return (table.header[-1],)
    wanted = spec.target if isinstance(spec.target, tuple) else (spec.target,)
    return _fitting(_all_named(table, wanted, "data.target"), spec)


def _fitting(targets: tuple[str, ...], spec: TableSpec) -> tuple[str, ...]:
    if spec.task == "classification" and len(targets) != 1:
        raise DataError(
            f"data.target names {len(targets)} columns; a classification has one",
            hint="for several numbers write data.task: regression, for several labels of 0 and 1 "
            "data.task: multilabel",
        )
    return targets


def weights_of(table: Table, spec: TableSpec, targets: Sequence[str]) -> tuple[str, ...]:
    """The name of the column with the weights of examples, if the spec names one."""
    if spec.weights is None:
        return ()
    name = _named(table, spec.weights, "data.weights")
    if name in targets:
        raise DataError(f"data.weights names {name!r}, which data.target names too")
    return (name,)


def features_of(table: Table, spec: TableSpec, taken: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns to learn from; those that are `taken` are targets and weights."""
    names = [name for name in table.header if name not in taken]
    if spec.columns is not None:
        names = list(_all_named(table, spec.columns, "data.columns"))
    out = set(_all_named(table, spec.drop, "data.drop"))
    for key, chosen in (("columns", names if spec.columns is not None else ()), ("drop", out)):
        both = [name for name in taken if name in chosen]
        if both:
            by = "weights" if both[0] == taken[-1] and spec.weights is not None else "target"
            raise DataError(f"data.{key} names {both[0]!r}, which data.{by} names too")
    names = [name for name in names if name not in out]
    if not names:
        raise DataError(f"{table.name} has no column besides {', '.join(taken)} to learn from")
    return tuple(names)


def categories_of(table: Table, wanted: Sequence[str | int], features: Sequence[str]) -> list[str]:
    """The columns that `data.categories` names, which must be among the features."""
    names = list(_all_named(table, wanted, "data.categories"))
    for name in names:
        if name not in features:
            raise DataError(f"data.categories names {name!r}, which is no column to learn from")
    return names


def _all_named(table: Table, columns: Sequence[str | int], asked_by: str) -> tuple[str, ...]:
    """The names of some columns; a column of vectors stands for its elements."""
    found: list[str] = []
    for one in columns:
        vector = table.vectors.get(one) if isinstance(one, str) else None
        found += vector if vector is not None else [_named(table, one, asked_by)]
    return tuple(found)


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
