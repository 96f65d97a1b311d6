"""Rows of metrics name a score where there is one, and nothing else by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.resuming import SMALL, go, rows

PICTURES = """
name: pictures
data: {source: digits, subset: 80}
network: {kind: densenet, blocks: [[1]]}
expansion: {policy: none}
training: {steps: 2, batch_size: 40, evaluate: {steps: 1}}
"""
PLAIN = ["{kind: adam, learning_rate: 1e-3}", "{kind: sgd, learning_rate: 1e-3}"]
NATURAL = ["{kind: natural_gradient}", "{kind: natural_gradient, solver: cg}"]


@pytest.mark.parametrize(
    ("text", "optimizer", "known"),
    [
        *((SMALL, optimizer, False) for optimizer in PLAIN),
        *((SMALL, optimizer, True) for optimizer in NATURAL),
        (PICTURES, PLAIN[0], False),
        (PICTURES, NATURAL[0], True),
    ],
)
def test_a_run_that_knows_no_curvature_has_no_eta(
    text: str, optimizer: str, known: bool, tmp_path: Path
) -> None:
    go(text, tmp_path / "run", f"optimizer={optimizer}", "optimizer.schedule=constant")
    for row in rows(tmp_path / "run" / "metrics.jsonl"):
        # Of the steps themselves: there is no look that it comes from.
        assert "eta_step" not in row
        assert (row["eta"] > 0) if known else "eta" not in row
