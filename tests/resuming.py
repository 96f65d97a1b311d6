"""What tests of resuming share: small specs, whole runs, and the comparison of two of them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.engine.programs import Program
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
from senn_cli.runs.weights import load_weights
from senn_cli.spec import Duration, parse_spec
from senn_cli.training.observer import Observer
from senn_cli.training.resume import resume_run
from senn_cli.training.run import Run, train_run

# Whole runs in other tests use these too: a session compiles their programs once.
DIGITS = """
name: digits
data: {source: digits, subset: 320}
network: {kind: mlp, hidden: [4], capacity: {initial: [24]}}
expansion:
  price: 0
  samples: 160
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}
  depth: false
training: {epochs: 5, batch_size: 64}
"""

# From a linear model: a layer is inserted, neurons join it, and its capacity is enlarged.
MOONS = """
name: moons
data: {source: moons, train: 200, test: 100}
network: {kind: mlp, hidden: [], capacity: {multiple: 3}}
expansion:
  threshold: 1e-6
  stop: 1e-6
  price: 0
  max_hidden: 5
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}
  depth: {proposals: 8, polished: 2, steps: 5, max_layers: 1}
training: {epochs: 5, batch_size: 60}
"""

# Nothing grows and little is compiled; three steps an epoch.
SMALL = """
name: small
data: {source: moons, train: 100, test: 50}
network: {kind: mlp, hidden: [3], activation: tanh}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion: {policy: none}
training: {epochs: 3, batch_size: 30}
"""

Executables = dict[str, dict[Any, Any]]


@contextmanager
def shared_programs(executables: Executables) -> Iterator[None]:
    """Has all runs within use the same compiled programs, so they should have the same spec.

    Reading a program from the cache on disk takes most of a short run's time; tests that start
    processes do that.
    """
    with pytest.MonkeyPatch.context() as patch:
        initialise = Program.__init__

        def shared(self: Program, name: str, *args: Any, **options: Any) -> None:
            initialise(self, name, *args, **options)
            self._executables = executables.setdefault(name, {})

        patch.setattr(Program, "__init__", shared)
        yield


def go(text: str, path: Path, *overrides: str, **options: Any) -> Run:
    """A run of a spec in the directory `path`."""
    return train_run(parse_spec(text, overrides=overrides), run_directory=path, **options)


def steps(number: int) -> Duration:
    return Duration(steps=number)


def rows(path: Path) -> list[dict[str, Any]]:
    """All lines of a file, each complete and strict JSON."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def timeless(path: Path) -> list[dict[str, Any]]:
    """The lines of a file without the seconds that things took."""
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows(path)]


def store_of(run: Path) -> CheckpointStore:
    return CheckpointStore(run / "checkpoints", KeepRules())


def document(run: Path, step: int) -> dict[str, Any]:
    """The whole `meta.json` of a checkpoint."""
    found: dict[str, Any] = json.loads((run / "checkpoints" / str(step) / "meta.json").read_bytes())
    return found


def lasting(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what differs between runs that are the same."""
    passing = ("seconds", "run_directory", "compilations", "compiled", "cache_hits", "programs")
    return {key: value for key, value in summary.items() if key not in passing}


def check_same(path: Path, reference: Path) -> None:
    """That two finished runs are the same, timings aside: every bit of every array too."""
    for name in ("metrics.jsonl", "history.jsonl"):
        assert timeless(path / name) == timeless(reference / name)
    taken = [row["step"] for row in rows(path / "metrics.jsonl")]
    assert taken == sorted(set(taken))
    summary, wanted = (json.loads((run / "summary.json").read_text()) for run in (path, reference))
    assert lasting(summary) == lasting(wanted)
    check_same_weights(path, reference)
    # The last checkpoints: optimizer, curvature and growth memory with the parameters.
    assert store_of(path).steps()[-1] == summary["steps"]
    last, wanted = (document(run, summary["steps"]) for run in (path, reference))
    assert last["arrays"] == wanted["arrays"]
    for key in ("architecture", "growth", "best", "seed", "data", "limit"):
        assert last["meta"][key] == wanted["meta"][key]


def check_same_weights(path: Path, reference: Path) -> None:
    architecture, params = load_weights(path / "weights")
    wanted_architecture, wanted = load_weights(reference / "weights")
    assert architecture == wanted_architecture
    assert params.keys() == wanted.keys()
    for name, leaves in wanted.items():
        for symbol, array in leaves.items():
            assert np.asarray(params[name][symbol]).tobytes() == np.asarray(array).tobytes()


def tree_of(path: Path) -> dict[str, bytes]:
    """Every file below `path` with its content."""
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


@dataclass
class Heard(Observer):
    """An observer that keeps the notes, and sends a signal at a phase's n-th beginning.

    Attributes:
      at: the phase and which of its beginnings, counted from 1; None for no signal.
    """

    at: tuple[str, int] | None = None
    number: int = signal.SIGUSR1
    notes: list[str] = field(default_factory=list)
    entered: dict[str, int] = field(default_factory=dict)

    def phase(self, name: str, what: str = "") -> None:
        self.entered[name] = count = self.entered.get(name, 0) + 1
        if self.at == (name, count):
            os.kill(os.getpid(), self.number)

    def note(self, text: str) -> None:
        self.notes.append(text)


def resume(path: Path, *overrides: str, **options: Any) -> Run:
    return resume_run(path, overrides=overrides, **options)
