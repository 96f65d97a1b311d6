from __future__ import annotations

import os
import shlex
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from senn_cli.cluster.slurm import Job, Resources, minutes, script, submit
from senn_cli.errors import RunError, UsageError

JOB = Job(commands=(("python", "-m", "senn_cli"),), name="moons", log="runs/moons-%j.log")


def asking(**asked: Any) -> Job:
    return replace(JOB, asked=Resources(**asked))


def told(text: str) -> dict[str, str]:
    """The options of a script, with the values that sbatch takes: it splits lines as shells do."""
    lines = [line.removeprefix("#SBATCH ") for line in text.splitlines() if "#SBATCH" in line]
    pairs = [shlex.split(line)[0].removeprefix("--").partition("=") for line in lines]
    return {name: value for name, _, value in pairs}


def run(
    text: str, tmp_path: Path, **environment: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What a script does where srun starts its command once, and what scontrol is told."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    for name, body in {
        "srun": 'while [[ $1 == --* ]]; do shift; done\n"$@"',
        "scontrol": f'echo "$*" >> {shlex.quote(str(tmp_path / "scontrol"))}',
    }.items():
        (tools / name).write_text(f"#!/bin/bash\n{body}\n")
        (tools / name).chmod(stat.S_IRWXU)
    done = subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"} | environment,
        check=False,
    )
    told = tmp_path / "scontrol"
    return done, told.read_text().splitlines() if told.exists() else []


def test_what_slurm_is_asked_for() -> None:
    job = asking(nodes=2, gpus=8, tasks=4, cores=3, memory="64G", time="12:00:00")
    assert told(script(replace(job, warning=120))) == {
        "job-name": "moons",
        "output": "runs/moons-%j.log",
        "open-mode": "append",
        "nodes": "2",
        "ntasks-per-node": "4",
        "gpus-per-task": "2",
        "cpus-per-task": "3",
        "mem": "64G",
        "time": "12:00:00",
        "signal": "USR1@120",
        "requeue": "",
    }
    # srun has not taken the cores of a task from its job since Slurm 22.05.
    assert "srun --ntasks=8 --kill-on-bad-exit=0 --cpus-per-task=3 " in script(job)


def test_what_is_not_given_is_left_to_the_cluster() -> None:
    names = set(told(script(JOB)))
    assert names.isdisjoint({"gpus-per-node", "cpus-per-task", "mem", "time", "array"})


def test_texts_reach_sbatch_and_the_command_as_they_are(tmp_path: Path) -> None:
    words = ("printf", "%s\n", "it's", 'a "b" $HOME', "`c`", "\\", "")
    job = replace(JOB, asked=Resources(setup=("export A='x y'",)), commands=(words,))
    job = replace(job, log='my runs/it\'s "a" \\ #1-%j.log')
    assert told(script(job))["output"] == job.log
    done, _ = run(script(job), tmp_path)
    assert done.stdout.splitlines() == list(words[2:])
    done, _ = run(script(replace(job, commands=(("printenv", "A"),))), tmp_path)
    assert (done.stdout, done.returncode) == ("x y\n", 0)


def test_a_member_of_an_array_runs_its_own_command(tmp_path: Path) -> None:
    job = replace(JOB, commands=tuple(("echo", f"member {k}") for k in range(12)))
    job = replace(job, asked=Resources(at_once=4))
    assert told(script(job))["array"] == "0-11%4"
    done, _ = run(script(job), tmp_path, SLURM_ARRAY_TASK_ID="11")
    assert done.stdout == "member 11\n"
    assert told(script(replace(job, asked=Resources())))["array"] == "0-11"


@pytest.mark.parametrize(
    ("code", "restarts", "requeued"),
    [(0, "", False), (1, "", False), (75, "", True), (75, "2", True), (75, "3", False)],
    ids=["success", "failure", "interrupted", "again", "too-often"],
)
def test_only_what_was_interrupted_comes_back(
    code: int, restarts: str, requeued: bool, tmp_path: Path
) -> None:
    job = replace(JOB, commands=(("bash", "-c", f"exit {code}"),), requeues=3)
    restarted = {"SLURM_RESTART_COUNT": restarts} if restarts else {}
    done, asked = run(script(job), tmp_path, SLURM_JOB_ID="42", **restarted)
    assert done.returncode == code
    assert asked == (["requeue 42"] if requeued else [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commands": ()}, "needs a command"),
        ({"name": "a\n#SBATCH --uid=0"}, "more than one line"),
        ({"asked": Resources(tasks=3, gpus=4)}, "--gpus is 4, and 3 tasks on each node"),
        ({"asked": Resources(options=("--nodes=2",))}, "--sbatch=--nodes=2 would undo"),
        ({"asked": Resources(options=("-n4",))}, "--sbatch=-n4 would undo"),
        (
            {"asked": Resources(options=("partition=long",))},
            "'partition=long' is no option of sbatch",
        ),
        ({"asked": Resources(options=("--a=1\nrm",))}, "no option of sbatch"),
        ({"asked": Resources(time="5")}, "--time 5 is not more than the 300 seconds"),
        ({"asked": Resources(time="soon")}, "'soon' is no time limit"),
    ],
    ids=[
        "command",
        "name",
        "shared-gpus",
        "nodes",
        "tasks",
        "option",
        "two-options",
        "short",
        "time",
    ],
)
def test_what_is_no_job(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        script(replace(JOB, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "expected"),
    # The forms of sbatch(1).
    [("90", 90), ("1:30", 1.5), ("2:00:30", 120.5), ("1-12", 2160), ("2-1:00:30", 2940.5)],
)
def test_time_limits(limit: str, expected: float) -> None:
    assert minutes(limit) == expected


def test_submitting_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no sbatch on this machine") as fault:
        submit(tmp_path / "a job.sbatch")
    assert str(fault.value.hint).endswith(f"sbatch '{tmp_path}/a job.sbatch'")


def test_submitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program = tmp_path / "sbatch"
    program.write_text('#!/bin/bash\n[ "$1" = --parsable ] && [ "$2" = ok ] && echo "12;here"\n')
    program.chmod(stat.S_IRWXU)
    assert submit(Path("ok")) == "12"
    program.write_text("#!/bin/bash\necho 'invalid partition' >&2; exit 1\n")
    with pytest.raises(RunError, match="Slurm has not taken ok: invalid partition"):
        submit(Path("ok"))
