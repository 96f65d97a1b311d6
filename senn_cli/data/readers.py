"""Who reads the tables of a source: text, Parquet, scikit-learn's sets, Hugging Face's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from senn_cli.data import parquet, saved_splits, sklearn_sets
from senn_cli.data.table import Table
from senn_cli.data.text_table import read_table
from senn_cli.spec.tables import CsvSpec, HuggingfaceSpec, ParquetSpec, SklearnSpec, TableSpec


def first(spec: TableSpec, names: Sequence[str] | None = None) -> Table:
    """The table that is trained on, and held-out parts are cut from.

    Args:
      spec: the `data` section.
      names: columns that it must have, where they are known; a text's header is found by them.
    """
    match spec:
        case CsvSpec() | ParquetSpec():
            return _file(spec, spec.path, names)
        case SklearnSpec():
            return sklearn_sets.read_set(spec.name, spec.openml, spec.version)
        case HuggingfaceSpec():
            return saved_splits.table_of(saved_splits.splits(spec)["train"])
    raise AssertionError(type(spec))


def others(spec: TableSpec, names: Sequence[str] | None) -> dict[str, Table]:
    """The tables of the parts `validation` and `test` where the source has such of its own."""
    match spec:
        case CsvSpec() | ParquetSpec() if spec.test_path is not None:
            return {"test": _file(spec, spec.test_path, names)}
        case HuggingfaceSpec():
            found = saved_splits.splits(spec)
            return {part: saved_splits.table_of(found[part]) for part in found if part != "train"}
    return {}


def _file(spec: CsvSpec | ParquetSpec, path: Path, names: Sequence[str] | None) -> Table:
    if isinstance(spec, ParquetSpec):
        return parquet.read_parquet(path)
    return read_table(path, spec.delimiter, spec.header, names)
