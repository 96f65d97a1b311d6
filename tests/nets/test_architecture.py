from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.nets.architecture import Layer, next_capacity
from senn_cli.nets.mlp import MlpArchitecture

SMALL = MlpArchitecture(4, 3, (Layer(5, 8, "rational"), Layer(2, 16, "tanh")))

layers = st.builds(
    lambda width, spare, activation: Layer(width, width + spare, activation),
    st.integers(1, 50),
    st.integers(0, 50),
    st.sampled_from(["rational", "silu", "tanh"]),
)
architectures = st.builds(
    MlpArchitecture,
    st.integers(1, 99),
    st.integers(1, 9),
    st.lists(layers, max_size=4).map(tuple),
    spare=st.sampled_from(["empty", "dormant"]),
)


def test_sizes() -> None:
    assert SMALL.widths == (5, 2) and SMALL.capacities == (8, 16)
    assert len(SMALL.maps) == 3
    assert [SMALL.map_width(i) for i in range(3)] == [(4, 5), (5, 2), (2, 3)]
    assert [SMALL.map_capacity(i) for i in range(3)] == [(4, 8), (8, 16), (16, 3)]


def test_parameters_in_use() -> None:
    # (4 + 1) 5 + (5 + 1) 2 + (2 + 1) 3 weights, 3 coefficients for each of the 5 rational neurons.
    assert SMALL.parameters == 25 + 12 + 9 + 15
    assert MlpArchitecture(7, 3).parameters == 24


@pytest.mark.parametrize("width, capacity", [(0, 4), (-1, 4), (5, 4)])
def test_a_layer_needs_a_neuron_and_room_for_it(width: int, capacity: int) -> None:
    with pytest.raises(ValueError, match="width <= capacity"):
        Layer(width, capacity, "silu")


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown activation 'elu'"):
        Layer(1, 1, "elu")  # type: ignore[arg-type]


def test_the_shape_forgets_what_is_in_use_and_nothing_else() -> None:
    grown = SMALL.with_layer(0, width=8).with_layer(1, width=3)
    assert grown.widths == (8, 3)
    assert grown.shape() == SMALL.shape() and hash(grown.shape()) == hash(SMALL.shape())
    assert SMALL.with_layer(1, capacity=17).shape() != SMALL.shape()
    assert SMALL.with_layer(1, activation="silu").shape() != SMALL.shape()
    assert SMALL.widths == (5, 2), "with_layer leaves the original as it was"


@given(architectures)
def test_shape_and_compact_agree_on_what_they_keep(architecture: MlpArchitecture) -> None:
    assert architecture.compact().widths == architecture.widths == architecture.compact().capacities
    assert architecture.shape().widths == architecture.capacities
    assert architecture.compact().parameters == architecture.parameters
    assert architecture.shape().shape() == architecture.shape()


@given(architectures)
def test_json_and_back(architecture: MlpArchitecture) -> None:
    text = json.dumps(architecture.to_json(), allow_nan=False)
    assert MlpArchitecture.from_json(json.loads(text)) == architecture


def test_what_says_nothing_of_spare_neurons_has_empty_ones() -> None:
    described = replace(SMALL, spare="dormant").to_json()
    del described["spare"]
    assert MlpArchitecture.from_json(described) == SMALL
    assert {f.spare for f in SMALL.features} == {"empty"}


@pytest.mark.parametrize(
    "fault",
    [
        {"inputs": None},
        {"spare": "asleep"},
        {"hidden": [{"width": 1, "capacity": 2, "activation": "elu"}]},
        {"hidden": [{"width": 3, "capacity": 2, "activation": "tanh"}]},
        {"hidden": [{"width": 1}]},
        {"hidden": [{"width": 1, "capacity": 1, "activation": "tanh", "depth": 2}]},
        {"hidden": [{"width": "1", "capacity": 2, "activation": "tanh"}]},
    ],
)
def test_what_is_no_architecture_is_refused(fault: dict[str, object]) -> None:
    described = {k: v for k, v in {**SMALL.to_json(), **fault}.items() if v is not None}
    with pytest.raises((ValueError, KeyError)):
        MlpArchitecture.from_json(described)


@given(
    st.integers(1, 400),
    st.integers(0, 400),
    st.integers(1, 64),
    st.floats(0.01, 2.0),
)
def test_a_next_capacity_has_room_and_is_a_multiple(
    width: int, capacity: int, multiple: int, growth: float
) -> None:
    found = next_capacity(width, capacity, multiple=multiple, growth=growth)
    assert found >= width and found >= capacity and found % multiple == 0
    if width > capacity:
        assert found >= math.floor(capacity * (1 + growth))
    wanted = max(width, capacity * (1 + growth)) if width > capacity else capacity
    assert found < wanted + multiple, "no more room than asked for"


@pytest.mark.parametrize("multiple", [1, 8, 64])
def test_growing_one_by_one_enlarges_seldom(multiple: int) -> None:
    capacity, enlargements, last = 0, 0, 2000
    for width in range(1, last + 1):
        if width > capacity:
            capacity = next_capacity(width, capacity, multiple=multiple, growth=0.5)
            enlargements += 1
    # Below 2 / growth the rounding down to whole neurons slows it down.
    assert enlargements <= 4 + math.log(last) / math.log(1.5)
