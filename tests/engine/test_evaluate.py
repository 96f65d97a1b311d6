from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.evaluate import make_evaluate
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION, Objective
from senn_cli.nets.registry import kind_of
from tests.dense import network, outputs, padded, roomy, widths_of

RNG = np.random.default_rng(0)
ARCHITECTURE, PARAMS = network((3, 4, 2))
X = RNG.standard_normal((10, 3)).astype(np.float32)
LABELS = RNG.integers(0, 2, 10).astype(np.int32)
VALUES = (RNG.standard_normal((10, 2)) * [3.0, 100.0] + [5.0, -40.0]).astype(np.float32)
SHIFT, SCALE = np.array([5.0, -40.0], np.float32), np.array([1 / 3, 1 / 100], np.float32)
ONE, ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)


def evaluated(
    objective: Objective, data: Arrays, architecture: Any = ARCHITECTURE
) -> tuple[float, float]:
    compute = jax.jit(make_evaluate(objective), static_argnums=0)
    params = jax.tree.map(np.float32, padded(PARAMS, architecture))
    loss, value = compute(architecture.shape(), params, widths_of(architecture), data)
    return float(loss), float(value)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 10])
def test_every_example_counts_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(kind_of(ARCHITECTURE)), "block", 4)
    data = Arrays(X[:n], LABELS[:n], ZERO, ONE, ZERO, ONE)
    y = np.asarray(outputs(ARCHITECTURE, PARAMS, X[:n]), np.float64)
    log_p = y - np.log(np.exp(y).sum(axis=1, keepdims=True))
    expected = -log_p[np.arange(n), LABELS[:n]].mean(), (y.argmax(axis=1) == LABELS[:n]).mean()
    np.testing.assert_allclose(evaluated(CLASSIFICATION, data), expected, rtol=1e-5)


@pytest.mark.parametrize("block", [4, 4096])
def test_the_mean_squared_error_is_in_the_units_of_the_targets(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(kind_of(ARCHITECTURE)), "block", block)
    y = np.asarray(outputs(ARCHITECTURE, PARAMS, X), np.float64)
    loss = 0.5 * ((y - (VALUES - SHIFT) * SCALE) ** 2).sum(axis=1).mean()
    error = ((y / SCALE + SHIFT - VALUES) ** 2).mean()
    found = evaluated(REGRESSION, Arrays(X, VALUES, ZERO, ONE, SHIFT, SCALE))
    np.testing.assert_allclose(found, (loss, error), rtol=1e-5)


def test_inputs_are_scaled_and_spare_capacity_changes_nothing() -> None:
    stored = RNG.integers(0, 256, (7, 3), dtype=np.uint8)
    shift, scale = np.float32(128.0), np.float32(0.01)
    y = np.asarray(outputs(ARCHITECTURE, PARAMS, (stored.astype(np.float32) - 128) / 100))
    data = Arrays(stored, LABELS[:7], shift, scale, ZERO, ONE)
    for architecture in (ARCHITECTURE, roomy(ARCHITECTURE, (9,))):
        _, accuracy = evaluated(CLASSIFICATION, data, architecture)
        np.testing.assert_allclose(accuracy, (y.argmax(axis=1) == LABELS[:7]).mean(), rtol=1e-6)
