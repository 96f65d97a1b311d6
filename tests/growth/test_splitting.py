"""Splitting matrices and the change that splits make, against NumPy's forward pass in float64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import REGRESSION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import SplitUnit, edit_architecture
from senn_cli.growth.policies.given import Places, Resting
from senn_cli.growth.policies.splitting import Splitting, bends, splitting_matrix
from senn_cli.growth.policy import View
from senn_cli.growth.settings import Limits
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec.duration import Duration
from tests.views import bare

N = 40
START = MlpArchitecture(3, 2, (Layer(4, 6, "tanh"), Layer(3, 5, "tanh")))


@pytest.fixture(autouse=True)
def doubled() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.standard_normal((N, 3)), rng.standard_normal((N, 2))


def parameters(seed: int = 0) -> Any:
    """Random weights of the units in use, zeros beyond."""
    rng, found = np.random.default_rng(seed), {}
    for m in START.maps:
        n_in, n_out = m.rows_used - 1, m.target.width
        kernel = np.zeros((m.rows - 1, m.columns))
        kernel[:n_in, :n_out] = rng.standard_normal((n_in, n_out))
        bias = np.zeros(m.columns)
        bias[:n_out] = rng.standard_normal(n_out)
        found[m.name] = {"kernel": kernel, "bias": bias}
    return found


def loss(params: Any, x: np.ndarray, y: np.ndarray) -> float:
    """The mean loss by hand; weights of units that are not in use are zero."""
    for name in ("map_0", "map_1"):
        x = np.tanh(x @ params[name]["kernel"] + params[name]["bias"])
    error = x @ params["map_2"]["kernel"] + params["map_2"]["bias"] - y
    return float(np.mean(0.5 * np.sum(error**2, axis=1)))


def after(params: Any, *edits: SplitUnit) -> Any:
    architecture = START
    for edit in edits:
        params = edit_parameters(params, architecture, edit)
        architecture = edit_architecture(architecture, edit)
    return params


def view(params: Any, x: np.ndarray, y: np.ndarray) -> View:
    one, zero = np.ones(()), np.zeros(())
    sample = Arrays(*map(jnp.asarray, (x, y, zero, one, zero, one)))
    return bare(
        START,
        params=params,
        widths=jnp.asarray(START.widths),
        data=sample,
        step=100,
        sample=sample,
        loss=lambda: loss(params, x, y),
        kept=((0, 1.0),),
    )


def policy(layers: tuple[int, ...] | None = None, step: float = 1e-2, **limits: Any) -> Splitting:
    places = Places(Limits(**limits), layers)
    return Splitting(places, Resting(Duration(steps=1), 1e9), step, REGRESSION, Ledger())


@pytest.mark.parametrize(("layer", "unit"), [(0, 1), (1, 2)])
def test_the_matrix_is_the_second_derivative_of_a_split(layer: int, unit: int) -> None:
    """Of the loss by how far the halves are moved apart: central differences."""
    (x, y), params, name = data(), parameters(), f"map_{layer}"
    found = bends(START.shape(), params, jnp.asarray(START.widths), x, y, REGRESSION)[name]
    matrix = np.asarray(splitting_matrix(found.reads, found.bends[:, unit]))
    n, h = 1 + START.map_width(layer)[0], 3e-4

    def split(offset: np.ndarray) -> float:
        both = np.stack([offset, -offset], axis=1)
        return loss(after(params, SplitUnit(layer, unit, (0.5, 0.5), both)), x, y)

    steps, start = h * np.eye(n), split(np.zeros(n))
    assert start == pytest.approx(loss(params, x, y), rel=1e-14)
    wanted = np.empty((n, n))
    for i, a in enumerate(steps):
        for j, b in enumerate(steps):
            wanted[i, j] = split(a + b) - split(a - b) - split(b - a) + split(-a - b)
    np.testing.assert_allclose(matrix[:n, :n], wanted / (4 * h * h), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(matrix[n:], 0)  # rows of units that are not in use


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_changes_as_predicted(seed: int) -> None:
    """Within 10% of the sum of eps^2 lambda_min / 2, at eps = 1e-2."""
    (x, y), params = data(), parameters(seed)
    decisions = policy(per_round=3).decide(view(params, x, y)).decisions
    edits = [d.edit for d in decisions if isinstance(d.edit, SplitUnit)]
    assert len(edits) == 3
    assert not any(d.keeps for d in decisions)
    predicted = sum(d.change or 0.0 for d in decisions)
    assert predicted < 0
    measured = loss(after(params, *edits), x, y) - loss(params, x, y)
    assert measured == pytest.approx(predicted, rel=0.1)


def test_the_most_negative_eigenvalues_split() -> None:
    """Chosen and ordered as NumPy's eigenvalues of the dense matrices say."""
    (x, y), params = data(), parameters()
    found = bends(START.shape(), params, jnp.asarray(START.widths), x, y, REGRESSION)
    values = {}
    for layer in (0, 1):
        one = found[f"map_{layer}"]
        for unit in range(START.widths[layer]):
            reads, bent = np.asarray(one.reads), np.asarray(one.bends)[:, unit]
            values[layer, unit] = np.linalg.eigvalsh((reads * bent[:, None]).T @ reads / N)[0]
    assert min(values.values()) < 0
    negative = sorted((v, *place) for place, v in values.items() if v < 0)
    for layers, count in ((None, 2), (None, 9), ((0,), 9)):
        wanted = [(la, u) for _, la, u in negative if layers is None or la in layers][:count]
        decided = policy(layers, per_round=count).decide(view(params, x, y)).decisions
        chosen = [(d.edit.layer, d.edit.unit) for d in decided if isinstance(d.edit, SplitUnit)]
        assert sorted(chosen) == sorted(wanted)
        assert [la for la, _ in chosen] == sorted((la for la, _ in chosen), reverse=True)


@pytest.mark.parametrize(("target", "splits"), [(9.0, 0), (-9.0, 2)])
def test_it_stops_where_all_matrices_are_positive(target: float, splits: int) -> None:
    """Tanh units on positive inputs bend down, h'' < 0, and have positive output weights v. Of
    S = E[v (f - y) h'' x x^T] all weights are positive where f < y, and negative where f > y. One
    of two inputs never varies: what rounding makes of its eigenvalue zero is no reason to split."""
    start = MlpArchitecture(2, 1, (Layer(2, 2, "tanh"),))
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (N, 2))
    x[:, 1] = 0.7
    weights = {
        "map_0": {"kernel": rng.uniform(0.5, 1.0, (2, 2)), "bias": np.zeros(2)},
        "map_1": {"kernel": np.ones((2, 1)), "bias": np.zeros(1)},
    }
    seen = replace(view(weights, x, np.full((N, 1), target)), loss=lambda: 1.0)
    seen = replace(seen, architecture=start, widths=jnp.asarray([2]))
    decisions = policy(per_round=3).decide(seen).decisions
    assert sum(decision.edit is not None for decision in decisions) == splits
    if not splits:
        assert decisions[0].reason.endswith("the network is stable")
