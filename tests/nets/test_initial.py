from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from senn_cli.nets.architecture import ACTIVATIONS, Layer
from senn_cli.nets.mlp import MlpArchitecture, draw_neurons, initial_parameters
from senn_cli.spec.activation import Activation
from tests.dense import in_use, roomy

WIDE = MlpArchitecture(30, 5, (Layer(400, 400, "rational"), Layer(300, 300, "silu")))


def test_every_parameter_of_the_architecture_and_no_other() -> None:
    params = initial_parameters(WIDE, 0)
    assert {(n, k): v.shape for n, leaves in params.items() for k, v in leaves.items()} == {
        ("map_0", "kernel"): (30, 400),
        ("map_0", "bias"): (400,),
        ("activation_0", "coefficients"): (3, 400),
        ("map_1", "kernel"): (400, 300),
        ("map_1", "bias"): (300,),
        ("map_2", "kernel"): (300, 5),
        ("map_2", "bias"): (5,),
    }
    assert {v.dtype for leaves in params.values() for v in leaves.values()} == {np.dtype("f4")}
    assert sum(v.size for leaves in params.values() for v in leaves.values()) == WIDE.parameters


def test_the_capacity_changes_nothing() -> None:
    tight = initial_parameters(WIDE, 3)
    room = roomy(WIDE, (512, 301))
    wide = initial_parameters(room, 3)
    assert wide["map_1"]["kernel"].shape == (512, 301)
    for name, leaves in in_use(wide, room).items():
        for symbol, value in leaves.items():
            np.testing.assert_array_equal(value, tight[name][symbol])


def test_dormant_neurons_are_drawn_whatever_the_capacity_and_the_others_stay() -> None:
    tight = initial_parameters(WIDE, 3)
    found = []
    for capacities in ((512, 301), (600, 310)):
        room = replace(roomy(WIDE, capacities), spare="dormant")
        drawn = initial_parameters(room, 3)
        for name, leaves in tight.items():
            for symbol, value in leaves.items():
                inside = tuple(slice(n) for n in value.shape)
                np.testing.assert_array_equal(drawn[name][symbol][inside], value)
        # What reads them is zero, of neurons in use and of dormant ones.
        assert not drawn["map_1"]["kernel"][400:].any() and not drawn["map_2"]["kernel"][300:].any()
        found.append(drawn)
    few, many = found
    np.testing.assert_array_equal(few["map_0"]["kernel"], many["map_0"]["kernel"][:, :512])
    np.testing.assert_array_equal(
        few["activation_0"]["coefficients"], many["activation_0"]["coefficients"][:, :512]
    )
    np.testing.assert_array_equal(few["map_1"]["kernel"][:400], many["map_1"]["kernel"][:400, :301])
    _standard(np.sqrt(30) * many["map_0"]["kernel"][:, 400:])
    _standard(many["map_0"]["bias"][400:])
    _standard(many["activation_0"]["coefficients"][:, 400:])
    _standard(np.sqrt(400) * many["map_1"]["kernel"][:400, 300:])
    assert not many["map_1"]["bias"][300:].any()


def test_it_is_a_function_of_the_seed() -> None:
    one, again, other = (initial_parameters(WIDE, seed) for seed in (1, 1, 2))
    for name, leaves in one.items():
        for symbol, value in leaves.items():
            np.testing.assert_array_equal(value, again[name][symbol])
    assert not np.array_equal(one["map_2"]["kernel"], other["map_2"]["kernel"])


def _standard(values: np.ndarray) -> None:
    """Mean 0 and variance 1 within five standard errors."""
    n = values.size
    assert abs(values.mean()) < 5 / np.sqrt(n)
    assert abs(values.var() - 1) < 5 * np.sqrt(2 / n)


def test_the_distribution() -> None:
    params = initial_parameters(WIDE, 7)
    for index, n_in in enumerate((30, 400, 300)):
        _standard(params[f"map_{index}"]["kernel"] * np.sqrt(n_in))
    _standard(params["map_0"]["bias"])
    for row in params["activation_0"]["coefficients"]:
        _standard(row)
    assert not params["map_1"]["bias"].any() and not params["map_2"]["bias"].any()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_neurons_that_are_drawn_later(activation: Activation) -> None:
    kernel, bias, coefficients = draw_neurons(np.random.default_rng(0), 6, 9, activation)
    assert kernel.shape == (6, 9) and bias.shape == (9,)
    assert (coefficients is None) == (activation != "rational")
    assert coefficients is None or coefficients.shape == (3, 9)
