"""Specs as Python values: the same language, and no place for arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import senn_cli
from senn_cli.errors import SpecError
from senn_cli.spec import parse_spec
from senn_cli.spec.load import from_values
from senn_cli.spec.template import template_text, templates


def fault(value: Any, *overrides: str) -> str:
    with pytest.raises(SpecError) as caught:
        senn_cli.train(value, overrides=overrides)
    return caught.value.message


def test_a_mapping_is_the_spec_that_its_text_is() -> None:
    from senn_cli.spec.nodes import plain
    from senn_cli.spec.yaml import read_yaml

    for name in templates():
        text = template_text(name)
        assert from_values({"name": "s", **plain(read_yaml(text)[0])}) == parse_spec(text, "s.yaml")


def test_numbers_and_paths_of_python_are_taken() -> None:
    spec = from_values(
        {
            "data": {"source": "csv", "path": Path("t.csv"), "target": ("a", "b")},
            "network": {"kind": "mlp", "hidden": np.array([3, 4])},
            "seed": np.int64(3),
            "training": {"epochs": np.float32(2.0)},
        },
        "/base",
        ["training.steps=7"],  # takes the place of the epochs, as in a file
    )
    assert spec.network.hidden == (3, 4)
    assert (spec.name, spec.seed, spec.training.steps) == ("run", 3, 7)
    assert spec.data.path == Path("/base/t.csv")  # type: ignore[union-attr]


def test_arrays_are_told_what_takes_them_and_never_shown() -> None:
    x, y = np.zeros((20_000, 6)), np.arange(20_000)
    told = fault({"data": {"source": "npz", "x": x, "y": y}, "network": "mlp"})
    lines = told.splitlines()
    assert "the spec: data.x is an array of shape (20000, 6); a spec holds no data: save" in told
    assert "numpy.savez('my.npz', x=x, y=y), and name the file, data={'source': 'npz'," in lines[0]
    assert "the spec: data.y is an array of shape (20000,); a spec holds no data" in told
    assert len(told) < 1000
    assert fault({"data": x, "network": "mlp"}).startswith("the spec: data is an array of shape")


def test_what_has_no_place_in_a_spec_is_named_by_its_path() -> None:
    class Table:
        shape = (3, 2)

    def told(data: Any) -> str:
        return fault({"data": data, "network": "mlp"})

    assert told(Table()).startswith(
        "the spec: data has no place in a spec: it is a Table of shape (3, 2); a spec holds no"
    )
    assert told({"source": {1, 2}}) == ("the spec: data.source has no place in a spec: it is a set")
    assert "the spec: data has a key that is not a text: 3" in told({"source": "digits", 3: 4})
    loop: dict[str, Any] = {"source": "digits"}
    loop["augment"] = [loop]
    assert "the spec: data.augment.0 contains itself" in told(loop)


def test_faults_name_no_lines_that_nobody_wrote() -> None:
    assert fault({"data": "digits", "network": "mlp", "seed": -1}) == (
        "the spec: seed should be at least 0, found -1"
    )
    assert fault({"data": "digits"}) == (
        "the spec: network is missing; write for example `network: mlp`"
    )
