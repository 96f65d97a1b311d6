"""Standard output and error that are full, closed, or whose reader has gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FULL = Path("/dev/full")
SPEC = "data: {source: moons, train: 60, test: 20}\nnetwork: {kind: mlp, hidden: [3]}\n"
OUTPUT = [  # one command for every way to write to standard output
    ["train", "--help"],
    ["schema"],
    ["validate", "s.yaml"],
    ["train", "s.yaml", "--print-spec"],
    ["data", "list"],
    ["doctor", "--json"],
]

needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def senn(place: Path, *arguments: str, shell: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a command with `shell` behind it, such as `>&-`."""
    command = ["bash", "-c", f'"$@" {shell}', "bash", sys.executable, "-m", "senn_cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=place, check=False)


@needs_full
@pytest.mark.parametrize("arguments", OUTPUT, ids=" ".join)
def test_full_standard_output(place: Path, arguments: list[str]) -> None:
    result = senn(place, *arguments, shell=">/dev/full")
    assert result.returncode == 1
    assert "standard output cannot be written: No space left on device" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", OUTPUT[:3], ids=" ".join)
def test_closed_standard_output(place: Path, arguments: list[str]) -> None:
    result = senn(place, *arguments, shell=">&-")
    assert result.returncode == 1
    assert "standard output cannot be written: it is closed" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("arguments", OUTPUT[:3], ids=" ".join)
def test_a_reader_of_standard_output_that_has_gone_is_no_news(
    place: Path, arguments: list[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-m", "senn_cli", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        check=False,
    )
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")


def gone() -> int:
    """A pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("how", ["gone", pytest.param("full", marks=needs_full), "closed"])
def test_a_training_goes_on_in_silence_when_standard_error_dies(place: Path, how: str) -> None:
    arguments: list[Any] = ["train", "s.yaml", "--set", "training.epochs=3", "--run-dir", "run"]
    arguments += ["--set", "expansion.policy=none"]
    if how == "gone":
        writer = gone()
        command = [sys.executable, "-m", "senn_cli", *arguments]
        result = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=writer, text=True, cwd=place, check=False
        )
        os.close(writer)
    else:
        result = senn(place, *arguments, shell="2>/dev/full" if how == "full" else "2>&-")
    assert result.returncode == 0
    assert "test accuracy" in result.stdout
    assert (place / "run" / "summary.json").is_file()
    # Descriptor 2 was no file of the run's.
    for file in (place / "run").rglob("*.json*"):
        assert "device:" not in file.read_text(encoding="utf-8")


def test_a_file_cannot_get_the_number_of_a_closed_stream(place: Path) -> None:
    code = (
        "import os\n"
        "from senn_cli.cli.streams import secure\n"
        "secure()\n"
        "assert os.open(os.devnull, os.O_RDONLY) > 2\n"
    )
    command = ["bash", "-c", '"$@" <&- >&- 2>&-', "bash", sys.executable, "-c", code]
    assert subprocess.run(command, check=False).returncode == 0


def test_an_encoding_that_lacks_letters(place: Path) -> None:
    (place / "größe.yaml").write_text(SPEC, encoding="utf-8")
    code = (
        "from senn_cli.cli.streams import secure\n"
        "secure()\n"
        "import sys\n"
        "print('größe 字', flush=True)\n"
        "print('größe 字', file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        check=False,
    )
    expected = "größe \\u5b57\n".encode("cp1252")
    assert (result.returncode, result.stdout, result.stderr) == (0, expected, expected)


def test_what_is_logged_steers_no_terminal() -> None:
    code = (
        "from senn_cli.cli.streams import secure\n"
        "secure()\n"
        "import logging\n"
        "logging.getLogger('senn_cli').warning('a\\x1b[2Jb')\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert result.stderr == b"a?[2Jb\n"
