from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.model import Model
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.use.about import describe, read_description, result_names
from senn_cli.use.export_inputs import by_column


def about_of(made: Model) -> dict[str, Any]:
    return describe(made, "a name", by_column(made.preprocessing))


def model(task: str = "classification") -> Model:
    shift, target = np.array([1.5, -2.0], np.float32), np.array([3.0], np.float32)
    classes = ("größe", "[b]") if task == "classification" else ()
    how = Preprocessing(task, (2,), "float32", classes, shift, shift, target, target)  # type: ignore[arg-type]
    return Model(MlpArchitecture(2, len(classes) or 1, (Layer(3, 3, "rational"),)), {}, how)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_round_trip(task: str) -> None:
    made = model(task)
    architecture, how = read_description(json.dumps(about_of(made)))
    assert architecture == made.architecture
    assert how.classes == made.preprocessing.classes
    np.testing.assert_array_equal(how.shift, made.preprocessing.shift)


def test_what_it_says() -> None:
    about = about_of(model())
    assert about["name"] == "a name"
    assert about["parameters"] == 2 * 3 + 3 + 9 + 3 * 2 + 2
    assert about["preprocessing"]["classes"] == ["größe", "[b]"]
    assert about["inputs"] == [{"name": "examples", "type": "float32", "shape": ["b", 2]}]
    assert result_names("classification") == ("logits", "probabilities")
    assert result_names("regression") == ("outputs", "predictions")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_older_descriptions_are_read(number: int) -> None:
    about = about_of(model()) | {"format": number}
    assert read_description(json.dumps(about))[0] == model().architecture


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 2}', "null"])
def test_other_texts(text: str) -> None:
    with pytest.raises(ValueError):
        read_description(text)


def test_parts_that_do_not_fit_together() -> None:
    about = about_of(model())
    about["architecture"]["outputs"] = 3
    with pytest.raises(ValueError, match="2 classes, but the network has 3 outputs"):
        read_description(json.dumps(about))
    about = about_of(model())
    about["preprocessing"]["shift"] = [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"shift has the shape \(3,\)"):
        read_description(json.dumps(about))
    about["preprocessing"]["shape"] = [3]
    with pytest.raises(ValueError, match="an example has 3 numbers, the network 2 inputs"):
        read_description(json.dumps(about))
