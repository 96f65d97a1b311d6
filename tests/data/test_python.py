"""What Python objects become: each against the plain array or table that it means."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given as rule
from hypothesis import settings
from hypothesis import strategies as st
from scipy import sparse

from senn_cli.data import tabular
from senn_cli.data.again import rows_of
from senn_cli.data.encoding import fit
from senn_cli.data.kept import keep
from senn_cli.data.python import ArgumentError, Given, given
from senn_cli.data.registry import load_dataset
from senn_cli.data.table import Table
from senn_cli.data.text_table import read_table
from senn_cli.spec.load import from_values

NUMBERS = [[1.5, -2.0], [3.0, 4.0], [0.0, 5.25], [7.0, 1e-3]]

COLUMNS: dict[str, list[Any]] = {
    "age": [31, 22, None, 40],
    "city": ["Rome", "Oslo", None, " Rome "],
    "old": [True, False, None, True],
    "pay": [1.5, None, 3.25, 4.0],
}
CELLS = [["31", "22", "", "40"], ["Rome", "Oslo", "", "Rome"], ["true", "false", "", "true"],
         ["1.5", "", "3.25", "4"]]  # fmt: skip


def table(value: Any, **how: Any) -> Table:
    found = given(value, **how).x
    assert isinstance(found, Table)
    return found


def array(value: Any, **how: Any) -> np.ndarray:
    found = given(value, **how).x
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "u2", "u4", "i8", "?", ">f4"])
def test_numbers_of_any_type_keep_their_values(dtype: str) -> None:
    values = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    found = array(values)
    assert found.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(found, values.astype(float))


def test_8_bit_images_stay_images() -> None:
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    assert array(images) is images
    assert array(images[..., None]).shape == (2, 3, 4, 1)


def test_lists_and_whatever_has_an_array() -> None:
    np.testing.assert_array_equal(array(NUMBERS), NUMBERS)
    np.testing.assert_array_equal(array(tuple(map(tuple, NUMBERS))), NUMBERS)
    np.testing.assert_array_equal(array(np.array(NUMBERS, dtype=object)), NUMBERS)


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_matrix"])
def test_sparse_matrices_are_made_dense_and_told(kind: str) -> None:
    found = given(getattr(sparse, kind)(np.array(NUMBERS)))
    np.testing.assert_array_equal(found.x, NUMBERS)
    assert found.notes == ("X: a sparse matrix of 7 values became a dense one, 64 B",)


def test_a_sparse_matrix_that_is_too_large_says_how_large() -> None:
    wide = sparse.csr_matrix((10**6, 10**6))
    with pytest.raises(ArgumentError, match=r"takes 8\.0 TB as a dense one, more than 8\.0 GB"):
        given(wide)


FRAMES = {
    "pandas objects": lambda: pd.DataFrame(COLUMNS, dtype=object),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas arrow": lambda: pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.LazyFrame(COLUMNS),
    "arrow": lambda: pa.table(COLUMNS),
    "arrow batch": lambda: pa.table(COLUMNS).to_batches()[0],
}  # fmt: skip


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_become_the_same_table(kind: str) -> None:
    found = table(FRAMES[kind]())
    assert found.header == tuple(COLUMNS)
    assert [found.column(name) for name in found.header] == CELLS
    numbers = [isinstance(column, np.ndarray) for column in found.columns]
    assert numbers == [True, False, False, True]
    assert found.declared == ()


CATEGORIES = {
    "pandas": lambda: pd.DataFrame({"zip": pd.Series([3, 10, None, 3], dtype="category")}),
    "pandas text": lambda: pd.DataFrame({"zip": pd.Categorical(["3", "10", None, "3"])}),
    "polars": lambda: pl.DataFrame({"zip": ["3", "10", None, "3"]}, schema={"zip": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame(
        {"zip": ["3", "10", None, "3"]}, schema={"zip": pl.Enum(["10", "3"])}
    ),
    "arrow": lambda: pa.table({"zip": pa.array(["3", "10", None, "3"]).dictionary_encode()}),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_categories_by_their_type(kind: str) -> None:
    found = table(CATEGORIES[kind]())
    assert found.declared == ("zip",)
    assert found.column("zip") == ["3", "10", "", "3"]


def test_vectors_become_columns_and_decimals_numbers() -> None:
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    found = table(pa.table({"v": vectors, "d": [Decimal("1.25"), Decimal("-3")]}))
    assert found.header == ("v[0]", "v[1]", "d")
    assert found.vectors == {"v": ("v[0]", "v[1]")}
    np.testing.assert_array_equal(np.stack(found.columns), [[1, 3], [2, 4], [1.25, -3]])
    frame = pl.DataFrame({"v": [[1, 2], [3, 4]]}, schema={"v": pl.Array(pl.Int64, 2)})
    assert table(frame).column("v[1]") == ["2", "4"]


def test_arrays_with_text_or_gaps_become_a_table() -> None:
    mixed = np.array([["a", 1.5], ["b", None]], dtype=object)
    found = table(mixed)
    assert found.header == ("x1", "x2")
    assert found.column("x1") == ["a", "b"]
    assert found.column("x2") == ["1.5", ""]
    gaps = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert table(gaps, fills=True).column("x2") == ["", "3"]
    with pytest.raises(ArgumentError, match=r"1 of 4 values are NaN or infinite.*\(0, 1\)"):
        given(gaps)


def test_what_lies_under_a_mask_is_missing() -> None:
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert table(masked, fills=True).column("x2") == ["", "4"]
    with pytest.raises(ArgumentError, match=r"X: 1 of 4 values are NaN.*index \(0, 1\)"):
        given(masked)
    np.testing.assert_array_equal(array(np.ma.array([[1, 2], [3, 4]])), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("y", "kind", "values"),
    [
        ([1, 0, 1, 1], "i", [1, 0, 1, 1]),
        (["b", "a", "b", "b"], "U", ["b", "a", "b", "b"]),
        (np.array([1.0, 0.0, 1.0, 1.0]), "i", [1, 0, 1, 1]),
        (np.array([True, False, True, True]), "b", [True, False, True, True]),
        (np.array([[1], [0], [1], [1]]), "i", [1, 0, 1, 1]),
        (np.array(["b", "a", "b", "b"], dtype=object), "U", ["b", "a", "b", "b"]),
        (pd.Series(["b", "a", "b", "b"], dtype="category"), "U", ["b", "a", "b", "b"]),
        (pd.Series([1, 0, 1, 1], dtype="Int64"), "i", [1, 0, 1, 1]),
        (pd.Series([True, False, True, True]), "U", ["true", "false", "true", "true"]),
        (pl.Series("y", ["b", "a", "b", "b"]), "U", ["b", "a", "b", "b"]),
        (pa.array([1, 0, 1, 1]), "i", [1, 0, 1, 1]),
        (pa.chunked_array([[1, 0], [1, 1]]), "i", [1, 0, 1, 1]),
    ],
)
def test_labels_of_any_kind(y: Any, kind: str, values: list[Any]) -> None:
    found = given(NUMBERS, y, task="classification").y
    assert found is not None
    assert found.dtype.kind == kind
    assert found.tolist() == values


def test_values_and_their_names() -> None:
    one = given(NUMBERS, pd.Series([1, 2, 3, 4], name="price"), task="regression")
    assert (one.targets, one.y.tolist()) == (("price",), [[1], [2], [3], [4]])  # type: ignore[union-attr]
    two = given(NUMBERS, pl.DataFrame({"u": [1, 2, 3, 4], "v": [0.5, 0, 0, 0]}), task="regression")
    assert two.targets == ("u", "v")
    np.testing.assert_array_equal(two.y, [[1, 0.5], [2, 0], [3, 0], [4, 0]])
    weighted = given(NUMBERS, [1, 2, 3, 4], pd.Series([1, 0, 2, 1]))
    assert weighted.weights is not None
    assert (weighted.weights.dtype, weighted.weights.tolist()) == (np.float32, [1, 0, 2, 1])


@pytest.mark.parametrize(
    "y",
    [
        np.array([[1, 0], [0, 0], [1, 1], [0, 1]]),
        np.array([[1, 0], [0, 0], [1, 1], [0, 1]], bool),
        sparse.csr_matrix([[1, 0], [0, 0], [1, 1], [0, 1]]),
        pd.DataFrame({"u": [1.0, 0, 1, 0], "v": [False, False, True, True]}),
        pl.DataFrame({"u": [1, 0, 1, 0], "v": [False, False, True, True]}),
    ],
)
def test_several_labels(y: Any) -> None:
    found = given(NUMBERS, y, task="multilabel")
    assert found.y is not None
    assert (found.y.dtype, found.y.tolist()) == (np.uint8, [[1, 0], [0, 0], [1, 1], [0, 1]])
    with pytest.raises(ArgumentError, match=r"y: a label holds .* at index \(1, 0\) stands 2"):
        given(NUMBERS, [[0], [2], [1], [1]], task="multilabel")


GOOD = [0, 1, 0, 1]
DAY = datetime.date(2020, 1, 1)
FAULTS: dict[str, tuple[tuple[Any, ...], str]] = {
    "one axis": (([1.0, 2.0], [0, 1]), r"X: expected one row an example.*\(2,\)"),
    "a number": ((3.0,), r"X: expected one row an example.*\(\)"),
    "a column": ((pd.Series([1, 2]),), r"X is a single column"),
    "no rows": ((np.zeros((0, 3)),), r"X has no examples: its shape is \(0, 3\)"),
    "no columns": ((np.zeros((4, 0)), GOOD), r"0 feature\(s\) \(shape=\(4, 0\)\)"),
    "an empty frame": ((pd.DataFrame(),), "X has no columns"),
    "a frame without rows": ((pd.DataFrame({"a": []}),), "X has no rows, only the columns a"),
    "an empty polars frame": ((pl.DataFrame({"a": []}),), "X has no rows, only the columns a"),
    "ragged": (([[1, 2], [3]],), "X: its rows differ in length"),
    "mappings": (([{"a": 1}, {"a": 2}],), "X is a list of mappings"),
    "complex": ((np.ones((4, 2)) * 1j, GOOD), "Complex data not supported"),
    "complex y": ((NUMBERS, np.ones(4) * 1j), "y: Complex data not supported"),
    "infinite": (([[np.inf, 1.0]] * 4, GOOD), r"X: 4 of 8 .* infinite; the first is inf"),
    "dates": ((np.array([["2020-01-01"]], "M8[D]"),), "X, column 0 holds dates"),
    "frame dates": ((pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}),), "'t' holds dates"),
    "polars dates": ((pl.DataFrame({"t": [DAY]}),), "'t', row 0 holds a date"),
    "arrow times": ((pa.table({"t": [datetime.datetime(2020, 1, 1)]}),), "'t' holds timestamps"),
    "lists": ((pd.DataFrame({"a": [[1], [2, 3]]}),), "column 'a', row 0 holds a list"),
    "arrow lists": ((pa.table({"a": [[1], [2, 3]]}),), "'a' holds values of the type list"),
    "records": ((pl.DataFrame({"a": [{"b": 1}]}),), "column 'a', row 0 holds a dict"),
    "objects": ((np.array([[{"a": 1}, 2.0]], dtype=object),), "X, column 0, row 0 holds a dict"),
    "levels": ((pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])),), "levels"),
    "twice": ((pd.DataFrame([[1, 2]], columns=["a", "a"]),), "two columns are called 'a'"),
    "nameless": ((pd.DataFrame([[1, 2]], columns=["a", ""]),), "column 1 has no name"),
    "lengths": ((NUMBERS, [0, 1]), "X has 4 examples, but y has 2"),
    "weights": ((NUMBERS, GOOD, [1.0]), "X has 4 examples, but sample_weight has 1"),
    "negative": ((NUMBERS, GOOD, [1, 1, -1, 1]), "weight: a weight is negative: -1 in row 2"),
    "zero weights": ((NUMBERS, GOOD, [0] * 4), "sample_weight: all weights are zero"),
    "nan weight": ((NUMBERS, GOOD, [1, 1, np.nan, 1]), "sample_weight: 1 of 4 values are NaN"),
    "text weights": ((NUMBERS, GOOD, list("abcd")), "sample_weight: expected numbers"),
    "nan in y": ((NUMBERS, [0, 1, np.nan, 1]), r"y: 1 of 4 values are NaN .* at index 2"),
    "None in y": ((NUMBERS, ["a", None, "b", "a"]), r"y: 1 of 4 values are missing.*row 1"),
    "missing in y": ((NUMBERS, pd.Series(["a", None, "b", "a"])), r"1 of 4 values are missing"),
    "fractions": ((NUMBERS, [0, 0.5, 1, 1]), "class labels must be whole numbers or text"),
    "one class": ((NUMBERS, ["a"] * 4), "y has one class only, a"),
    "one-hot": ((NUMBERS, np.eye(4)), r"class labels must be one a row"),
    "deep y": ((NUMBERS, np.zeros((4, 1, 1))), r"y: expected the shape \(N,\) or \(N, k\)"),
    "no y": ((NUMBERS, []), r"y: expected the shape \(N,\) or \(N, k\), found \(0,\)"),
    "lists in y": ((NUMBERS, [[1], [2, 3], [1], [2]]), "y: its rows differ in length"),
    "many classes": ((np.ones((10**6, 1)), np.arange(10**6)), "1,000,000 different .* 10,000 cl"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_name_the_argument(name: str) -> None:
    arguments, message = FAULTS[name]
    with pytest.raises(ArgumentError, match=message):
        given(*arguments, task="classification")


def data_of(found: Given, folder: Path, task: Any, **more: Any) -> Any:
    section = keep(found, folder, task) | {"test": 0.25, "validation": 0, **more}
    spec = from_values({"data": section, "network": "mlp"})
    return load_dataset(spec.data, 0)


def test_a_frame_that_is_kept_is_read_back_with_all_its_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40) * 1e-7, "b": rng.integers(0, 2**60, 40)})
    frame["zip"] = pd.Categorical(rng.integers(1, 4, 40))
    frame["city"] = ['Rome, "it"', "Oslo\nno"] * 20
    y = pd.Series(rng.normal(size=40), name="a")
    dataset = data_of(given(frame, y, task="regression"), tmp_path, "regression")
    order = np.argsort(np.concatenate([part.ids for part in dataset.parts.values()]))
    x, targets = (
        np.concatenate([getattr(part, name) for part in dataset.parts.values()])[order]
        for name in ("x", "y")
    )
    assert dataset.encoding.inputs == (
        "a", "b", "zip=1", "zip=2", "zip=3", "city=Oslo\nno", 'city=Rome, "it"',
    )  # fmt: skip
    np.testing.assert_array_equal(x[:, 0], frame["a"])
    np.testing.assert_array_equal(x[:, 1], frame["b"].astype(float))
    np.testing.assert_array_equal(x[:, 2:5], pd.get_dummies(frame["zip"]))
    np.testing.assert_array_equal(targets[:, 0], y)


@settings(max_examples=50)
@rule(st.lists(st.tuples(st.text(), st.text()), min_size=2))
def test_any_text_is_read_back(rows: list[tuple[str, str]]) -> None:
    found = given(pl.DataFrame(rows, schema=["a", "b"], orient="row"), range(len(rows)))
    assert isinstance(found.x, Table)
    with TemporaryDirectory() as folder:
        section = keep(found, Path(folder), "regression")
        read = read_table(Path(section["path"]), section["delimiter"], section["header"])
    assert read.columns[:2] == found.x.columns


def test_arrays_that_are_kept(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (8, 3, 3), dtype=np.uint8)
    dataset = data_of(
        given(images, list("abababab"), task="classification"), tmp_path, "classification"
    )
    assert dataset.classes == ("a", "b")
    np.testing.assert_array_equal(dataset.train.x, images[dataset.train.ids])


def test_a_frame_is_read_as_the_runs_table_was(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "city": ["Rome", "Oslo", "Rome", "Oslo"]})
    section = keep(given(frame, [0, 1, 0, 1]), tmp_path, "classification")
    spec = from_values({"data": section, "network": "mlp"}).data
    source = tabular.load(spec)  # type: ignore[arg-type]
    assert source.encoding is not None
    known = fit(source.encoding, source.train.x, None)
    other = pl.DataFrame({"city": ["Oslo", "Bonn"], "more": [0, 0], "n": [7, 8]})
    x, notes = rows_of(table(other), known)
    assert x.tolist() == [[7, 1, 0], [8, 0, 0]]
    assert notes[0] == "X: columns that the run does not use: 'more'"
    assert "'city' has a value that is not in the training part, such as 'Bonn'" in notes[1]


class Pairs:
    """What PyTorch calls a map-style data set."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        return np.full((2, 2), number, np.uint8), number % 2


class Stream:
    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


def test_a_data_set_is_read_once() -> None:
    found = given(Pairs(5), task="classification")
    assert isinstance(found.x, np.ndarray)
    assert found.x.dtype == np.uint8
    assert found.x[:, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert found.y is not None
    assert found.y.tolist() == [0, 1, 0, 1, 0]
    assert found.notes == ("X: 5 examples of a Pairs were read into memory, 20 B",)
    alone = given(Stream([np.ones(3), np.zeros(3)]))
    assert alone.y is None
    np.testing.assert_array_equal(alone.x, [[1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Pairs(0), "the Pairs has no examples"),
        (Stream([np.ones(2), np.ones(3)]), r"example 1 of the Stream has the shape \(3,\)"),
        (Stream([{"a": 1}]), "example 0 of the Stream is a mapping with the keys a"),
        (Stream([np.ones(2), (np.ones(2), 1)]), "example 1 of the Stream is a pair, unlike"),
        (Stream([object()]), "example 0 of the Stream is no array of numbers: it is a object"),
    ],
)
def test_faulty_data_sets(source: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        given(source, limit=1000)


def test_more_than_the_limit_is_mapped_from_a_file() -> None:
    found = given(Stream([np.full(2, n, np.float32) for n in range(500)]), limit=1000)
    assert isinstance(found.x, np.memmap)
    np.testing.assert_array_equal(found.x, np.arange(500)[:, None] * [1, 1])
    assert (
        "500 examples of a Stream were read into a file, which is mapped, 4.0 kB" in found.notes[0]
    )


def test_targets_come_from_one_place() -> None:
    with pytest.raises(ArgumentError, match="X yields pairs with targets, but y is given, too"):
        given(Pairs(3), [0, 1, 0])


def test_nothing_is_imported_for_it() -> None:
    code = (
        "import sys; from senn_cli.data.python import given; given([[1.0], [2.0]], [0, 1]); "
        "heavy = {'pandas', 'polars', 'pyarrow', 'torch', 'sklearn', 'jax', 'scipy'}; "
        "print(heavy & {*sys.modules})"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
