from __future__ import annotations

import numpy as np
import pytest

from senn_cli.growth.pricing import Price, determined


def test_what_additions_can_gain() -> None:
    """N Delta eta / 2, and no more than N (loss - eta / 2), which is nothing at the least."""
    price = Price(0.5, 1000)
    assert price.left(0.3, 0.2) == pytest.approx(200.0)
    assert price.left(0.1, 0.4) == 0.0
    assert price.gain(0.02, 200.0) == pytest.approx(10.0)
    assert price.gain(0.9, 200.0) == pytest.approx(200.0)
    assert price.pays(10.0, 20) and not price.pays(10.0, 20.1)
    assert Price(0.0, 1000).pays(0.0, 10**9)


@pytest.mark.parametrize("rows", [5, 8])
def test_weights_that_data_determine(rows: int) -> None:
    """The trace of A (A + lambda)^-1 over the rows in use, with lambda their mean power."""
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((200, rows)) * np.geomspace(1, 0.01, rows)
    a = x.T @ x / len(x)
    expected = np.trace(a @ np.linalg.inv(a + np.trace(a) / rows * np.eye(rows)))
    spare = np.pad(a, (0, 3))  # rows that are not in use
    assert determined(np.linalg.eigvalsh(spare), rows) == pytest.approx(expected, rel=1e-10)


def test_alike_and_dead_inputs() -> None:
    """Where all tell alike half of them count; of n copies of one about one."""
    assert determined(np.full(6, 2.0), 6) == pytest.approx(3.0)
    assert determined(np.array([0.0] * 99 + [7.0]), 100) == pytest.approx(100 / 101)
    assert determined(np.zeros(4), 4) == 4.0  # nothing is known of what nothing reads
