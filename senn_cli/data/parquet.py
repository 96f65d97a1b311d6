"""`source: parquet`: a file of Apache Parquet, or a folder of them, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from senn_cli.data.frames import table_of
from senn_cli.data.table import Table
from senn_cli.errors import DataError
from senn_cli.extras import require
from senn_cli.given import looks_like, require_file
from senn_cli.words import plural

SUFFIXES = (".parquet", ".pq", ".parq")


def read_parquet(path: Path) -> Table:
    """Reads a file, or the files below a folder one after the other, in the order of their paths.

    All files must have the same columns, in any order. Columns keep their types: booleans and text
    are categories, dictionaries are categories whatever they hold, decimals become float64.

    Raises:
      DataError: no or damaged files, files with other columns, or columns that a network cannot
        learn from.
      UsageError: pyarrow is not installed.
    """
    pa = require("pyarrow", "Reading Parquet files", extra="parquet")
    files = _files(path)
    tables = [_read(file) for file in files]
    _require_alike(files, tables)
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"{path}: a column has types that cannot be joined: {error}") from error
    found = table_of(whole, str(path))
    if len(files) == 1:
        return found
    return replace(found, notes=(f"{path.name}: {plural(len(files), 'file')} of Parquet",))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise DataError(f"{path} cannot be read: No such file or directory")
        require_file(path)
        return [path]
    inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
    # Writers of many files leave marks of their own that begin so.
    files = [f for f in inside if not any(p[0] in "._" for p in f.relative_to(path).parts)]
    if not files:
        raise DataError(
            f"{path} holds no Parquet files", hint=f"their names end with {' or '.join(SUFFIXES)}"
        )
    parted = [file for file in files if "=" in str(file.relative_to(path).parent)]
    if parted:
        raise DataError(
            f"{parted[0]}: the name of its folder holds values of a column, which would be lost",
            hint="write the table without partitions",
        )
    return files


def _read(file: Path) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file).read()
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own are among these
        like = looks_like(file)
        if like == "a Parquet table":
            raise DataError(f"{file} is damaged or incomplete: {error}") from error
        seems = "" if like is None else f"; it looks like {like}"
        raise DataError(f"{file} is no Parquet file{seems}") from error


def _require_alike(files: Sequence[Path], tables: Sequence[Any]) -> None:
    names = set(tables[0].column_names)
    for file, table in zip(files, tables, strict=True):
        other = names.symmetric_difference(table.column_names)
        if other:
            raise DataError(
                f"{file} has other columns than {files[0]}: {', '.join(sorted(other))} in one of "
                "them alone"
            )
