"""Whole runs of growing DenseNets: every kind of edit, exact resume, what is written and shown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.model import load_model
from senn_cli.report.record import read_record
from senn_cli.report.tracks import tracks
from senn_cli.training.run import Run
from tests.resuming import (
    Executables,
    check_same,
    go,
    resume,
    rows,
    shared_programs,
    steps,
)

pytestmark = pytest.mark.slow

# One round makes room and inserts a layer, so that everything is compiled for two shapes.
SPEC = """
name: growing
data: {source: digits, normalize: global, subset: 240}
network: {kind: densenet, blocks: [[3], [3]], bud: 2, capacity: {initial: 5, in_use: 0.75}}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
curvature: {every: {steps: 4}, stride: 1}
expansion:
  threshold: 5e-2
  stop: 0
  noise: 0
  max_hidden: 10
  every: {steps: 4}
  width: {max_width: 8, per_round: 1}
  depth: {max_layers: 3}
  prune: {per_round: 1}
  dormant: {activate: 0.5, prune: 0.5, slow: 0.1, bud_factor: 1.0}
training: {epochs: 4, batch_size: 40, evaluate: {epochs: 2}}
"""


@dataclass(frozen=True)
class Reference:
    """A run that was never stopped, and what was compiled for it."""

    run: Run
    executables: Executables

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def events(self) -> list[dict[str, Any]]:
        return rows(self.path / "history.jsonl")

    @property
    def growth_steps(self) -> list[int]:
        return sorted({event["step"] for event in self.events if event["accepted"]})


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    executables: Executables = {}
    with shared_programs(executables):
        run = go(SPEC, tmp_path_factory.mktemp("growing") / "run")
        yield Reference(run, executables)


def test_it_changes_in_every_way(reference: Reference) -> None:
    kinds = {event["edit"] for event in reference.events}
    assert kinds >= {"add_neurons", "enlarge_capacity", "insert_layer", "prune_neurons"}
    assert reference.run.summary["status"] == "finished"
    assert len(reference.run.summary["hidden"]) == 3


def test_every_event_tells_the_network_as_it_is_then(reference: Reference) -> None:
    hidden, capacities = [3, 3], [5, 5]
    for event in reference.events:
        at: Any = event.get("layer")
        if event["edit"] == "add_neurons":
            hidden[at] += event["neurons"]
            assert event["score"] > event["threshold"] * event["eta"]
            assert len(event["channels"]) == event["neurons"] == 1
        elif event["edit"] == "enlarge_capacity":
            capacities[at] = event["capacity"]
        elif event["edit"] == "insert_layer":
            hidden.insert(at, event["neurons"])
            capacities.insert(at, event["capacities"][at])
        elif event["edit"] == "prune_neurons":
            hidden[at] -= 1
        else:
            assert not event["accepted"]
        assert (event["hidden"], event["capacities"]) == (hidden, capacities)
        assert all(w <= c for w, c in zip(hidden, capacities, strict=True))
        if event["accepted"]:
            assert event["site"].startswith("block ")
    assert reference.run.summary["hidden"] == hidden
    assert sum(hidden) <= 10 and max(hidden) <= 8


def test_a_pruning_tells_what_it_was_to_do_and_what_it_did(reference: Reference) -> None:
    pruned = [event for event in reference.events if event["edit"] == "prune_neurons"]
    assert pruned
    for event in pruned:
        assert math.isfinite(event["predicted_change"]) and math.isfinite(event["realised_change"])
        assert "predicted_gain" not in event
        changes = [e["realised_change"] for e in pruned if e["step"] == event["step"]]
        # Of the whole round, in which nothing else changes the function.
        assert event["loss_after"] - event["loss_before"] == pytest.approx(sum(changes), abs=1e-5)
    for event in reference.events:
        changed = {e["edit"] for e in reference.events if e["step"] == event["step"]}
        measured = event["accepted"] and changed & {"add_neurons", "insert_layer", "prune_neurons"}
        assert ("loss_before" in event) == ("loss_after" in event) == bool(measured)
        if measured and "prune_neurons" not in changed:
            assert event["loss_after"] == pytest.approx(event["loss_before"], rel=1e-5)
    # No other edit changes the function, and none claims to.
    for event in reference.events:
        if event["edit"] != "prune_neurons":
            assert "realised_change" not in event


def test_within_capacity_nothing_is_compiled(reference: Reference) -> None:
    last: dict[int, tuple[int, ...]] = {}
    for event in reference.events:
        last[event["step"]] = tuple(event["capacities"])
    shapes = {(5, 5), *last.values()}
    compiled = reference.run.summary["compiled"]
    for program in ("train", "track", "score"):
        assert compiled[program] == len(shapes), program
    assert len(shapes) < len(reference.growth_steps)


def test_stopped_around_every_round_and_resumed_it_has_the_same_bits(
    reference: Reference, tmp_path: Path
) -> None:
    stops = {1, 2, 22, 23}
    for step in reference.growth_steps:
        stops |= {step - 1, step, step + 1}
    path = tmp_path / "run"
    for step in sorted(stops):
        if path.exists():
            stopped = resume(path, until=steps(step))
        else:
            stopped = go(SPEC, path, until=steps(step))
        assert stopped.summary["status"] == "stopped" and stopped.summary["steps"] == step
    resume(path)
    check_same(path, reference.path)


def test_stopped_at_every_single_step_it_has_the_same_bits(
    reference: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    go(SPEC, path, until=steps(1))
    for step in range(2, reference.run.summary["steps"]):
        resume(path, until=steps(step))
    resume(path)
    check_same(path, reference.path)


def test_rows_of_metrics_tell_the_score(reference: Reference) -> None:
    found = rows(reference.path / "metrics.jsonl")
    assert [row["step"] for row in found] == [12, 24]
    for row in found:
        assert math.isfinite(row["eta"]) and row["eta"] != 0
        assert row["eta_step"] == row["step"] - 4  # a look every four steps, after the row of its
    assert found[-1]["hidden"] == reference.run.summary["hidden"]


def test_layers_are_named_by_their_blocks(reference: Reference) -> None:
    found = tracks(read_record(reference.path))
    inserted = next(e for e in reference.events if e["edit"] == "insert_layer")
    block = int(inserted["site"].split()[1])
    sizes = [1, 1]
    sizes[block] += 1
    names = [f"block {b} layer {j}" for b, size in enumerate(sizes) for j in range(size)]
    assert [track.name for track in found] == names
    assert [track.widths[-1] for track in found] == reference.run.summary["hidden"]
    born = [track.born for track in found]
    assert born[inserted["layer"]] == inserted["step"] and sorted(born)[:2] == [0, 0]


def test_it_can_be_inspected_reported_and_used(reference: Reference, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["inspect", str(reference.path)])
    assert shown.exit_code == 0, shown.output
    for width in reference.run.summary["hidden"]:
        assert str(width) in shown.output
    assert "block 0 layer 1" in shown.output or "block 1 layer 1" in shown.output
    page = tmp_path / "report.html"
    told = CliRunner().invoke(app, ["report", str(reference.path), "--output", str(page)])
    assert told.exit_code == 0, told.output
    assert page.stat().st_size > 1000
    model = load_model(reference.path)
    assert np.isfinite(np.asarray(model(np.zeros((3, 8, 8))))).all()
    summary = json.loads((reference.path / "summary.json").read_text())
    assert summary["hidden"] == reference.run.summary["hidden"]


@pytest.mark.parametrize("kind", ["adam", "natural_gradient"])
def test_capacity_is_invisible_where_nothing_is_activated(tmp_path: Path, kind: str) -> None:
    quiet = ["expansion.dormant.activate=0", "expansion.depth=false", "expansion.prune=false"]
    found = []
    for capacity in (8, 12):
        changes = [f"network.capacity.initial={capacity}", f"optimizer.kind={kind}", *quiet]
        run = go(SPEC, tmp_path / str(capacity), *changes)
        assert run.summary["hidden"] == [3, 3]
        found.append(run)
    small, large = (run.params for run in found)
    for name, leaves in small.items():
        for leaf, array in leaves.items():
            # Loaded or in training, what is in use comes first in every axis of channels.
            lead = (slice(None),) * (np.ndim(array) - 2)
            rows = slice(1 if (name, leaf) == ("block_0/layer_0", "input") else 3)
            columns = slice(None) if name == "head" else slice(3)
            index = (*lead, rows, columns) if np.ndim(array) > 1 else (slice(None),)
            if "bud" in name or leaf == "bud":
                continue
            np.testing.assert_allclose(
                np.asarray(large[name][leaf])[index],
                np.asarray(array)[index],
                rtol=1e-3,
                atol=1e-4,
            )
    losses = [run.summary["test_loss"] for run in found]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize(
    "override",
    ["curvature.method=rank_one", "optimizer.kind=natural_gradient", "network.compute=bfloat16"],
)
def test_other_ways_to_run_resume_exactly_too(tmp_path: Path, override: str) -> None:
    executables: Executables = {}
    with shared_programs(executables):
        whole = go(SPEC, tmp_path / "whole", override)
        assert whole.summary["status"] == "finished"
        go(SPEC, tmp_path / "part", override, until=steps(9))
        resume(tmp_path / "part", until=steps(13))
        resume(tmp_path / "part")
    check_same(tmp_path / "part", whole.path)
