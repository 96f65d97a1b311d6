"""`senn import`: what it prints where, and that growth goes on from what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app

runner = CliRunner()

MAPPING = """
kind: mlp
activation: silu
maps:
  - {kernel: fc1.weight, bias: fc1.bias, transpose: true}
  - {kernel: fc2.weight, transpose: true}
preprocessing: {shape: [8, 8], dtype: uint8, shift: 4.9, scale: 0.16}
"""
GROWING = """
name: grown
data: {source: digits, subset: 320}
network: mlp
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion:
  samples: 160
  every: {epochs: 1}
  threshold: 1e-6
  stop: 1e-6
  noise: 0
  price: 0
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}
  depth: false
training: {epochs: 2, batch_size: 64}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENN_RUNS", raising=False)
    rng = np.random.default_rng(0)
    np.savez(
        "other.npz",
        **{  # type: ignore[arg-type]
            "fc1.weight": rng.standard_normal((6, 64)) / 8,
            "fc1.bias": rng.standard_normal(6).astype(np.float32),
            "fc2.weight": rng.standard_normal((10, 6)).astype(np.float32),
        },
    )
    Path("map.yaml").write_text(MAPPING)
    Path("grow.yaml").write_text(GROWING)
    return tmp_path


def senn(*arguments: str) -> Any:
    return runner.invoke(app, arguments)


def test_what_is_told(folder: Path) -> None:
    result = senn("import", "other.npz", "map.yaml")
    assert result.exit_code == 0, result.output
    rows = [line.split(maxsplit=1) for line in result.stdout.splitlines()]
    shown = {row[0]: row[1].strip() for row in rows}
    assert shown["written"] == str(folder / "other")
    assert shown["network"] == "mlp, hidden 6"
    assert shown["parameters"] == "460"  # 64 x 6 + 6 + 6 x 10 + 10
    lines = [line.split(maxsplit=2) for line in result.stderr.splitlines()]
    assert [line[:2] for line in lines] == [
        ["params/map_0/kernel", "64x6"],
        ["params/map_0/bias", "6"],
        ["params/map_1/kernel", "6x10"],
        ["params/map_1/bias", "10"],
    ]
    assert "float64 converted to float32" in lines[0][2]
    assert lines[3][2] == "zero: the mapping names no bias for this map"


def test_growth_goes_on_from_it(folder: Path) -> None:
    assert senn("import", "other.npz", "map.yaml", "-o", "net").exit_code == 0
    result = senn("transfer", "--from", "net", "grow.yaml", "--run-dir", "run", "-q")
    assert result.exit_code == 0, result.output
    events = [json.loads(line) for line in Path("run/history.jsonl").read_text().splitlines()]
    assert events[0]["reason"].startswith("transferred from net at step 0 (")
    assert events[0]["hidden"] == [6]
    assert any(e["edit"] == "add_neurons" and e["accepted"] for e in events)
    grown = json.loads(Path("run/summary.json").read_text())["hidden"]
    assert grown[0] > 6
    shown = senn("inspect", "run")
    assert shown.exit_code == 0
    chain = [line for line in shown.stdout.splitlines() if line.startswith("from ")]
    assert [line.split()[1].rstrip(",") for line in chain] == ["other.npz", "net"]
    assert chain[0].endswith(str(folder / "other.npz"))


def test_the_uses_of_a_finished_run(folder: Path) -> None:
    assert senn("import", "other.npz", "map.yaml", "-o", "net").exit_code == 0
    Path("digits.yaml").write_text("data: digits\nnetwork: mlp\n")
    result = senn("evaluate", "net", "--data", "digits.yaml", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["split"] == "test"
    np.savez("new.npz", x=np.zeros((3, 8, 8), np.uint8))
    result = senn("predict", "net", "new.npz")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 4
    result = senn("inspect", "net")
    assert result.exit_code == 0, result.output
    assert "finished at step 0" in result.stdout
    assert senn("runs", ".").exit_code == 0
    result = senn("evaluate", "net")
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "net was imported, so that nothing tells what to evaluate it on" in said
    assert "--data SPEC" in said
    np.savez("net/data.npz", x=np.zeros((20, 8, 8), np.uint8), y=np.arange(20) % 10)
    result = senn("evaluate", "net", "--json")
    assert result.exit_code == 0, result.output


def test_without_preprocessing_it_is_an_origin_alone(folder: Path) -> None:
    text = "\n".join(MAPPING.splitlines()[:-1])
    Path("map.yaml").write_text(text)
    result = senn("import", "other.npz", "map.yaml", "-o", "net")
    assert result.exit_code == 0, result.output
    assert "as the origin of `senn transfer` alone" in result.stdout
    arguments = ["--set", "expansion.policy=none", "--until", "1 step", "--run-dir", "run", "-q"]
    result = senn("transfer", "--from", "net", "grow.yaml", *arguments)
    assert result.exit_code == 0, result.output
    result = senn("evaluate", "net")
    assert result.exit_code == 2
    assert "is not a run directory" in result.stderr
    assert "preprocessing" in result.stderr


def test_the_mapping_that_was_found_is_printed(folder: Path) -> None:
    result = senn("import", "other.npz", "--activation", "silu", "--explain")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "# makes of other.npz: mlp, 64 -> 6 -> 10, 460 parameters"
    assert "# params/map_0/kernel (64, 6): from fc1.weight, transposed, float64" in result.stdout
    assert lines[-7:] == [
        "kind: mlp",
        "activation: silu",
        "maps:",
        "  - {kernel: fc1.weight, bias: fc1.bias, transpose: true}",
        "  - {kernel: fc2.weight, transpose: true}",
        "preprocessing: {}",
        "classes: ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']",
    ]
    assert not Path("other").exists()
    Path("found.yaml").write_text(result.stdout)
    assert senn("import", "other.npz", "found.yaml").exit_code == 0
    digest = json.loads(Path("other/transfer.json").read_text())["origin"]["digest"]
    both = ("--activation", "silu", "--set", "classes=[a,b,c,d,e,f,g,h,i,j]", "-o", "again")
    assert senn("import", "other.npz", *both).exit_code == 0
    again = json.loads(Path("again/transfer.json").read_text())
    assert again["origin"]["digest"] == digest
    assert again["settings"]["mapping"] is None
    assert "classes: [a, b, c, d, e, f, g, h, i, j]" in again["settings"]["map"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["other.npz"], 2, "does not tell the activation of its 1 hidden"),
        (["nothing.npz", "map.yaml"], 2, "does not exist"),
        (["other.npz", "grow.yaml"], 2, "kind is missing"),
        (["other.npz", "map.yaml", "-o", "."], 2, "is not empty"),
        ([], 2, "Missing argument"),
    ],
)
def test_errors_are_panels(folder: Path, arguments: list[str], code: int, message: str) -> None:
    before = sorted(path.name for path in folder.iterdir())
    result = senn("import", *arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
