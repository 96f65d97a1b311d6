"""`specs/notebook.ipynb`: its cells run, show what they promise, and are kept without outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "specs" / "notebook.ipynb"


def cells(kind: str) -> dict[str, dict[str, Any]]:
    found = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return {cell["id"]: cell for cell in found if cell["cell_type"] == kind}


def test_its_cells_are_python_and_nothing_is_stored() -> None:
    found = cells("code")
    assert {"data", "fit", "run", "plot", "export"} <= found.keys()
    for cell in found.values():
        assert (cell["outputs"], cell["execution_count"]) == ([], None), cell["id"]
        ast.parse("".join(cell["source"]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_runs_from_x_and_y_to_a_picture_and_an_export(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    for needed in ("ipykernel", "pandas", "onnxruntime"):
        pytest.importorskip(needed, reason=f"needs {needed}")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = {cell["id"]: cell["outputs"] for cell in notebook.cells if cell["cell_type"] == "code"}

    def data(name: str) -> dict[str, str]:
        return dict(shown[name][-1]["data"])

    # One display that was redrawn, and no widget.
    (view,) = shown["fit"]
    assert "training" in view["data"]["text/html"] and "finished" in view["data"]["text/html"]
    assert "data:image/svg+xml;base64," in data("run")["text/html"]
    assert "test accuracy" in data("run")["text/html"]
    assert "insert_layer" in data("history")["text/html"]
    assert "train_loss" in data("metrics")["text/html"]
    assert "data:image/svg+xml;base64," in data("plot")["text/html"]
    (exported,) = tmp_path.glob("runs/moons-*/export/onnx/*.onnx")
    assert exported.name in data("export")["text/plain"]
    assert float(data("estimator")["text/plain"]) > 0.8
