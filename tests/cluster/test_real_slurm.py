"""Jobs under a real Slurm, which the tests start themselves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from senn_cli.cluster.slurm import Job, Resources, script, submit
from tests.processes import senn
from tests.resuming import rows
from tests.slurm import asked, running
from tests.training.test_devices import DECIDED, check_close
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

SPEC = """\
data: {source: moons, train: 600, test: 200}
network: {kind: mlp, hidden: [3]}
training: {epochs: EPOCHS}
"""
GROWING = """\
data: {source: moons, train: 96, test: 40}
network: {kind: mlp, hidden: [2], activation: tanh, capacity: {initial: [12]}}
expansion:
  until: 6 epochs
  threshold: 1e-6
  price: 0
  samples: 48
  max_hidden: 5
  width: {proposals: 16, polished: 2, steps: 2, per_round: 1}
  depth: false
optimizer: {kind: adam, learning_rate: 1e-3, schedule: constant}
checkpoints: {every: 5 epochs}
training: {epochs: 60, batch_size: 24}
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


def start_again(number: str, run: Path, slurm: Path) -> None:
    """Has the job of an unfinished run that is back in the queue start without its two minutes."""
    wait_until(lambda: state(number) == "PENDING", "a job that is back in the queue")
    assert not (run / "summary.json").exists()
    wait_until(lambda: not any((slurm / "spool").glob("job*")), "the end of the first start")
    # A node refuses what comes in the second in which it has heard of the end of the first start.
    asked("scontrol", "update", f"JobId={number}", "StartTime=now+5")


def told(slurm: Path) -> str:
    """What Slurm's daemons say."""
    return written(slurm / "slurmctld.log")[-2000:] + written(slurm / "slurmd.log")[-2000:]


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


def test_every_task_has_gpus_of_its_own(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "job.sbatch"
    shown = (sys.executable, "-c", "import os; print('gpus', os.environ['CUDA_VISIBLE_DEVICES'])")
    file.write_text(script(Job((shown,), "two", str(log), Resources(tasks=2, cores=1, gpus=2))))
    number = submit(file)
    wait_until(lambda: ended(number), "the job's end")
    assert sorted(written(log).splitlines()) == ["gpus 0", "gpus 1"]


def test_the_tasks_of_a_step_check_each_other(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "job.sbatch"
    doctor = (sys.executable, "-m", "senn_cli", "doctor", "--distributed")
    file.write_text(script(Job((doctor,), "two", str(log), Resources(tasks=2, cores=1))))
    number = submit(file)
    wait_until(lambda: ended(number), "the job's end")
    assert state(number) == "COMPLETED", written(log)
    assert "the sum is right everywhere" in written(log)
    assert "All that a run needs is there" in written(log)


def test_two_tasks_train_one_run_through_a_requeue(slurm: Path, tmp_path: Path) -> None:
    spec, run, alone = tmp_path / "s.yaml", tmp_path / "run", tmp_path / "alone"
    spec.write_text(GROWING)
    words = ("--tasks", "2", "--cores", "1", "--run-dir", run)
    done = senn("launch", "--slurm", "--submit", spec, *words)
    assert done.returncode == 0, done.stderr
    number = done.stdout.decode().strip()
    log = Path(f"{run}-{number}.log")
    wait_until(lambda: written(run / "metrics.jsonl").count("\n") > 9, "a run that trains")
    asked("scancel", "--signal=USR1", number)  # as before a time limit
    start_again(number, run, slurm)
    wait_until(lambda: ended(number), "the job's end")
    assert state(number) == "COMPLETED", written(log) + told(slurm)
    assert f"process 1 of 2, of Slurm's step {number}.0" in written(log)
    assert len(rows(run / "resumed.jsonl")) == 1
    assert senn("train", spec, "--run-dir", alone, "--set", "device.count=2").returncode == 0
    first, second = (rows(place / "history.jsonl") for place in (run, alone))
    assert [[e.get(k) for k in DECIDED] for e in first] == [
        [e.get(k) for k in DECIDED] for e in second
    ]
    assert any(event["accepted"] for event in first)
    metrics, others = (rows(place / "metrics.jsonl") for place in (run, alone))
    assert [row["step"] for row in metrics] == [row["step"] for row in others]
    for row, other in zip(metrics, others, strict=True):
        check_close(row["train_loss"], other["train_loss"])


def test_a_launched_run_comes_back_after_a_signal_and_is_the_same(
    slurm: Path, tmp_path: Path
) -> None:
    spec, run, whole = tmp_path / "s.yaml", tmp_path / "run", tmp_path / "whole"
    spec.write_text(SPEC.replace("EPOCHS", "100"))
    done = senn("launch", "--slurm", "--submit", spec, "--run-dir", run, "--cores", "1")
    assert done.returncode == 0, done.stderr
    number = done.stdout.decode().strip()
    log = Path(f"{run}-{number}.log")
    wait_until(lambda: written(run / "metrics.jsonl").count("\n") > 3, "a run that trains")
    asked("scancel", "--signal=USR1", number)  # as before a time limit
    start_again(number, run, slurm)
    wait_until(lambda: ended(number), "the job's end")
    assert state(number) == "COMPLETED", written(log) + told(slurm)
    assert senn("train", spec, "--run-dir", whole).returncode == 0
    first, second = (json.loads(written(place / "summary.json")) for place in (run, whole))
    assert first["status"] == second["status"] == "finished"
    for key in ("test_loss", "hidden", "events", "steps"):
        assert first[key] == second[key]
    assert len(written(run / "resumed.jsonl").splitlines()) == 1
