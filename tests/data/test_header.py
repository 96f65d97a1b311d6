from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.data.header import recognise
from senn_cli.data.registry import load_dataset
from senn_cli.spec.tables import CsvSpec


def rows(text: str) -> list[list[str]]:
    return [line.split(",") for line in text.split("/")]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b/1,2", ("a", "b")),
        ("name,city/Ann,Rome", ("name", "city")),
        ("id,2001,2002/7,3,4", ("id", "2001", "2002")),  # a text above a number
        (",a/0,5", ("", "a")),
        ("1,2/3,4", None),
        ("5.1,3.5,setosa/4.9,3.0,setosa", None),
        ("1,NA/3,4", None),
        ("NA,?/3,4", None),
    ],
)
def test_headers(text: str, names: tuple[str, ...] | None) -> None:
    found = recognise(rows(text))
    assert found.names == names
    assert found.skip == (names is not None)
    assert bool(found.notes) == (names is None)


def test_scikit_learns_first_line() -> None:
    found = recognise(rows("2,1,no,yes/5,0/6,1"))
    assert (found.names, found.skip, found.classes) == (None, 1, ("no", "yes"))
    assert "2 rows, 1 feature and the classes no, yes" in found.notes[0]
    # Of another number of rows, or with text in the last column, it is a row like the others.
    assert recognise(rows("3,1/5,0/6,1")).skip == 0
    assert recognise(rows("1,1,a/5,x")).skip == 0


FILES = {
    "iris.csv": ("classification", 150, 4, ("setosa", "versicolor", "virginica")),
    "wine_data.csv": ("classification", 178, 13, ("class_0", "class_1", "class_2")),
    "breast_cancer.csv": ("classification", 569, 30, ("malignant", "benign")),
    "digits.csv.gz": ("classification", 1797, 64, tuple("0123456789")),
    "diabetes_data_raw.csv.gz": ("regression", 442, 9, ()),
    "linnerud_exercise.csv": ("regression", 20, 2, ()),
    "linnerud_physiological.csv": ("regression", 20, 2, ()),
}


@pytest.mark.parametrize("name", FILES)
def test_scikit_learns_own_files_load_as_they_are(name: str) -> None:
    import sklearn.datasets

    path = Path(sklearn.datasets.__file__).parent / "data" / name
    task, count, features, classes = FILES[name]
    section = {"source": "csv", "path": path, "task": task}
    if name.startswith("linnerud"):  # they have a header
        section["target"] = 3
    dataset = load_dataset(CsvSpec.model_validate(section), 0)
    assert sum(map(len, dataset.parts.values())) == count
    assert dataset.inputs == features
    assert dataset.classes == classes


def test_iris_is_what_scikit_learn_makes_of_it() -> None:
    import numpy as np
    import sklearn.datasets

    path = Path(sklearn.datasets.__file__).parent / "data" / "iris.csv"
    dataset = load_dataset(CsvSpec.model_validate({"source": "csv", "path": path}), 0)
    bunch = sklearn.datasets.load_iris()
    for part in dataset.parts.values():
        np.testing.assert_array_equal(part.x, bunch.data[part.ids])
        np.testing.assert_array_equal(part.y, bunch.target[part.ids])
