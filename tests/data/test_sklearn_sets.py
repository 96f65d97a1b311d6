"""scikit-learn's own sets against its loaders, and OpenML from a cache on this machine."""

from __future__ import annotations

import gzip
import hashlib
import json
import urllib.error
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

from senn_cli.data import tabular
from senn_cli.data.dataset import Source
from senn_cli.errors import DataError
from senn_cli.spec.load import from_values
from senn_cli.spec.tables import SklearnSpec


def load(**section: Any) -> Source:
    spec = from_values({"data": {"source": "sklearn", **section}, "network": "mlp"}).data
    assert isinstance(spec, SklearnSpec)
    return tabular.load(spec)


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_classifications(name: str) -> None:
    source, bunch = load(name=name), getattr(datasets, f"load_{name}")()
    np.testing.assert_array_equal(source.train.x, bunch.data)
    assert source.encoding is not None
    assert source.encoding.names == tuple(bunch.feature_names)
    names = [str(bunch.target_names[number]) for number in bunch.target]
    assert [source.classes[number] for number in source.train.y] == names


@pytest.mark.parametrize("name", ["diabetes", "linnerud"])
def test_regressions_need_no_task(name: str) -> None:
    source, bunch = load(name=name), getattr(datasets, f"load_{name}")()
    np.testing.assert_array_equal(source.train.x, bunch.data)
    np.testing.assert_array_equal(source.train.y, bunch.target.reshape(len(bunch.data), -1))
    assert source.encoding is not None
    assert source.encoding.targets == tuple(getattr(bunch, "target_names", ["target"]))


def test_columns_are_chosen_as_of_any_table() -> None:
    source = load(name="linnerud", target="Chins", columns=["Waist", "Jumps"], weights="Pulse")
    frame = datasets.load_linnerud(as_frame=True).frame
    np.testing.assert_array_equal(source.train.x, frame[["Waist", "Jumps"]])
    np.testing.assert_array_equal(source.train.weights, frame["Pulse"])


ASKED = "data_name/cats/limit/2/status/active/"
ARFF = """@relation cats
@attribute weight numeric
@attribute 'color' {black,red}
@attribute class {tom,queen}
@data
4.5,black,tom
3,red,queen
?,black,queen
5,red,tom
"""


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers of OpenML where scikit-learn keeps them, so that it asks nobody."""
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    features = [
        {"index": str(n), "name": name, "data_type": kind, "is_target": str(n == 2).lower(),
         "number_of_missing_values": "0", "is_ignore": "false", "is_row_identifier": "false"}
        for n, (name, kind) in enumerate(
            [("weight", "numeric"), ("color", "nominal"), ("class", "nominal")])
    ]  # fmt: skip
    found = {"did": 7, "version": 3, "name": "cats", "status": "active", "format": "ARFF"}
    about = {"id": "7", "name": "cats", "version": "3", "format": "ARFF", "file_id": "9",
             "default_target_attribute": "class", "status": "active",
             "description": "Cats.", "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
             "url": "https://openml.org/data/v1/download/9/cats.arff"}  # fmt: skip
    answers = {
        "api/v1/json/data/list/data_name/cats/limit/2/status/active/": {
            "data": {"dataset": [found]}
        },
        "api/v1/json/data/7": {"data_set_description": about},
        "api/v1/json/data/features/7": {"data_features": {"feature": features}},
        "api/v1/json/data/qualities/7": {"data_qualities": {"quality": []}},
    }
    files = {place: json.dumps(answer) for place, answer in answers.items()}
    files["data/v1/download/9/cats.arff"] = ARFF
    for place, text in files.items():
        path = tmp_path / "openml" / "openml.org" / f"{place}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return tmp_path


def no_network(*arguments: Any, **options: Any) -> Any:
    raise urllib.error.URLError("no route to host")


def test_a_set_of_openml(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    source = load(openml="cats", missing="mean")
    assert source.classes == ("queen", "tom")
    assert source.encoding is not None
    assert [c.categories for c in source.encoding.features] == [None, ("black", "red")]
    np.testing.assert_array_equal(source.train.x, [[4.5, 0], [3, 1], [np.nan, 0], [5, 1]])
    assert source.notes[0] == "OpenML's cats is version 3, id 7"


def test_a_version_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fetched(name: str, **options: Any) -> Any:
        asked.append((name, options["version"]))
        raise ValueError("no such version")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetched)
    for section in ({}, {"version": 2}):
        with pytest.raises(DataError, match="OpenML's cats: no such version"):
            load(openml="cats", **section)
    assert asked == [("cats", "active"), ("cats", 2)]


def test_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    with pytest.raises(DataError, match=r"is not in scikit-learn's cache.*no route to host"):
        load(openml="cats")
