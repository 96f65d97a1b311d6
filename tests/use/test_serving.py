"""What the README says of ONNX Runtime and of FastAPI, as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from senn_cli.model import load_model
from senn_cli.use.exports import export_model
from tests.use.made import made_run

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
CLIENT = """
import numpy as np
from fastapi.testclient import TestClient

answer = TestClient(app).post("/predict", json=np.load("x.npy").tolist())
assert answer.status_code == 200, answer.text
print(answer.json())
"""


def test_the_lines_of_the_readme_are_those_that_are_printed(tmp_path: Path) -> None:
    (block,) = (block for block in BLOCKS if "InferenceSession(" in block and "Fast" not in block)
    model = load_model(made_run(tmp_path / "run", "digits", hidden=(3,), activation="relu"))
    made = export_model(model, "a", "onnx", tmp_path)
    shown = re.sub(r'"[^"]*\.onnx"', f'"{made.files[0]}"', block)
    assert [line for line in shown.splitlines() if line] == list(made.usage)


def test_fastapi(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    (block,) = (block for block in BLOCKS if "FastAPI()" in block)
    assert len([line for line in block.splitlines() if line]) <= 10
    model = load_model(made_run(tmp_path / "run", "digits", hidden=(3,), activation="relu"))
    export_model(model, "a", "onnx", tmp_path)
    x = np.random.default_rng(0).integers(0, 17, (4, 8, 8), np.uint8)
    np.save(tmp_path / "x.npy", x)
    result = subprocess.run(
        [sys.executable, "-c", block + CLIENT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    wanted = [model.preprocessing.classes[int(row.argmax())] for row in model(x)]
    assert result.stdout.strip() == str(wanted)
