"""Jobs under a real Slurm, which the tests start themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from senn_cli.cluster.slurm import Job, Resources, script, submit
from tests.processes import senn
from tests.slurm import asked, running
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

SPEC = """\
data: {source: moons, train: 600, test: 200}
network: {kind: mlp, hidden: [3]}
training: {epochs: EPOCHS}
"""
DETECTED = """\
import json, os
from dataclasses import asdict
from senn_cli.cluster.detect import detect
print("found", json.dumps(asdict(detect(os.environ))))
"""


@pytest.fixture(scope="module", autouse=True)
def slurm() -> Iterator[Path]:
    with running() as place:
        yield place


def ended(number: str) -> bool:
    return state(number) in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")


def state(number: str) -> str:
    return asked("squeue", "--noheader", "--states=all", f"--jobs={number}", "--format=%T").strip()


def written(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_the_tasks_of_a_step_find_each_other_and_the_script_is_alone(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "job.sbatch"
    detected = (sys.executable, "-c", DETECTED)
    alone = f"{sys.executable} -c '{DETECTED}'"
    asked = Resources(tasks=2, cores=1, setup=(alone,))
    file.write_text(script(Job((detected,), "two", str(log), asked)))
    number = submit(file)
    wait_until(lambda: ended(number), "the job's end")
    found = [json.loads(line[6:]) for line in written(log).splitlines() if line[:6] == "found "]
    assert len(found) == 3
    assert found[0]["count"] == 1
    assert "not under srun, though the job has 2 tasks" in found[0]["words"]
    tasks = sorted(found[1:], key=lambda one: one["index"])
    assert [(one["count"], one["index"]) for one in tasks] == [(2, 0), (2, 1)]
    assert [(one["local_count"], one["local_index"]) for one in tasks] == [(2, 0), (2, 1)]
    assert tasks[0]["coordinator"] == tasks[1]["coordinator"]


def test_a_launched_run_comes_back_after_a_signal_and_is_the_same(tmp_path: Path) -> None:
    spec, run, whole = tmp_path / "s.yaml", tmp_path / "run", tmp_path / "whole"
    spec.write_text(SPEC.replace("EPOCHS", "100"))
    done = senn("launch", "--slurm", "--submit", spec, "--run-dir", run, "--cores", "1")
    assert done.returncode == 0, done.stderr
    number = done.stdout.decode().strip()
    wait_until(lambda: written(run / "metrics.jsonl").count("\n") > 3, "a run that trains")
    asked("scancel", "--signal=USR1", number)  # as before a time limit
    wait_until(lambda: state(number) == "PENDING", "a job that is back in the queue")
    assert not (run / "summary.json").exists()  # it is not finished
    asked("scontrol", "update", f"JobId={number}", "StartTime=now")  # not two minutes later
    wait_until(lambda: ended(number), "the job's end")
    assert state(number) == "COMPLETED"
    assert senn("train", spec, "--run-dir", whole).returncode == 0
    first, second = (json.loads(written(place / "summary.json")) for place in (run, whole))
    assert first["status"] == second["status"] == "finished"
    for key in ("test_loss", "hidden", "events", "steps"):
        assert first[key] == second[key]
    assert len(written(run / "resumed.jsonl").splitlines()) == 1
