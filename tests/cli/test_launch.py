from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from senn_cli.cli.app import app
from tests.processes import python

SPEC = "data: {source: moons, train: 60, test: 20}\nnetwork: {kind: mlp, hidden: [3]}\n"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENN_RUNS", raising=False)
    Path("my spec.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def launched(*words: str) -> Result:
    return CliRunner().invoke(app, ["launch", "my spec.yaml", *words])


def command(text: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith("command=(")]
    return shlex.split(line.removeprefix("command=(").removesuffix(")"))


def test_the_script_trains_or_goes_on(place: Path) -> None:
    words = ["--slurm", "--run-dir", "runs/a b", "--set", "network.hidden=[3, 4]", "--seed", "3"]
    result = launched(*words, "--time", "60", "--cores", "2", "--sbatch=--partition=long")
    assert (result.exit_code, result.stdout) == (0, f"{place}/runs/a b.sbatch\n")
    text = Path("runs/a b.sbatch").read_text(encoding="utf-8")
    assert command(text) == [
        *(sys.executable, "-m", "senn_cli", "train", f"{place}/my spec.yaml"),
        *("--set", "network.hidden=[3, 4]", "--set", "seed=3"),
        *("--run-dir", f"{place}/runs/a b", "--resume", "auto"),
    ]
    lines = text.splitlines()
    for option in ("time=60", "cpus-per-task=2", "partition=long", f'output="{place}/runs/a b-%j'):
        assert any(line.startswith(f"#SBATCH --{option}") for line in lines)
    assert not Path("runs/a b").exists()
    assert f"next: sbatch '{place}/runs/a b.sbatch'" in result.stderr


def test_a_process_is_started_for_every_task_of_every_node(place: Path) -> None:
    words = ("--nodes", "2", "--tasks", "4", "--gpus", "8", "--set", "device.count=2")
    assert launched("--slurm", "--run-dir", "m", *words).exit_code == 0
    lines = Path("m.sbatch").read_text(encoding="utf-8").splitlines()
    for option in ("nodes=2", "ntasks-per-node=4", "gpus-per-task=2"):
        assert f"#SBATCH --{option}" in lines
    assert any(line.startswith("srun --ntasks=8 ") for line in lines)


def test_runs_get_directories_of_their_own() -> None:
    first, second = (launched("--slurm").stdout for _ in range(2))
    assert first != second
    assert Path(first.strip()).parent == Path("runs").absolute()


def test_no_other_script_is_overwritten() -> None:
    words = ("--slurm", "--run-dir", "m")
    assert [launched(*words).exit_code for _ in range(2)] == [0, 0]
    before = Path("m.sbatch").read_text(encoding="utf-8")
    result = launched(*words, "--cores", "2")
    assert result.exit_code == 2
    assert "m.sbatch exists" in result.stderr.replace("\n", "")
    assert Path("m.sbatch").read_text(encoding="utf-8") == before


def test_with_submit_the_number_of_the_job_is_printed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("sbatch").write_text("#!/bin/sh\necho 12\n", encoding="utf-8")
    Path("sbatch").chmod(0o700)
    monkeypatch.setenv("PATH", str(place), prepend=":")
    result = launched("--slurm", "--submit", "--run-dir", "m")
    assert (result.exit_code, result.stdout) == (0, "12\n")
    assert f"its output: {place}/m-12.log" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "launched by something"),
        (["--slurm", "--set", "device=gpu"], "without --gpus a job has none"),
        (["--slurm", "--set", "device=cpu", "--gpus", "1"], "device.kind: cpu"),
        (["--slurm", "--gpus", "2"], "every process of the spec's run goes over 1"),
        (["--slurm", "--gpus", "4", "--tasks", "2"], "is 4 for 2 tasks a node, and every process"),
        (["--slurm", "--gpus", "4", "--tasks", "3"], "GPUs of its own"),
        (["--slurm", "--sbatch=--nodes=2"], "would undo"),
        (["--slurm", "--time", "5"], "not more than the 300 seconds"),
        (["--slurm", "--set", "network.hidden=no"], "network.hidden"),
    ],
    ids=[
        "no-launcher",
        "no-gpu",
        "cpu",
        "idle-gpu",
        "idle-gpus",
        "shared-gpu",
        "nodes",
        "short",
        "spec",
    ],
)
def test_what_is_not_launched(words: list[str], message: str) -> None:
    result = launched(*words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", "").split())
    assert not Path("runs").exists()


def test_launching_imports_no_jax(place: Path) -> None:
    words = ["launch", "--slurm", "my spec.yaml", "--run-dir", "m"]
    script = (
        "from senn_cli.cli.app import app; import sys; app(sys.argv[1:], standalone_mode=False)"
    )
    done = python("-c", f"{script}; print('jax' in sys.modules)", *words)
    assert done.stdout.decode().splitlines() == [f"{place}/m.sbatch", "False"]
