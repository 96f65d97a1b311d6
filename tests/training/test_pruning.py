"""Whole runs that shrink, and runs that grow by standing proposals; both resumed bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import UsageError
from senn_cli.spec import load_spec
from senn_cli.training.run import Run
from senn_cli.training.snapshot import architecture_in
from tests.resuming import (
    Executables,
    check_same,
    go,
    resume,
    rows,
    shared_programs,
    steps,
)

# Too wide by far for two half-moons.
WIDE = """
name: wide
data: {source: moons, train: 300, test: 200}
network: {kind: mlp, hidden: [24], capacity: {initial: [32]}}
expansion:
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}
  depth: false
  prune: {min_width: 4}
training: {epochs: 8, batch_size: 60}
"""

STANDING = """
name: standing
data: {source: digits, subset: 400}
network: {kind: mlp, hidden: [3], capacity: {initial: [12]}}
expansion:
  every: {steps: 3}
  proposals: dormant
  noise: 0
  depth: false
  prune: true
  dormant: {activate: 0.2, prune: 0.2, redraw: 0.5}
training: {epochs: 8, batch_size: 64}
"""

# The same by looks beside the steps, with room that has to grow.
LOOKS = """
name: looks
data: {source: digits, subset: 400}
network: {kind: mlp, hidden: [8], capacity: {initial: [9]}}
optimizer: {kind: adam, learning_rate: 1e-2}
curvature: {every: {steps: 2}}
expansion:
  every: {steps: 3}
  proposals: dormant
  threshold: 1e-2
  noise: 0
  depth: false
  prune: true
  dormant: {activate: 0.2, prune: 0.5, redraw: 0.5, slow: 0.3}
training: {epochs: 8, batch_size: 64}
"""


@dataclass(frozen=True)
class Reference:
    """A run that was never stopped, and what was compiled for it."""

    text: str
    run: Run
    executables: Executables

    @property
    def events(self) -> list[dict[str, Any]]:
        return rows(self.run.path / "history.jsonl")

    def accepted(self, edit: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["edit"] == edit]


def reference(text: str, path: Path) -> Reference:
    executables: Executables = {}
    with shared_programs(executables):
        return Reference(text, go(text, path), executables)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference(WIDE, tmp_path_factory.mktemp("wide") / "run")


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference(STANDING, tmp_path_factory.mktemp("standing") / "run")


@pytest.fixture(scope="module")
def looks(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference(LOOKS, tmp_path_factory.mktemp("looks") / "run")


@pytest.fixture(params=["wide", "standing", "looks"])
def either(request: pytest.FixtureRequest) -> Iterator[Reference]:
    found: Reference = request.getfixturevalue(request.param)
    with shared_programs(found.executables):
        yield found


def test_a_network_that_is_too_wide_shrinks(wide: Reference) -> None:
    taken = wide.accepted("prune_neurons")
    assert len(taken) >= 8
    widths = [event["hidden"][0] for event in wide.events]
    assert min(widths) >= 4 and widths[-1] <= 16
    assert wide.run.summary["test_accuracy"] > 0.85
    for event in taken:
        assert event["accepted"] and event["reason"].startswith("removal cost")
        assert event["layer"] == 0 and 0 <= event["neuron"] <= event["hidden"][0]
        # alpha is 2.5e-3: neither side of the trade is larger than that.
        assert event["score"] <= max(event["stop"], event["threshold"] * event["eta"])
    # The first round's additions come before its removals.
    first = [e["edit"] for e in wide.events if e["step"] == wide.events[0]["step"]]
    assert first.index("prune_neurons") == len(first) - first.count("prune_neurons")


@pytest.mark.parametrize("name", ["standing", "looks"])
def test_a_network_grows_by_standing_proposals(name: str, request: pytest.FixtureRequest) -> None:
    standing: Reference = request.getfixturevalue(name)
    added = standing.accepted("add_neurons")
    assert sum(event["neurons"] for event in added) >= 3
    if name == "looks":
        assert standing.accepted("enlarge_capacity") and standing.accepted("prune_neurons")
        assert standing.run.summary["compiled"]["track"] > 1
    else:
        assert "track" not in standing.run.summary["compiled"]
    assert standing.run.summary["compiled"]["score"] >= 1
    for event in added:
        assert event["score"] > event["stop"] and event["ratio"] > event["threshold"]
        # Nothing changes when a neuron comes; the reference is measured around the whole round.
        alone = {e["edit"] for e in standing.events if e["step"] == event["step"]}
        if alone == {"add_neurons"}:
            assert event["loss_after"] == pytest.approx(event["loss_before"], rel=1e-5)
    per_epoch = standing.run.summary["steps"] // 8
    rejected = [e["step"] // per_epoch for e in standing.events if not e["accepted"]]
    assert len(rejected) == len(set(rejected))


def test_stopped_and_resumed_around_every_change(either: Reference, tmp_path: Path) -> None:
    total = either.run.summary["steps"]
    changed = sorted({e["step"] for e in either.events if e["accepted"]})
    stops = {step + shift for step in changed[:4] for shift in (-1, 0, 1)} | {total - 1}
    path = tmp_path / "run"
    for step in sorted(stops):
        if path.exists():
            resume(path, until=steps(step))
        else:
            go(either.text, path, until=steps(step))
    resume(path)
    check_same(path, either.run.path)


def test_a_run_begun_without_dormant_units_cannot_go_on_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    go(STANDING, path, until=steps(6))

    def begun(document: Any) -> Any:
        return replace(architecture_in(document), spare="empty")  # type: ignore[type-var]

    monkeypatch.setattr("senn_cli.training.resume.architecture_in", begun)
    with pytest.raises(UsageError, match="no dormant units") as found:
        resume(path)
    assert "senn transfer" in str(found.value.hint)


def test_the_spec_of_a_run_that_scored_on_samples_is_read(standing: Reference) -> None:
    file = standing.run.path / "spec.yaml"
    text = file.read_text("utf-8")
    old = "  proposals: dormant\n  samples: 8192\n  bias_removed: true\n  score_damping: 0.001\n"
    other = file.parent.parent / "spec.yaml"
    other.write_text(text.replace("  proposals: dormant\n", old), "utf-8")
    assert "samples" in other.read_text("utf-8")
    assert load_spec(other) == load_spec(file)
