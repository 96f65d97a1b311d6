"""Depth as data: what runs compile and compute where layers that are not there have places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.nets import mlp
from senn_cli.runs.jsonl import read_rows
from senn_cli.spec import Duration, parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.resume import resume_run
from senn_cli.training.run import train_run
from senn_cli.training.step import no_progress

SMALL = """
name: deep
data: {source: moons, train: 60, test: 30, validation: 20}
network: {kind: mlp, hidden: [3, 2], capacity: {multiple: 4}}
training: {epochs: 4, batch_size: 20}
"""

# Layers come in every round, one of more than they had room for.
GROWS = """
name: grows
data: {source: moons, train: 120, test: 60, validation: 40}
network: {kind: mlp, hidden: [4]}
expansion:
  price: 0
  threshold: 1e-4
  patience: null
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}
  depth: {proposals: 8, polished: 2, steps: 5, max_layers: 4, layer_cost: 0.1}
training: {epochs: 6, batch_size: 40}
"""


@pytest.mark.parametrize(
    "optimizer",
    [
        "natural_gradient",
        pytest.param("{kind: natural_gradient, solver: ekfac}", marks=pytest.mark.slow),
        pytest.param("{kind: natural_gradient, solver: cg}", marks=pytest.mark.slow),
        pytest.param("{kind: natural_gradient, momentum: 0.5}", marks=pytest.mark.slow),
        pytest.param("adam", marks=pytest.mark.slow),
    ],
)
def test_steps_and_losses_are_those_without_places(
    optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlp, "LEAST_SLOTS", 4)
    spec = parse_spec(SMALL, overrides=(f"optimizer={optimizer}",))
    dataset = load_dataset(spec.data, spec.seed)
    trainer = assemble(spec, dataset, Ledger())
    assert trainer.deepens
    start = jax.device_get(trainer.network.state)
    found = []
    for deepens in (True, False):
        trainer.deepens = deepens
        trainer.measure = replace(trainer.measure, deepens=deepens)
        state: Any = jax.tree.map(np.array, start)
        network = replace(trainer.network, state=state)
        network, _ = trainer.advanced(network, no_progress(), 5, ended=None)
        assert trainer.validation is not None
        found.append((network.state, trainer.measure(trainer.validation, network)))
    (one, measured), (other, expected) = found
    assert int(one.step) == 5
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        scale = np.abs(np.asarray(b, np.float64)).max(initial=1e-3)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * float(scale))
    np.testing.assert_allclose(measured, expected, rtol=1e-5)


@pytest.mark.slow
def test_inserted_layers_compile_nothing(tmp_path: Path) -> None:
    run = train_run(parse_spec(GROWS), root=tmp_path)
    history = read_rows(run.path / "history.jsonl")
    inserted = [event for event in history if event["edit"] == "insert_layer"]
    assert len(inserted) == 3
    for event in history:
        if event["accepted"]:
            np.testing.assert_allclose(event["loss_after"], event["loss_before"], rtol=1e-4)
    compiled = run.summary["compiled"]
    assert compiled.pop("train") == 2  # of one layer, and of any number
    assert {compiled.pop(name) for name in ("search_depth", "score_depth")} <= {1, 2}  # wide ones
    assert set(compiled.values()) == {1}
    assert run.summary["compilations"] <= 12


@pytest.mark.slow
def test_a_run_that_deepens_is_resumed_to_the_same_bits(tmp_path: Path) -> None:
    spec = parse_spec(GROWS)
    whole = train_run(spec, root=tmp_path)
    parts = train_run(spec, root=tmp_path, until=Duration(epochs=2.5))
    assert len(parts.architecture.hidden) > 2
    again = resume_run(parts.path)
    assert again.architecture == whole.architecture
    for one, other in zip(
        jax.tree.leaves(again.params), jax.tree.leaves(whole.params), strict=True
    ):
        np.testing.assert_array_equal(one, other)
