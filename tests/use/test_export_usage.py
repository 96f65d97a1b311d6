"""The lines that an export prints load and run it in a process that cannot import this package."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from senn_cli.errors import UsageError
from senn_cli.model import Model, load_model
from senn_cli.use.export_inputs import some_row
from senn_cli.use.exports import export_model
from tests.use.made import KINDS, made_run

pytest.importorskip("safetensors")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

ALONE = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "senn_cli":
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
"""
TABLE = "{source: csv, path: t.csv, target: kind, missing: median, categories: [city, new, floor]}"
DATA = {
    "images": "{source: digits, subset: 100}",
    "table": TABLE,
    "values": "{source: npz, path: values.npz, task: regression}",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Model]:
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    rows = [
        f"{rng.normal(40, 9):.3f},{('Rome', 'Oslo')[n % 2]},{n % 5 > 2},{n % 7 % 2},{'xyz'[n % 3]}"
        for n in range(60)
    ]
    head = "age of it,city,new,floor,kind"
    (folder / "t.csv").write_text("\n".join([head, *rows, ",Rome,TRUE,1,x", "3,,,,y"]))
    x = rng.normal(size=(50, 2, 3)) * 4 + 3
    np.savez(folder / "values.npz", x=x, y=x[:, 0, :2] * 50)
    return {
        name: load_model(made_run(folder / name, data, hidden=(6,), activation="relu"))
        for name, data in DATA.items()
    }


def run(lines: str, folder: Path) -> str:
    """What those lines print in a process of their own."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    result = subprocess.run(
        [sys.executable, "-c", ALONE + lines],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def answer(model: Model, name: str) -> str:
    """The answer to the example in the lines: zeros, or a row of a table."""
    how = model.preprocessing
    x = np.zeros((1, *how.shape))
    if name == "table":
        row = some_row(how)
        assert list(row) == ["age of it", "city", "new", "floor"]
        assert (row["city"], row["new"], row["floor"]) == (["Oslo"], ["false"], ["0"])
        x = np.array([[row["age of it"][0], 1, 0, 1, 0, 1, 0]])
    return how.classes[int(model(x).argmax())]


MODULES = {"flax": "__call__", "torch": "predict"}
"""Kinds that are Python modules, with what of a model answers to columns."""

COLUMNS = """
import network
import numpy as np
model = network.load()
ages = [41.5, 30, float("nan"), None]
rows = {{"city": ["Oslo", None, "Paris", "Rome"], "age of it": ages, "id": [1, 2, 3, 4]}}
rows |= {{"new": [True, "false", None, "TRUE"], "floor": [0, 1.0, "1", float("nan")]}}
answers = np.asarray(model.{call}(rows))
print(model.features)
print(answers.tolist())
import pandas
frame = pandas.DataFrame(rows)
assert np.array_equal(np.asarray(model.{call}(frame)), answers)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_lines_print_the_answer(models: Mapping[str, Model], tmp_path: Path, kind: str) -> None:
    """In one process a kind, also of columns by their names where there is a module for them."""
    programs = []
    for name, model in models.items():
        made = export_model(model, "a", kind, tmp_path / name)
        assert len(made.usage) <= 5
        programs.append("\n".join(made.usage))
        if kind in MODULES and name == "table":
            pytest.importorskip("pandas")
            programs.append(COLUMNS.format(call=MODULES[kind]))
    # Modules of one name in several folders: each from its own.
    again = "\nprint('---')\nsys.modules.pop('network', None)\n"
    found = run(again.join(programs), tmp_path).split("---\n")
    if kind in MODULES:
        check_columns(models["table"], found.pop(1 + list(models).index("table")))
    for (name, model), text in zip(models.items(), found, strict=True):
        numbers = [float(one) for one in re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", text)]
        if kind == "safetensors":
            assert name != "images" or "'map_0.kernel': (64, 6)" in text
        elif kind == "stablehlo" or not model.preprocessing.classes:
            x = np.zeros((1, *model.preprocessing.shape))
            np.testing.assert_allclose(numbers, model(x)[0], rtol=1e-4)
        else:
            assert f"'{answer(model, name)}'" in text


def check_columns(model: Model, text: str) -> None:
    """That the columns and the answers which `COLUMNS` prints are those of a model."""
    names, answers = text.splitlines()
    inputs = "'new=false', 'new=true', 'floor=0', 'floor=1'"
    assert names == f"('age of it', 'city=Oslo', 'city=Rome', {inputs})"
    no = np.nan
    x = [
        [41.5, 1, 0, 0, 1, 1, 0],
        [30, no, no, 1, 0, 0, 1],
        [no, 0, 0, no, no, 0, 1],
        [no, 0, 1, 0, 1, no, no],
    ]
    np.testing.assert_allclose(json.loads(answers), model(np.array(x)), atol=1e-6)


def test_columns_are_inputs_of_onnx_by_their_names(
    models: Mapping[str, Model], tmp_path: Path
) -> None:
    import onnxruntime

    made = export_model(models["table"], "a", "onnx", tmp_path)
    session = onnxruntime.InferenceSession(made.files[0])
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [
        ("age of it", "tensor(double)", ["b", 1]),
        ("city", "tensor(string)", ["b", 1]),
        ("new", "tensor(string)", ["b", 1]),
        ("floor", "tensor(string)", ["b", 1]),
    ]
    assert [(o.name, o.shape) for o in session.get_outputs()] == [
        ("logits", ["b", 3]),
        ("probabilities", ["b", 3]),
        ("labels", ["b"]),
    ]
    feed = {
        "age of it": np.array([[41.5], [30], [np.nan]]),
        "city": np.array([["Oslo"], [""], ["Paris"]], object),
        "new": np.array([["true"], ["false"], [""]]),
        "floor": np.array([["0"], ["1"], ["5"]]),
    }
    _, shares, labels = session.run(None, feed)
    no = np.nan
    x = np.array([[41.5, 1, 0, 0, 1, 1, 0], [30, no, no, 1, 0, 0, 1], [no, 0, 0, no, no, 0, 0]])
    wanted = models["table"](x)
    np.testing.assert_allclose(shares, wanted, atol=1e-6)
    classes = models["table"].preprocessing.classes
    assert list(labels) == [classes[int(row.argmax())] for row in wanted]


def test_images_are_bytes_in_their_own_shape(models: Mapping[str, Model], tmp_path: Path) -> None:
    import onnxruntime
    from jax import export

    rng = np.random.default_rng(0)
    x = rng.integers(0, 17, (3, 8, 8), np.uint8)
    wanted = models["images"](x)
    graph = export_model(models["images"], "a", "onnx", tmp_path).files[0]
    session = onnxruntime.InferenceSession(graph)
    (given,) = session.get_inputs()
    assert (given.name, given.type, given.shape) == ("examples", "tensor(uint8)", ["b", 8, 8])
    (found,) = session.run(["probabilities"], {"examples": x})
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    program = export_model(models["images"], "a", "stablehlo", tmp_path).files[0]
    called = export.deserialize(bytearray(program.read_bytes()))
    np.testing.assert_allclose(called.call(x)["probabilities"], wanted, atol=1e-6)


def test_columns_that_cannot_be_inputs_of_a_graph(tmp_path: Path) -> None:
    lines = [f"{n % 7},{n % 5},{'xy'[n % 2]}" for n in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["labels,b,kind", *lines]))
    model = load_model(made_run(tmp_path / "run", "{source: csv, path: t.csv, target: kind}"))
    with pytest.raises(UsageError, match="the column 'labels' cannot be an input") as caught:
        export_model(model, "a", "onnx", tmp_path / "out")
    assert "the format torch or flax" in str(caught.value.hint)
    assert not (tmp_path / "out").exists()
