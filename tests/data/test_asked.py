"""Frames, mappings and arrays are read as the run's own table was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from senn_cli.data.asked import examples_of
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import DataError

ONE = np.ones(1, np.float32)
TABLE = Encoding((Column("age"), Column("city", ("Oslo", "Rome"))), ("kind",), fill=(40.0, 1, 0))
ROWS = [[39.0, 0, 1], [np.nan, 1, 0], [51.0, 0, 0], [7.0, np.nan, np.nan]]
COLUMNS: dict[str, list[Any]] = {
    "city": ["Rome", "Oslo", "Paris", None],
    "age": [39, None, 51, 7],
}


def how(encoding: Encoding | None, *shape: int) -> Preprocessing:
    shift = np.zeros(shape)
    dtype = "float32" if encoding is None else "float64"
    return Preprocessing(
        "classification", shape, dtype, ("a", "b"), shift, shift + 1, ONE, ONE, encoding
    )


def frames() -> dict[str, Any]:
    pandas, polars, arrow = (pytest.importorskip(n) for n in ("pandas", "polars", "pyarrow"))
    return {
        "pandas": pandas.DataFrame(COLUMNS),
        "polars": polars.DataFrame(COLUMNS),
        "arrow": arrow.table(COLUMNS),
        "mapping": COLUMNS,
        "objects": np.array([COLUMNS["age"], COLUMNS["city"]], object).T,
        "lists": [list(row) for row in zip(COLUMNS["age"], COLUMNS["city"], strict=True)],
    }


@pytest.mark.parametrize("name", ["pandas", "polars", "arrow", "mapping", "objects", "lists"])
def test_columns_are_found_by_name_in_any_order(name: str) -> None:
    found, notes = examples_of(frames()[name], how(TABLE, 3))
    np.testing.assert_array_equal(found, ROWS)
    assert any("such as 'Paris'" in note for note in notes)


def test_columns_that_are_not_used_are_noted_and_targets_passed_over() -> None:
    given = {**COLUMNS, "kind": ["a", "b", "a", "b"], "id": [1, 2, 3, 4]}
    found, notes = examples_of(given, how(TABLE, 3))
    np.testing.assert_array_equal(found, ROWS)
    assert "x: columns that the run does not use: 'id'" in notes


def test_a_single_row() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COLUMNS)
    for one in ({"age": 39, "city": "Rome"}, frame.iloc[[0]], [[39, "Rome"]]):
        np.testing.assert_array_equal(examples_of(one, how(TABLE, 3))[0], ROWS[:1])
    with pytest.raises(DataError, match="x is a single column or row of a frame") as caught:
        examples_of(frame.iloc[0], how(TABLE, 3))
    assert "frame.iloc[[0]]" in str(caught.value.hint)


def test_numbers_stay_what_they_are() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x = np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert examples_of(x, how(None, 3))[0] is x
    np.testing.assert_array_equal(examples_of(sparse.csr_array(x), how(None, 3))[0], x)
    np.testing.assert_array_equal(examples_of(x.tolist(), how(None, 3))[0], x)


def test_a_frame_for_a_run_without_names_goes_by_place() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": [1, 2], "a": [3.5, 4]})
    np.testing.assert_array_equal(examples_of(frame, how(None, 2))[0], frame.to_numpy())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"age": [1]}, "x has no column 'city', which the run learnt from; its columns are 'age'"),
        ({"Age": [1], "city": ["Rome"]}, "x has no column 'age'"),
        ({"age": ["old"], "city": ["Rome"]}, "column 'age'.*'old'"),
        (
            {"age": [1, 2], "city": ["Rome"]},
            "of one length are needed, found 'age' 2, 'city' 1",
        ),
        ({}, "columns of one length are needed, found none"),
        (np.array([["Rome"]]), "x has 1 column, but the run learnt from 2: 'age', 'city'"),
        (np.array(["Rome"]), "x: expected numbers, found the type <U4"),
        ([[1, 2], [3]], "its rows differ in length"),
    ],
)
def test_what_does_not_fit(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        examples_of(given, how(TABLE, 3))


def test_gaps_that_nothing_stands_for() -> None:
    bare = Encoding(TABLE.features, ("kind",))
    with pytest.raises(DataError, match="values are missing: 1 in 'age'"):
        examples_of(COLUMNS, how(bare, 3))


def test_a_sparse_matrix_that_is_a_mapping_is_an_array() -> None:
    dense = np.array([[0.0, 1.5], [2.0, 0.0]])
    for kind in (sparse.dok_array, sparse.csr_array):
        np.testing.assert_array_equal(examples_of(kind(dense), how(None, 2))[0], dense)
