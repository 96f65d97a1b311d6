"""The first second of a training: its first line, and signals, before JAX is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from senn_cli.__main__ import THREADS
from tests.waiting import LIMIT, wait_until

SPEC = "data: {source: moons, train: 60, test: 20}\nnetwork: {kind: mlp, hidden: [3]}\n"

# A module that is imported for ever.
STUCK = """\
import pathlib, time
pathlib.Path("importing").touch()
while True:
    time.sleep(0.01)  # for ever
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def started(place: Path, module: str, content: str, *arguments: str) -> subprocess.Popen[str]:
    """`senn` where importing `module` runs `content` instead."""
    (place / "instead").mkdir()
    (place / "instead" / f"{module}.py").write_text(content, encoding="utf-8")
    path = os.pathsep.join([str(place / "instead"), os.environ["PYTHONPATH"]])
    return subprocess.Popen(
        [sys.executable, "-m", "senn_cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize(
    ("verb", "number", "code"),
    [
        ("train", signal.SIGTERM, 75),
        ("train", signal.SIGINT, 130),
        ("train", signal.SIGHUP, 75),
        ("resume", signal.SIGTERM, 75),
        ("demo", signal.SIGTERM, 75),
        ("schema", signal.SIGTERM, -signal.SIGTERM),
    ],
)
def test_a_signal_before_the_command_line_is_read(
    place: Path, verb: str, number: int, code: int
) -> None:
    process = started(place, "typer", STUCK, verb)
    wait_until((place / "importing").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == code
    assert (out, err) == ("", "" if code < 0 else "Interrupted\n")
    assert sorted(path.name for path in place.iterdir()) == ["importing", "instead", "s.yaml"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_a_signal_while_jax_is_imported(place: Path, number: int, code: int) -> None:
    process = started(place, "jax", STUCK, "train", "s.yaml")
    wait_until((place / "importing").exists)
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == code
    assert out == ""
    assert err.splitlines()[-1] == "Interrupted"
    assert not (place / "runs").exists()


def test_the_first_line_comes_before_jax(place: Path) -> None:
    """By its cause: whatever the machine, importing JAX is what would keep it back."""
    process = started(place, "jax", "raise SystemExit('JAX is being imported')", "train", "s.yaml")
    out, err = process.communicate(timeout=LIMIT)
    first, second = err.splitlines()
    assert first[20:] == "importing JAX"
    assert second == "JAX is being imported"
    assert out == ""


def test_what_is_ignored_stays_ignored(place: Path) -> None:
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from senn_cli.training.interruption import end_at_signals\n"
        "end_at_signals()\n"
        "signal.raise_signal(signal.SIGHUP)\n"
        "print('on')\n"
        "signal.raise_signal(signal.SIGUSR1)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (75, b"Interrupted\n")


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("4", "4")])
def test_lapack_has_one_thread_unless_the_user_says_otherwise(given: str | None, used: str) -> None:
    # It is read when NumPy is imported, so it has to be there before.
    script = """
import os, sys
import senn_cli.__main__ as start
assert "numpy" not in sys.modules
sys.argv = ["senn", "--version"]
try:
    start.main()
finally:
    print(os.environ["OPENBLAS_NUM_THREADS"])
"""
    env = {k: v for k, v in os.environ.items() if k != THREADS}
    env |= {} if given is None else {THREADS: given}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == used
