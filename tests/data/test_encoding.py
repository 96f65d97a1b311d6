"""What stands for gaps and categories is what scikit-learn's imputer and encoder make of them."""

from __future__ import annotations

import json
from typing import Any, get_args

import numpy as np
import pytest

from senn_cli.data.encoding import Column, Encoding, Fill, fit
from senn_cli.errors import DataError

CITIES = ("bern", "oslo", "rome")
FOUND = Encoding((Column("a"), Column("city", CITIES), Column("b")), ("y",))


def sample(count: int = 40, seed: int = 0) -> np.ndarray:
    """Numbers with ties, categories by number, and gaps in all columns."""
    rng = np.random.default_rng(seed)
    x = np.stack(
        [rng.integers(0, 5, count), rng.integers(0, 3, count), rng.normal(5, 9, count)], axis=1
    ).astype(np.float64)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


@pytest.mark.parametrize("how", get_args(Fill))
def test_gaps_are_filled_as_by_simple_imputer(how: Fill) -> None:
    from sklearn.impute import SimpleImputer

    train, other = sample(), sample(seed=1)
    encoding = fit(FOUND, train, how)
    filled = encoding.filled(encoding.encode(FOUND.features, other))
    numbers = SimpleImputer(strategy=how).fit(train[:, [0, 2]]).transform(other[:, [0, 2]])
    np.testing.assert_allclose(filled[:, [0, 4]], numbers, rtol=1e-15)
    frequent = SimpleImputer(strategy="most_frequent").fit(train[:, [1]]).transform(other[:, [1]])
    np.testing.assert_array_equal(filled[:, 1:4].argmax(axis=1), frequent[:, 0])
    np.testing.assert_array_equal(filled[:, 1:4].sum(axis=1), 1)


def test_categories_are_those_of_one_hot_encoder() -> None:
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(0)
    columns = (Column("a", ("q", "r", "s")), Column("b", ("no", "yes")))
    train = np.stack([rng.integers(0, 2, 30), rng.integers(0, 2, 30)], axis=1).astype(np.float64)
    other = np.stack([rng.integers(0, 3, 30), rng.integers(0, 2, 30)], axis=1).astype(np.float64)
    encoding = fit(Encoding(columns), train, None)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)

    def words(x: np.ndarray) -> Any:
        return [[columns[i].categories[int(v)] for i, v in enumerate(row)] for row in x]  # type: ignore[index]

    encoder.fit(words(train))
    np.testing.assert_array_equal(encoding.encode(columns, other), encoder.transform(words(other)))
    assert encoding.inputs == ("a=q", "a=r", "b=no", "b=yes")
    (note,) = encoding.unknown(columns, other)
    count = int((other[:, 0] == 2).sum())
    assert note.startswith(
        f"in {count} of 30 rows 'a' has a value that is not in the training part"
    )
    assert "such as 's'" in note


def test_categories_of_another_table_are_matched_by_name() -> None:
    encoding = fit(FOUND, np.array([[1.0, 0, 2], [1.0, 2, 2]]), None)
    other = (Column("a"), Column("city", ("rome", "bern")), Column("b"))
    x = encoding.encode(other, np.array([[5.0, 0, 6], [7.0, 1, 8]]))
    assert encoding.inputs == ("a", "city=bern", "city=rome", "b")
    assert x.tolist() == [[5, 0, 1, 6], [7, 1, 0, 8]]


def test_a_column_without_a_value() -> None:
    with pytest.raises(DataError, match="column 'b' has no value in the training") as caught:
        fit(FOUND, np.array([[1.0, 0, np.nan]]), "mean")
    assert caught.value.hint == "leave it out: data.drop: [b]"


def test_gaps_without_anything_to_fill_them() -> None:
    encoding = fit(FOUND, np.array([[1.0, 0, 2]]), None)
    with pytest.raises(ValueError, match="nothing that stands for them"):
        encoding.filled(np.array([[np.nan, 1, 2]]))


def test_round_trip() -> None:
    encoding = fit(FOUND, sample(), "mean")
    assert Encoding.from_json(json.loads(json.dumps(encoding.to_json()))) == encoding
    plain = Encoding((Column("x1"),), named=False)
    assert Encoding.from_json(plain.to_json()) == plain
    damaged = encoding.to_json() | {"fill": [1.0]}
    with pytest.raises(ValueError, match="1 values fill the gaps of 5 inputs"):
        Encoding.from_json(damaged)
