"""`senn export`: files in place, what was checked on stdout, hints for what is missing."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from tests.use.made import KINDS, made_run

runner = CliRunner()


def export(*arguments: str | Path) -> Any:
    return runner.invoke(app, ["export", *map(str, arguments)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_run(tmp_path_factory.mktemp("runs") / "run", hidden=(3,), activation="tanh")


@pytest.mark.parametrize("kind", KINDS)
def test_every_format(run: Path, kind: str) -> None:
    for module in {"safetensors": ["safetensors"], "onnx": ["onnx", "onnxruntime"]}.get(kind, []):
        pytest.importorskip(module)
    result = export(run, "--format", kind)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    table, _, usage = result.stdout.partition("\n\n")
    assert usage.splitlines()[-1].startswith("print(")
    assert str(run / "export" / kind) in usage
    rows = [line.split(maxsplit=1) for line in table.splitlines()]
    written = [Path(rest.strip()) for word, rest in rows if word == "written"]
    assert written
    assert all(path.is_file() and path.parent == run / "export" / kind for path in written)
    # 2 * 3 + 3 + 3 * 2 + 2 in use; 2 * 6 + 6 + 6 * 2 + 2 allocated.
    assert ["parameters", "17; with spare capacity 32"] in [
        [word, rest.strip()] for word, rest in rows
    ]
    assert "on 1,000 random inputs" in result.stdout
    assert "median of 50" in result.stdout
    again = export(run, "--format", kind)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert export(run, "--format", kind, "--force").exit_code == 0


def test_a_place_of_ones_own(run: Path, tmp_path: Path) -> None:
    result = export(run, "-f", "stablehlo", "-o", tmp_path / "new" / "net.stablehlo")
    assert result.exit_code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "net.json",
        "net.stablehlo",
    ]


@pytest.mark.parametrize("kind", ["safetensors", "onnx"])
def test_a_missing_package(
    run: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    result = export(run, "-f", kind, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "pip install 'senn-cli[export]'" in result.stderr
    assert not (tmp_path / "out").exists()


def test_faults(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    (copy / "weights" / "architecture.json").write_text("{")
    for arguments, code, message in (
        ([run], 2, "Missing option"),
        ([run, "-f", "pickle"], 2, "Invalid value"),
        ([tmp_path, "-f", "flax"], 2, "is not a run directory"),
        ([copy, "-f", "flax"], 1, "architecture.json is damaged"),
        ([run, "-f", "flax", "-o", tmp_path / "a.py"], 2, "name a directory"),
    ):
        result = export(*arguments)
        assert result.exit_code == code, result.output
        assert message in " ".join(result.stderr.split())
        assert "Traceback" not in result.output
