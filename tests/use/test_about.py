from __future__ import annotations

import json

import numpy as np
import pytest

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.model import Model
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.use.about import describe, read_description, result_names


def model(task: str = "classification") -> Model:
    shift, target = np.array([1.5, -2.0], np.float32), np.array([3.0], np.float32)
    classes = ("größe", "[b]") if task == "classification" else ()
    how = Preprocessing(task, (2,), "float32", classes, shift, shift, target, target)  # type: ignore[arg-type]
    return Model(MlpArchitecture(2, len(classes) or 1, (Layer(3, 3, "rational"),)), {}, how)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_round_trip(task: str) -> None:
    made = model(task)
    architecture, how = read_description(json.dumps(describe(made, "a")))
    assert architecture == made.architecture
    assert how.classes == made.preprocessing.classes
    np.testing.assert_array_equal(how.shift, made.preprocessing.shift)


def test_what_it_says() -> None:
    about = describe(model(), "a name")
    assert about["name"] == "a name"
    assert about["parameters"] == 2 * 3 + 3 + 9 + 3 * 2 + 2
    assert about["preprocessing"]["classes"] == ["größe", "[b]"]
    assert result_names("classification") == ("logits", "probabilities")
    assert result_names("regression") == ("outputs", "predictions")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 2}', "null"])
def test_other_texts(text: str) -> None:
    with pytest.raises(ValueError):
        read_description(text)


def test_parts_that_do_not_fit_together() -> None:
    about = describe(model(), "a")
    about["architecture"]["outputs"] = 3
    with pytest.raises(ValueError, match="2 classes, but the network has 3 outputs"):
        read_description(json.dumps(about))
    about = describe(model(), "a")
    about["preprocessing"]["shift"] = [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"shift has the shape \(3,\)"):
        read_description(json.dumps(about))
    about["preprocessing"]["shape"] = [3]
    with pytest.raises(ValueError, match="an example has 3 numbers, the network 2 inputs"):
        read_description(json.dumps(about))
