"""Small sweeps for tests, and members that need no JAX."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from senn_cli.sweep.folder import Folder, opened
from senn_cli.sweep.plan import Member, members
from senn_cli.sweep.read import Sweep, read_sweep

SPEC = """\
name: small
data: {source: moons, train: 100, test: 50}
network: {kind: mlp, hidden: [3]}
expansion: {threshold: 1e-2}
training: {epochs: 4, batch_size: 50}
"""

# Counts a member's starts, does what it is told at each, and then leaves a result.
_PROCESS = """
import json, os, pathlib, signal, sys, time
from senn_cli.sweep.process import serve

def act(words):
    run, *deeds = words
    run = pathlib.Path(run)
    run.mkdir(exist_ok=True)
    (run / "pid").write_text(str(os.getpid()))
    starts = run / "starts"
    count = len(starts.read_text()) if starts.exists() else 0
    starts.write_text("x" * (count + 1))
    deed = deeds[count] if count < len(deeds) else "finish"
    if deed == "die":
        (run / "checkpoints" / str(count + 1)).mkdir(parents=True)
        (run / "checkpoints" / str(count + 1) / "complete").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "vain":
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "fail":
        print("what was wrong", flush=True)
        return 1
    if deed == "break":
        raise ValueError("what nobody expects")
    if deed == "wait":
        while not (run / "go").exists():
            time.sleep(0.01)
    result = {"status": "finished", "test_accuracy": 0.5}
    (run / "summary.json").write_text(json.dumps(result))
    return 0

serve(int(sys.argv[1]), act)
"""
PROCESS = (sys.executable, "-c", _PROCESS)
"""Starts a process that trains nothing."""


def deeds(**named: str) -> Any:
    """The words of members which do at their starts what is named, by the ends of their names."""

    def words(folder: Folder, member: Member) -> list[str]:
        mine = next((d.split() for end, d in named.items() if member.name.endswith(end)), [])
        return [str(folder.run(member)), *mine]

    return words


def written(place: Path, text: str, spec: str = SPEC) -> Path:
    """A sweep file beside its spec."""
    (place / "small.yaml").write_text(spec, encoding="utf-8")
    path = place / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(place: Path, text: str, *overrides: str, seeds: str | None = None) -> Sweep:
    return read_sweep(written(place, f"spec: small.yaml\n{text}"), overrides, seeds)


def begun(place: Path, text: str) -> tuple[Folder, tuple[Member, ...]]:
    sweep = read(place, text)
    described = sweep.described.model_dump(mode="json")
    return opened(place / "folder", described, members(sweep))
