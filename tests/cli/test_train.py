"""`senn train`: what it prints where, what it writes, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.spec import load_spec
from senn_cli.training.loop import Trainer
from senn_cli.words import in_bytes
from tests.processes import imported, senn
from tests.waiting import LIMIT, wait_until

runner = CliRunner()

SPEC = """\
data: {source: moons, train: 100, test: 50, validation: 20}
network: {kind: mlp, hidden: [3, 5]}
optimizer: {kind: adam, learning_rate: 1e-2}
expansion: {policy: none}
training: {epochs: 2, batch_size: 30}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SENN_RUNS", raising=False)
    (tmp_path / "größe.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def invoke(*arguments: str, **environment: str) -> Any:
    return runner.invoke(app, ["train", "größe.yaml", *arguments], env=environment)


def files(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_the_first_verb() -> None:
    help_text = runner.invoke(app, ["--help"]).stdout
    assert help_text.index("│ train ") < help_text.index("│ new ")


def test_a_run(place: Path) -> None:
    result = invoke()
    assert result.exit_code == 0, result.output
    (path,) = (place / "runs").iterdir()
    assert path.name.startswith("größe-")
    assert ["run", "directory", str(path)] in [line.split() for line in result.stdout.splitlines()]
    assert "test accuracy" in result.stdout
    assert "where the time went" in result.stdout
    log = result.stderr.splitlines()
    assert log[0][20:] == "importing JAX"
    assert any(line[20:].startswith("device: CPU") for line in log)
    assert any("step 4/4" in line for line in log)
    assert [line[20:] for line in log[-3:]] == [
        "end: finished",
        f"next: senn inspect {path}",
        f"next: senn report {path}",
    ]


def test_quiet_prints_the_directory_alone(place: Path) -> None:
    result = invoke("--quiet", "--run-dir", "here")
    assert result.exit_code == 0
    assert result.stdout == f"{place / 'here'}\n"
    assert result.stderr == ""
    assert (place / "here" / "summary.json").is_file()
    assert files(place) == ["größe.yaml", "here"]


def test_where_runs_go_and_the_seed(place: Path) -> None:
    assert invoke("-q", "--seed", "5", SENN_RUNS="elsewhere").exit_code == 0
    assert invoke("-q", "--set", "seed=5", "--runs-root", "there", SENN_RUNS="x").exit_code == 0
    (first,), (second,) = (place / "elsewhere").iterdir(), (place / "there").iterdir()
    assert (first / "spec.yaml").read_text() == (second / "spec.yaml").read_text()
    assert load_spec(first / "spec.yaml").seed == 5
    assert files(place) == ["elsewhere", "größe.yaml", "there"]


def test_print_spec_can_be_run_again(place: Path) -> None:
    result = invoke("--print-spec", "--seed", "3", "--set", "training.epochs=1")
    assert result.exit_code == 0
    assert result.stderr == ""
    (place / "again.yaml").write_bytes(result.stdout_bytes)
    again = load_spec("again.yaml")
    assert again == load_spec("größe.yaml", ["seed=3", "training.epochs=1"])
    assert (again.name, again.seed, again.training.epochs) == ("größe", 3, 1)
    second = runner.invoke(app, ["train", "again.yaml", "--print-spec"])
    assert second.stdout == result.stdout
    assert files(place) == ["again.yaml", "größe.yaml"]


def test_print_spec_imports_no_jax_and_is_utf8_everywhere(place: Path) -> None:
    ascii_: dict[str, str] = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    lines, modules = imported(["train", "größe.yaml", "--print-spec"], **ascii_)
    assert "name: größe" in lines
    assert not modules & {"jax", "flax", "optax", "numpy", "sklearn"}


def test_dry_run(place: Path) -> None:
    result = invoke("--dry-run")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert files(place) == ["größe.yaml"]
    text = result.stdout
    assert "80 training, 20 validation, 50 test" in text
    assert "4 steps, 2 epochs, batches of 30, 2 steps an epoch" in text
    rows = [line.split() for line in text.splitlines()]
    # 2 inputs; 3 x 3 + 3 x 3 parameters in use, 3 x 8 + 3 x 8 with all the room.
    assert ["layer", "0", "2", "/", "2", "3", "/", "8", "rational", "18", "/", "48"] in rows
    assert ["output", "5", "/", "8", "2", "/", "2", "12", "/", "18"] in rows
    assert ["total", "65", "/", "162"] in rows
    # 162 numbers; Adam keeps two more of each; 100 points of two float32 and an int32.
    assert ["parameters", "648", "B", "648", "B"] in rows
    assert ["optimizer", "state", "1.3", "kB", "1.3", "kB"] in rows
    assert ["training", "and", "validation", "data", "1.2", "kB", "1.2", "kB"] in rows
    assert not any(row[:1] == ["curvature"] for row in rows)


def test_dry_run_at_full_capacity(place: Path) -> None:
    eights = ("--set", "network.capacity.multiple=8")
    result = invoke("--dry-run", "--set", "expansion={max_hidden: 20}", *eights)
    assert "Full capacity: 8-24 hidden neurons" in result.stdout  # for 3 and 17
    assert "room for the 20 of expansion.max_hidden" in result.stdout
    assert "samples of a growth round" in result.stdout
    times = "{policy: senn, every: 3 steps, thin_to: 2 epochs}"
    unlimited = invoke(
        "--dry-run", "--set", f"expansion={times}", "--set", "optimizer.schedule=wsd"
    ).stdout
    assert "expansion.max_hidden sets no limit" in unlimited
    rarer = "growth: a round every 3 steps, rarer while they add nothing, up to every 2 epochs"
    assert rarer in unlimited
    assert "learning rate: falls when growth ends, at least in the last 30%" in unlimited
    assert "nothing grows" in invoke("--dry-run").stdout


def test_a_dry_run_imports_no_jax(place: Path) -> None:
    _, modules = imported(["train", "größe.yaml", "--dry-run"])
    assert "numpy" in modules and "jax" not in modules


def test_print_spec_or_dry_run(place: Path) -> None:
    result = invoke("--print-spec", "--dry-run")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "optimizer.lerning_rate=1"], "did you mean learning_rate?"),
        (["--seed", "-1"], "--set seed=-1: seed should be"),
        (["--seed", "x"], "Invalid value for '--seed'"),
        (["--set", "training.batch_size=81"], "the training part has only 80 examples"),
        (["--set", "data={source: csv, path: no.csv, target: y}"], "no.csv"),
        (["--set", "training.batch_size=81", "--dry-run"], "only 80 examples"),
        (["--run-dir", "."], "is not empty"),
    ],
)
def test_bad_input_ends_with_2_and_no_run(place: Path, arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert files(place) == ["größe.yaml"]


def test_a_root_that_cannot_be_made(place: Path) -> None:
    (place / "file").write_text("")
    result = invoke("--runs-root", "file")
    assert result.exit_code == 1
    assert "no run directory can be made in" in result.stderr


def test_divergence_ends_with_3_and_names_step_metric_and_directory(place: Path) -> None:
    result = invoke("--set", "optimizer.learning_rate=1e6", "--set", "training.epochs=20")
    assert result.exit_code == 3
    assert result.stdout == ""
    (path,) = (place / "runs").iterdir()
    assert "╭─ Diverged ─" in result.stderr
    assert "train_loss at step " in result.stderr
    assert f"run directory: {path}" in result.stderr
    assert (path / "weights" / "architecture.json").is_file()


def test_an_interrupt_names_the_run_directory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "run", interrupted)
    result = invoke()
    assert result.exit_code == 130
    assert result.stdout == ""
    (path,) = (place / "runs").iterdir()
    assert result.stderr.splitlines()[-1] == f"Interrupted; the run so far is in {path}"


def test_an_interrupt_before_there_is_a_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("senn_cli.training.run.load", interrupted)
    result = invoke("--quiet")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted\n"
    assert files(place) == ["größe.yaml"]


def test_control_c_in_a_real_process(place: Path) -> None:
    code = (
        "import signal\n"  # a parent that ignores the signal hands that on
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from senn_cli.cli.app import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "train", "größe.yaml", "--set", "training.epochs=1e7"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: list(place.glob("runs/*/metrics.jsonl")))  # it trains
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    (path,) = (place / "runs").iterdir()
    assert f"the run so far is in {path}" in err
    assert f"senn resume {path}" in err
    assert out == ""
    assert "Traceback" not in err


def test_a_log_is_plain_and_the_module_is_the_command(place: Path) -> None:
    as_users = {"XLA_FLAGS": "", "JAX_DISABLE_MOST_OPTIMIZATIONS": "0"}
    result = senn("train", "größe.yaml", FORCE_COLOR="1", PYTHONIOENCODING="ascii", **as_users)
    assert result.returncode == 0, result.stderr
    for stream in (result.stdout, result.stderr):
        assert b"\x1b" not in stream
        assert b"\r" not in stream
        stream.decode("ascii")
    assert b"test accuracy" in result.stdout
    assert b"end: finished" in result.stderr


def test_bytes_in_words() -> None:
    assert [in_bytes(n) for n in (0, 999, 1500, 2_000_000, 3_400_000_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "2.0 MB",
        "3.4 GB",
    ]
