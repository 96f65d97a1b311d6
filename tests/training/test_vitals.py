"""Gradients and activity of units against NumPy, and the figures by hand."""

from __future__ import annotations

from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import REGRESSION
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.training.vitals import Vitals, inactive, make_vitals, newborn_figures
from tests.dense import double, network, padded, roomy, widths_of

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def float64() -> Iterator[None]:
    yield from double()


def test_against_numpy() -> None:
    """A hidden layer of five relu units, of which one is dead and one is not read.

    Inputs are of float32.
    """
    shape, params = network((3, 5, 2), "relu")
    first, second = params["map_0"], params["map_1"]
    first["kernel"][:, 1], first["bias"][1] = 0.0, -1.0
    second["kernel"][3] = 0.0
    x, y = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 2))
    one, none = jnp.ones(()), jnp.zeros(())
    data = Arrays(jnp.asarray(x), jnp.asarray(y), none, one, none, one)
    wide = roomy(shape, [7])
    args = (padded(params, wide), widths_of(wide), data)
    (found,) = make_vitals(REGRESSION)(wide.shape(), *args).values()

    z = x @ first["kernel"] + first["bias"]
    h = np.maximum(z, 0)
    residual = h @ second["kernel"] + second["bias"] - y  # the loss is |residual|^2 / 2
    told = (residual @ second["kernel"].T) * (z > 0) / len(x)
    gradient = np.hypot(np.linalg.norm(x.T @ told, axis=0), told.sum(0))
    np.testing.assert_allclose(found.gradient[:5], gradient, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.deviation[:5], h.std(0), rtol=1e-6, atol=1e-7)
    outgoing = np.linalg.norm(second["kernel"], axis=1)
    np.testing.assert_allclose(found.outgoing[:5], outgoing, rtol=1e-10)
    dead = inactive(found, np.arange(7) < 5)
    assert dead.tolist() == [False, True, False, True, False, False, False]


def vitals(gradient: list[float], *, silent: int | None = None) -> Vitals:
    ones = np.ones(len(gradient))
    deviation = np.where(np.arange(len(gradient)) == silent, 1e-4, ones)
    return Vitals(jnp.asarray(gradient), jnp.asarray(deviation), jnp.asarray(ones))


TWO = MlpArchitecture(3, 2, (Layer(4, 5, "tanh"), Layer(2, 2, "tanh")))
FIRST, SECOND = (f.name for f in TWO.features if f.role == "hidden")
FOUND = {FIRST: vitals([1, 3, 1, 5, 9], silent=3), SECOND: vitals([4, 4])}


def units(first: list[int], second: list[int]) -> dict[str, np.ndarray]:
    return {FIRST: np.isin(np.arange(5), first), SECOND: np.isin(np.arange(2), second)}


def test_incumbents_are_those_of_the_same_layer_without_others_born_in_the_round() -> None:
    found = newborn_figures(TWO, FOUND, units([2], []), units([2, 3], []))
    assert found == {
        "units": 1, "gradient_ratio": 0.5, "inactive": 0.0, "incumbents_inactive": 0.0,
    }  # fmt: skip
    both = newborn_figures(TWO, FOUND, units([2, 3], []), units([2, 3], []))
    assert (both["gradient_ratio"], both["inactive"]) == (1.5, 0.5)


def test_incumbents_of_a_whole_layer_are_those_of_all_others() -> None:
    found = newborn_figures(TWO, FOUND, units([], [0, 1]), units([], [0, 1]))
    assert found["gradient_ratio"] == pytest.approx(4 / 2.5)
    assert found["incumbents_inactive"] == 0.25


def test_what_cannot_be_told_is_left_out() -> None:
    assert newborn_figures(TWO, FOUND, units([], []), units([], [])) == {}
    everything = units([0, 1, 2, 3], [0, 1])
    assert newborn_figures(TWO, FOUND, everything, everything) == {
        "units": 6, "inactive": 1 / 6,
    }  # fmt: skip
    starved = {FIRST: vitals([0, 0, 1, 1, 1]), SECOND: vitals([0, 0])}
    found = newborn_figures(TWO, starved, units([2, 3], []), units([2, 3], []))
    assert "gradient_ratio" not in found
