"""Whole runs of DenseNets whose channels are searched for: what they add, and exact resume.

Layers come from buds, beside the channels.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.resuming import Executables, check_same, go, resume, rows, shared_programs, steps

pytestmark = pytest.mark.slow

SPEC = """
name: searching
data: {source: digits, normalize: global, subset: 240}
network: {kind: densenet, blocks: [[3], [3]], capacity: {initial: 8}}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion:
  proposals: search
  threshold: 1e-3
  stop: 0
  price: 0
  noise: 0
  every: {steps: 6}
  samples: 100
  width: {proposals: 8, polished: 2, steps: 2, per_round: 1}
  depth: false
training: {epochs: 2, batch_size: 40, evaluate: {epochs: 2}}
"""


def test_channels_join_without_a_change_of_the_loss_and_a_resumed_run_is_the_same(
    tmp_path: Path,
) -> None:
    executables: Executables = {}
    with shared_programs(executables):
        go(SPEC, tmp_path / "whole")
        added = [e for e in rows(tmp_path / "whole" / "history.jsonl") if e["accepted"]]
        assert added and all(e["edit"] == "add_neurons" for e in added)
        assert all(e["neurons"] == 1 for e in added)
        for event in added:
            assert event["loss_after"] == pytest.approx(event["loss_before"], rel=1e-5)
        go(SPEC, tmp_path / "parts", until=steps(7))
        resume(tmp_path / "parts")
        check_same(tmp_path / "parts", tmp_path / "whole")


DEEPER = SPEC.replace("  depth: false", "  depth: {layer_cost: 1e-6, per_block: 2}").replace(
    "[3]], capacity", "[3]], bud: 2, capacity"
)


def test_a_layer_comes_from_a_bud_and_a_resumed_run_is_the_same(tmp_path: Path) -> None:
    executables: Executables = {}
    with shared_programs(executables):
        go(DEEPER, tmp_path / "whole")
        found = rows(tmp_path / "whole" / "history.jsonl")
        edits = [e["edit"] for e in found if e["accepted"]]
        assert edits == ["insert_layer"], "a layer ends a round, and one round is before the end"
        for event in found:
            if event["accepted"]:
                assert event["loss_after"] == pytest.approx(event["loss_before"], rel=1e-5)
        go(DEEPER, tmp_path / "parts", until=steps(7))
        resume(tmp_path / "parts")
        check_same(tmp_path / "parts", tmp_path / "whole")
