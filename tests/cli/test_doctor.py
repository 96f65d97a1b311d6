from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from senn_cli.cli import doctor as module
from senn_cli.cli.doctor import (
    check_devices,
    check_directory,
    check_disk,
    check_python,
    doctor,
    print_checks,
)
from senn_cli.cli.doctoring import Check
from tests.waiting import LIMIT

app = typer.Typer()
app.command()(doctor)


@pytest.fixture(autouse=True)
def _somewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    # Keeps JAX out of this process.
    monkeypatch.setattr(module, "_device_names", lambda: ["cpu (cpu:0)"])
    monkeypatch.setattr(module, "_second_process_hits", lambda: True)
    monkeypatch.delenv("SENN_DATA", raising=False)


def test_a_healthy_machine() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "cpu (cpu:0)" in result.stdout
    assert result.stdout.endswith("All that a run needs is there.\n")
    assert list(Path().iterdir()) == []


def test_json() -> None:
    result = CliRunner().invoke(app, ["--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["healthy"] is True
    assert "jax" in found["packages"]
    names = {check["name"] for check in found["checks"]}
    names -= {name for name in names if name.startswith(("extra", "downloaded"))}
    assert names == {
        "senn",
        "python",
        "platform",
        "packages",
        "devices",
        "compilation cache",
        "cached programs",
        "SENN_DATA",
        "run directory",
        "free disk",
    }
    assert all(set(c) == {"name", "outcome", "found", "hint"} for c in found["checks"])


def test_what_is_not_needed_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("senn_cli.tracking.tracker.importable", lambda name: False)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "pip install 'senn-cli[plot]'" in result.stdout
    assert result.stdout.endswith("All that a run needs is there.\n")


def test_a_cache_that_is_never_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_second_process_hits", lambda: False)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "38445" in result.stdout


def test_quick_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_second_process_hits", lambda: pytest.fail("it was tried"))
    result = CliRunner().invoke(app, ["--quick", "--json"])
    assert result.exit_code == 0
    assert "cached programs" not in result.stdout


def test_no_place_for_runs_ends_with_1_and_a_hint() -> None:
    Path("runs").touch()
    result = CliRunner().invoke(app, ["--json"])
    assert result.exit_code == 1
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["run directory"]["outcome"] == "failed"
    assert "--run-dir" in checks["run directory"]["hint"]


def test_no_cache_is_a_warning_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SENN_CACHE_DIR", str(tmp_path / "file"))
    result = CliRunner().invoke(app, ["--json"])
    assert result.exit_code == 0
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["compilation cache"]["outcome"] == "warning"
    assert "SENN_CACHE_DIR" in checks["compilation cache"]["hint"]


def test_devices_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> list[str]:
        raise ModuleNotFoundError("No module named 'jax'")

    def broken() -> list[str]:
        raise RuntimeError("CUDA_ERROR_UNKNOWN")

    assert check_devices(missing).outcome == "failed"
    assert check_devices(missing).hint == "pip install --upgrade jax"
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    assert "CUDA_ERROR_UNKNOWN" in check_devices(broken).found
    assert "JAX_PLATFORMS=cuda" in check_devices(broken).hint
    monkeypatch.delenv("JAX_PLATFORMS")
    assert "Reinstall JAX" in check_devices(broken).hint


def test_python_versions() -> None:
    assert check_python((3, 10, 9)).outcome == "failed"
    assert check_python((3, 11, 0)) == Check("python", "ok", "3.11.0")


def test_directories(tmp_path: Path) -> None:
    assert check_directory("a", tmp_path / "new", essential=True).outcome == "ok"


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 3 << 28))
    assert check_disk(tmp_path / "new") == Check(
        "free disk", "warning", "0.8 GiB", "Free some space before a long run."
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1, 1, 3 << 30))
    assert check_disk(tmp_path) == Check("free disk", "ok", "3.0 GiB")


def test_narrow_ascii_output() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    check = Check("run directory", "failed", "/größe/[bold]" + "x" * 80, "Do something else.")
    print_checks([check], False, Console(file=file, width=60))
    file.flush()
    assert isinstance(file.buffer, io.BytesIO)
    text = file.buffer.getvalue().decode("ascii")
    assert max(len(line) for line in text.splitlines()) <= 60
    assert "[bold]" in text
    assert text.endswith("No run can work like this.\n")


def test_the_real_devices_are_found() -> None:
    script = (
        "from senn_cli.cli.doctor import check_devices, _device_names;"
        "print(check_devices(_device_names))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert "cpu:0" in result.stdout
    assert "outcome='ok'" in result.stdout
