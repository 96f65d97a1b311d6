from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from senn_cli.cluster.slurm import Resources
from senn_cli.errors import UsageError
from senn_cli.sweep.slurm import hand_in, ready, shown
from senn_cli.sweep.work import Listed
from tests.sweep.sweeps import begun

SBATCH = """#!/bin/sh
cat "$2" > "$PLACE/handed-in"
echo 17
"""
SQUEUE = """#!/bin/sh
cat "$PLACE/queue" 2> /dev/null
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of Slurm's names that keep what they are given."""
    place = tmp_path / "slurm"
    place.mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE)):
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    monkeypatch.setenv("PLACE", str(place))
    return place


def test_an_array_has_a_task_a_member(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 3")
    wanted = Resources(gpus=1, cores=4, time="2:00:00", at_once=2, options=("--partition=long",))
    text = shown(folder.path, members, wanted)
    lines = text.splitlines()
    for option in ("array=0-2%2", "gpus-per-node=1", "cpus-per-task=4", "partition=long"):
        assert f"#SBATCH --{option}" in lines
    for index, member in enumerate(members):
        words = f"{sys.executable} -m senn_cli train {folder.spec(member)}"
        words += f" --run-dir {folder.run(member)} --resume auto"
        assert f"{index}) command=({words}) ;;" in lines
    assert (
        subprocess.run([shutil.which("bash") or "bash", "-n"], input=text, text=True).returncode
        == 0
    )


def test_what_is_unfinished_is_handed_in_once(tmp_path: Path, slurm: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 3\ncontrols: [static]")
    folder.run(members[1]).mkdir()
    (folder.run(members[1]) / "summary.json").write_text('{"status": "finished"}')
    said: list[str] = []

    def make(member, origin):  # type: ignore[no-untyped-def]
        return type(member)(member.number, member.name, member.setting, member.seed, origin.spec)

    found = ready(Listed(folder, members, make, said.append))
    assert [m.name for m in found] == [
        "000-small-seed-0",
        "002-small-seed-2",
        "004-static-seed-1",  # whose run has finished
    ]
    assert hand_in(folder, found, Resources()) == "17"
    assert (slurm / "handed-in").read_text() == shown(folder.path, found, Resources())
    (slurm / "queue").write_text("17_0 R\n")
    with pytest.raises(UsageError, match="job 17 of this sweep has not ended yet"):
        hand_in(folder, found, Resources())
    (slurm / "queue").write_text("")
    assert hand_in(folder, found, Resources()) == "17"
