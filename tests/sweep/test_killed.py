"""A sweep whose processes are killed ends with the same bits as one that was left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from senn_cli.runs.holder import Holder
from tests.resuming import check_same
from tests.waiting import LIMIT, wait_until

MEMBERS, SWEEP_KILLS, MEMBER_KILLS = 20, 6, 12

SPEC = """\
data: {source: moons, train: 100, test: 50}
network: {kind: mlp, hidden: [3]}
expansion:
  price: 0
  samples: 50
  depth: false
  width: {proposals: 16, polished: 2, steps: 3, per_round: 1}
training: {epochs: 6, batch_size: 50}
checkpoints: {every: {steps: 1}, keep: 2}
"""


def start(place: Path, folder: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "senn_cli", "sweep", str(place / "sweep.yaml")]
    return subprocess.Popen(
        [*words, "--dir", str(folder), "--jobs", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def live(folder: Path) -> list[int]:
    """Processes that train members."""
    found = []
    for lock in folder.glob("*-seed-*/lock.json"):
        try:
            holder = Holder.from_json(lock.read_bytes())
        except FileNotFoundError:
            continue
        if holder is not None and holder.alive():
            found.append(holder.pid)
    return found


def progress(folder: Path) -> tuple[int, ...]:
    """What only grows: results, and the bytes of all logs."""
    logs = [log.stat().st_size for log in sorted(folder.glob("logs/*.log"))]
    return (len(list(folder.glob("*/summary.json"))), sum(logs))


@pytest.mark.slow
def test_twenty_members_survive_kills(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "sweep.yaml").write_text(
        "spec: small.yaml\ngrid: {network.hidden: [[3], [4]]}\n"
        f"seeds: {MEMBERS // 4}\ncontrols: [static]\n",
        encoding="utf-8",
    )
    undisturbed, folder = tmp_path / "undisturbed", tmp_path / "killed"
    assert start(tmp_path, undisturbed).wait(timeout=20 * LIMIT) == 0
    chance = random.Random(1)
    deeds = ["sweep"] * SWEEP_KILLS + ["member"] * MEMBER_KILLS
    chance.shuffle(deeds)
    sweep, done = start(tmp_path, folder), 0
    for deed in deeds:
        if deed == "sweep":
            before = progress(folder) if (folder / "logs").exists() else (0, 0)
            wait_until(lambda: sweep.poll() is not None or progress(folder) != before)  # noqa: B023
            sweep.kill()
            done += sweep.wait() == -signal.SIGKILL
            sweep = start(tmp_path, folder)
            continue
        wait_until(lambda: sweep.poll() is not None or live(folder))  # noqa: B023
        for pid in live(folder)[: chance.randint(1, 2)]:
            try:
                os.kill(pid, signal.SIGKILL)
                done += 1
            except ProcessLookupError:
                pass
    assert sweep.wait(timeout=20 * LIMIT) == 0
    assert done >= SWEEP_KILLS + MEMBER_KILLS // 2
    names = sorted(path.name for path in undisturbed.glob("*-seed-*"))
    assert len(names) == MEMBERS
    assert sorted(path.name for path in folder.glob("*-seed-*")) == names
    for name in names:
        check_same(folder / name, undisturbed / name)
