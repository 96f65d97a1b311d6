"""A sweep as an array of jobs under a real Slurm, which the test starts itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.processes import senn
from tests.slurm import asked, running
from tests.waiting import wait_until

SPEC = """\
data: {source: moons, train: 600, test: 200}
network: {kind: mlp, hidden: [3]}
training: {epochs: 100}
"""
SHARED = ("test_loss", "hidden", "events", "steps")
"""What of a summary does not tell on which machine and in how many turns it came about."""


def summaries(folder: Path) -> dict[str, list[object]]:
    found = {}
    for path in sorted(folder.rglob("summary.json")):
        summary = json.loads(path.read_text())
        found[path.parent.name] = [summary[key] for key in SHARED]
    return found


def rows(folder: Path) -> list[int]:
    return [path.read_text().count("\n") for path in folder.rglob("metrics.jsonl")]


@pytest.mark.slow
def test_an_array_that_is_signalled_goes_back_into_the_queue_and_ends_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.yaml").write_text(SPEC)
    here, there = tmp_path / "here", tmp_path / "there"
    sweep = ("sweep", tmp_path / "s.yaml", "--seeds", "2")
    with running():
        done = senn(*sweep, "--dir", there, "--launcher", "slurm", "--cores", "1")
        assert done.returncode == 0, done.stderr
        (number,) = set(asked("squeue", "--noheader", "--format=%A").split()[:1])
        wait_until(lambda: len(rows(there)) == 2 and min(rows(there)) > 3, "members that train")
        asked("scancel", "--signal=USR1", number)  # as before a time limit
        queue = ("squeue", "--noheader", "--array", "--format=%T")
        wait_until(lambda: asked(*queue).split() == ["PENDING"] * 2, "both back in the queue")
        assert summaries(there) == {}
        for task in asked("squeue", "--noheader", "--array", "--format=%i").split():
            asked("scontrol", "update", f"JobId={task}", "StartTime=now")
        wait_until(lambda: not asked("squeue", "--noheader", "--states=PD,R,CG"), "the array's end")
        done = senn(*sweep, "--dir", there, "--launcher", "slurm", "--cores", "1")
        assert done.returncode == 0, done.stderr
    assert len(list(there.rglob("resumed.jsonl"))) == 2
    assert senn(*sweep, "--dir", here).returncode == 0
    assert len(summaries(here)) == 2
    assert summaries(there) == summaries(here)
