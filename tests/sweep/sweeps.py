"""Small sweeps for tests, and members that need no JAX."""

from __future__ import annotations

import sys
from pathlib import Path

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

# Counts its starts, does what it is told at each, and then leaves a result.
_MEMBER = """
import json, os, pathlib, signal, sys, time
run, *deeds = sys.argv[1:]
run = pathlib.Path(run)
run.mkdir(exist_ok=True)
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
    print("what was wrong")
    sys.exit(1)
if deed == "wait":
    while not (run / "go").exists():
        time.sleep(0.01)
(run / "summary.json").write_text(json.dumps({"status": "finished", "test_accuracy": 0.5}))
"""


def command(**deeds: str) -> object:
    """What starts a member that does at its starts what is named, by the end of its name."""

    def words(folder: Folder, member: Member) -> list[str]:
        mine = next((d.split() for end, d in deeds.items() if member.name.endswith(end)), [])
        return [sys.executable, "-c", _MEMBER, str(folder.run(member)), *mine]

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
