"""Parquet files as pyarrow and pandas write them, with every type of column."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from senn_cli.data import tabular
from senn_cli.data.dataset import Source
from senn_cli.data.parquet import read_parquet
from senn_cli.errors import DataError
from senn_cli.spec.tables import CsvSpec, ParquetSpec

COLUMNS: dict[str, Any] = {
    "n": pa.array([1, 2, None, 2**53 + 1], pa.int64()),
    "small": pa.array([1, 2, 3, 4], pa.uint8()),
    "half": pa.array(np.array([0.5, 1, 2, 3], np.float16)),
    "price": pa.array([Decimal("1.25"), None, Decimal("3.5"), Decimal("-7")]),
    "old": pa.array([True, False, None, True]),
    "city": pa.array(["Rome", "Oslo", None, "Rome"]),
    "zip": pa.array(["1", "2", "1", "2"]).dictionary_encode(),
    "vector": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], pa.list_(pa.float32(), 2)),
    "label": pa.array(["x", "y", "x", "y"]),
}


def write(path: Path, columns: dict[str, Any] | None = None) -> Path:
    pq.write_table(pa.table(COLUMNS if columns is None else columns), path)
    return path


def load(path: Path, target: Any = "label", **more: Any) -> Source:
    section = {"source": "parquet", "path": path, "target": target, **more}
    return tabular.load(ParquetSpec.model_validate(section))


def test_every_type_of_column(tmp_path: Path) -> None:
    table = read_parquet(write(tmp_path / "t.parquet"))
    assert table.declared == ("zip",)
    assert [table.column(name) for name in table.header] == [
        ["1", "2", "", repr(2.0**53)],  # with a gap they are float64
        ["1", "2", "3", "4"],
        ["0.5", "1", "2", "3"],
        ["1.25", "", "3.5", "-7"],
        ["true", "false", "", "true"],
        ["Rome", "Oslo", "", "Rome"],
        ["1", "2", "1", "2"],
        ["1", "3", "5", "7"],
        ["2", "4", "6", "8"],
        ["x", "y", "x", "y"],
    ]


def test_a_vector_is_named_as_one_column(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet")
    source = load(path, columns=["vector", "small"])
    assert source.train.x.tolist() == [[1, 2, 1], [3, 4, 2], [5, 6, 3], [7, 8, 4]]
    assert load(path, columns=["vector"], drop=["vector[0]"]).train.x.tolist() == [
        [2],
        [4],
        [6],
        [8],
    ]
    values = load(path, target="vector", task="regression", columns=["small"])
    assert values.train.y.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_it_is_what_the_same_table_as_text_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=50), "b": rng.integers(0, 9, 50)})
    frame["city"] = rng.choice(["Rome", "Oslo", "Bonn"], 50)
    frame.loc[3, "a"] = np.nan
    frame.loc[7, "city"] = None
    frame["label"] = rng.choice([3, 10], 50)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    options = {"target": "label", "missing": "median"}
    text = tabular.load(
        CsvSpec.model_validate({"source": "csv", "path": tmp_path / "t.csv", **options})
    )
    typed = load(tmp_path / "t.parquet", missing="median")
    np.testing.assert_array_equal(typed.train.x, text.train.x)
    np.testing.assert_array_equal(typed.train.y, text.train.y)
    assert (typed.classes, typed.encoding) == (text.classes, text.encoding)


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "t" / "more").mkdir(parents=True)
    write(tmp_path / "t" / "b.parquet", {"a": [3], "label": ["y"]})
    write(tmp_path / "t" / "a.parquet", {"label": ["x", "y"], "a": [1.5, 2]})
    write(tmp_path / "t" / "more" / "c.pq", {"a": [4], "label": ["x"]})
    (tmp_path / "t" / "_SUCCESS").touch()
    (tmp_path / "t" / ".hidden.parquet").touch()
    source = load(tmp_path / "t")
    assert source.train.x.tolist() == [[1.5], [2], [3], [4]]
    assert source.notes[0] == "t: 3 files of Parquet"


def test_a_test_file_and_weights(tmp_path: Path) -> None:
    train = write(tmp_path / "a.parquet", {"a": [1, 2], "w": [0.5, 2], "label": ["x", "y"]})
    test = write(tmp_path / "b.parquet", {"w": [1], "label": ["z"], "a": [3]})
    source = load(train, test_path=test, weights="w")
    assert source.test is not None
    assert source.train.weights is not None and source.test.weights is not None
    assert (source.train.weights.tolist(), source.test.weights.tolist()) == ([0.5, 2], [1])
    assert source.train.x.tolist() == [[1], [2]]
    assert source.classes == ("x", "y", "z")


def test_missing_values_are_told_by_row(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet")
    with pytest.raises(DataError) as caught:
        load(path)
    assert f"1 in 'n' (the first at {path}, row 2)" in caught.value.message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"t": [datetime.datetime(2020, 1, 1)]}, r"column 't' holds timestamps, such as '2020"),
        ({"t": [datetime.date(2020, 1, 1)]}, "column 't' holds date32s"),
        ({"t": [datetime.timedelta(1)]}, "column 't' holds durations"),
        ({"t": [{"a": 1}]}, "column 't' holds values of the type struct"),
        ({"t": [[1, 2]]}, "column 't' holds values of the type list"),
        ({"t": pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2))}, "1 of 2 vectors are miss"),
        ({"t": pa.array([["a"]], pa.list_(pa.string(), 1))}, "holds values of the type fixed_size"),
        ({"t": [b"\xff"]}, "holds bytes that are no UTF-8 text"),
        ({"t": pa.array([], pa.int64())}, "has no rows, only the columns t"),
        ({}, "has no columns"),
        ({"t": [float("inf")], "label": ["x"]}, "row 0: column 't' is not finite"),
    ],
)
def test_columns_that_nothing_can_learn_from(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        load(write(tmp_path / "t.parquet", columns))


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"is no Parquet file; it looks like a table of text"):
        read_parquet(tmp_path / "t.parquet")
    whole = write(tmp_path / "w.parquet").read_bytes()
    (tmp_path / "w.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"w\.parquet is damaged or incomplete"):
        read_parquet(tmp_path / "w.parquet")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_parquet(tmp_path / "absent.parquet")
    (tmp_path / "f").mkdir()
    with pytest.raises(DataError, match="holds no Parquet files"):
        read_parquet(tmp_path / "f")
    write(tmp_path / "f" / "a.parquet", {"a": [1]})
    write(tmp_path / "f" / "b.parquet", {"b": [1]})
    with pytest.raises(DataError, match=r"b\.parquet has other columns than .*a\.parquet: a, b"):
        read_parquet(tmp_path / "f")
    write(tmp_path / "f" / "b.parquet", {"a": ["x"]})
    with pytest.raises(DataError, match="a column has types that cannot be joined"):
        read_parquet(tmp_path / "f")
    (tmp_path / "g" / "year=2020").mkdir(parents=True)
    write(tmp_path / "g" / "year=2020" / "a.parquet", {"a": [1]})
    with pytest.raises(DataError, match="the name of its folder holds values of a column"):
        read_parquet(tmp_path / "g")
