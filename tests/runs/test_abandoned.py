"""What a kill leaves of a run directory before there is a spec is free for the next run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from senn_cli.errors import UsageError
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.free import require_free
from senn_cli.runs.holder import Holder
from senn_cli.runs.lock import LOCK, RunLock

KILLED = """
import os, signal, sys
from pathlib import Path
from senn_cli.runs import directory
from senn_cli.runs.lock import RunLock
run = directory.RunDirectory.at(Path(sys.argv[1]))
if sys.argv[2] == "claimed":
    os.kill(os.getpid(), signal.SIGKILL)
with RunLock(run.path):
    if sys.argv[2] == "writing":
        (run.path / ".spec.yaml.17-0a1b2c.tmp").write_text("seed")
        (run.path / "checkpoints").mkdir()
    if sys.argv[2] == "written":
        run.write_spec("seed: 1")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(path: Path, when: str) -> Path:
    """The directory of a process that was killed at a moment."""
    command = [sys.executable, "-c", KILLED, str(path), when]
    assert subprocess.run(command, check=False).returncode == -9
    return path


def aged(path: Path) -> Path:
    """As if it had been made a minute ago."""
    claim = path / "metrics.jsonl"
    moment = claim.stat().st_mtime - 60
    os.utime(claim, (moment, moment))
    return path


@pytest.mark.parametrize("when", ["claimed", "locked", "writing"])
def test_a_kill_before_the_spec_leaves_a_free_directory(tmp_path: Path, when: str) -> None:
    run = aged(killed(tmp_path / "run", when))
    assert os.listdir(run)
    require_free(run)
    assert os.listdir(run) == []
    assert RunDirectory.at(run).path == run


def test_a_dead_lock_tells_at_once(tmp_path: Path) -> None:
    require_free(killed(tmp_path / "run", "locked"))
    assert os.listdir(tmp_path / "run") == []


def test_a_run_with_its_spec_is_none(tmp_path: Path) -> None:
    run = aged(killed(tmp_path / "run", "written"))
    before = sorted(os.listdir(run))
    with pytest.raises(UsageError, match="is not empty"):
        require_free(run)
    assert sorted(os.listdir(run)) == before


def test_a_directory_that_a_live_process_has_just_made_is_left_alone(tmp_path: Path) -> None:
    run = RunDirectory.at(tmp_path / "run")  # before it takes the lock
    with pytest.raises(UsageError, match="is not empty"):
        require_free(run.path)
    with RunLock(aged(run.path)), pytest.raises(UsageError, match="is not empty"):
        require_free(run.path)
    other = Holder(pid=1, started=None, host="elsewhere", command=("senn",), time="now")
    (run.path / LOCK).write_text(json.dumps(asdict(other)))
    with pytest.raises(UsageError, match="is not empty"):
        require_free(run.path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("metrics.jsonl", '{"step": 1}\n'), ("history.jsonl", "{}\n"), ("notes.txt", ""),
     ("checkpoints/5/meta.json", "{}"), (".spec.yaml.swp", "")],
)  # fmt: skip
def test_nothing_of_anybody_else_is_removed(tmp_path: Path, name: str, content: str) -> None:
    run = aged(killed(tmp_path / "run", "claimed"))
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).write_text(content)
    if name == "metrics.jsonl":
        aged(run)
    with pytest.raises(UsageError, match="is not empty"):
        require_free(run)
    assert (run / name).read_text() == content


def test_what_a_transfer_had_begun_with_goes_too(tmp_path: Path) -> None:
    run = aged(killed(tmp_path / "run", "locked"))
    (run / "transfer.json").write_text("{}")
    (run / "history.jsonl").write_text('{"origin": {}}\n')
    (run / "checkpoints" / "0").mkdir(parents=True)
    (run / "checkpoints" / "0" / "meta.json").write_text("{}")
    require_free(run)
    assert os.listdir(run) == []
