from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import map_named
from tests.densenets import architecture, architectures

TWO = architecture((8, 6, 3), 10, [[(4, 8), (5, 5)], [(2, 6)]], bud=7)


def test_sizes_and_places() -> None:
    assert TWO.widths == (4, 5, 2) and TWO.capacities == (8, 5, 6)
    assert TWO.inputs == 8 * 6 * 3
    assert [TWO.place(i) for i in range(3)] == [(0, 0), (0, 1), (1, 0)]
    assert [TWO.flat(*TWO.place(i)) for i in range(3)] == [0, 1, 2]
    assert [TWO.site(i) for i in range(3)] == ["block 0 layer 0", "block 0 layer 1",
                                               "block 1 layer 0"]  # fmt: skip
    assert TWO.hidden == (*TWO.blocks[0], *TWO.blocks[1])


@pytest.mark.parametrize("index", [-1, 3])
def test_a_layer_that_is_not_there(index: int) -> None:
    with pytest.raises(IndexError):
        TWO.place(index)
    with pytest.raises(IndexError):
        TWO.flat(0, 2 if index > 0 else -1)


def test_parameters_in_use() -> None:
    # Layer 0 of block 0 reads 3 channels, layer 1 reads 3 + 4; block 1 reads the 5 of the last
    # layer alone; the head has a bias. Buds and spare channels do not count.
    assert TWO.parameters == 9 * (3 * 4 + (3 + 4) * 5 + 5 * 2) + (2 + 1) * 10
    assert replace(TWO, bud=0).parameters == TWO.parameters


def test_the_wiring_by_hand() -> None:
    found = [
        (w.name, w.target.role, w.target.index, w.target.capacity, w.target.width) for w in TWO.maps
    ]
    assert found == [
        ("block_0/bud_0", "bud", 0, 7, 0),
        ("block_0/layer_0", "hidden", 0, 8, 4),
        ("block_0/bud_1", "bud", 1, 7, 0),
        ("block_0/layer_1", "hidden", 1, 5, 5),
        ("block_1/bud_0", "bud", 2, 7, 0),
        ("block_1/layer_0", "hidden", 2, 6, 2),
        ("head", "outputs", 0, 10, 10),
    ]
    seen = {
        w.name: [
            (s.leaf, s.feature.role, s.feature.index, s.feature.capacity, s.feature.width)
            for s in w.sources
        ]
        for w in TWO.maps
    }
    image, zero = ("input", "data", 0, 3, 3), ("layer_0", "hidden", 0, 8, 4)
    assert seen["block_0/bud_0"] == [image]
    assert seen["block_0/layer_0"] == [image, ("bud", "bud", 0, 7, 0)]
    assert seen["block_0/bud_1"] == [image, zero]
    assert seen["block_0/layer_1"] == [image, zero, ("bud", "bud", 1, 7, 0)]
    assert seen["block_1/layer_0"] == [("input", "hidden", 1, 5, 5), ("bud", "bud", 2, 7, 0)]
    assert seen["head"] == [("kernel", "hidden", 2, 6, 2)]
    assert [(w.name, s.leaf) for w, s in TWO.readers(0)] == [
        ("block_0/bud_1", "layer_0"),
        ("block_0/layer_1", "layer_0"),
    ]
    assert [w.name for w, _ in TWO.readers(1)] == ["block_1/bud_0", "block_1/layer_0"]
    assert [w.name for w, _ in TWO.readers(2)] == ["head"]
    assert map_named(TWO, "block_0/layer_1") is TWO.maps[3]
    assert "block_0/bud_0" not in [w.name for w in replace(TWO, bud=0).maps]


def test_the_shape_forgets_what_is_in_use_and_nothing_else() -> None:
    grown = TWO.with_layer(0, width=8).with_layer(2, width=3)
    assert grown.widths == (8, 5, 3)
    assert grown.shape() == TWO.shape() and hash(grown.shape()) == hash(TWO.shape())
    for other in (
        TWO.with_layer(2, capacity=7),
        TWO.with_layer(2, activation="tanh"),
        replace(TWO, bud=6),
        replace(TWO, pool="mean2s2"),
        TWO.with_inserted(1, Layer(1, 1, "silu")),
    ):
        assert other.shape() != TWO.shape()
    assert TWO.widths == (4, 5, 2), "changes leave the original as it was"


def test_a_layer_is_inserted_into_the_block_of_the_one_behind_it() -> None:
    found = TWO.with_inserted(2, Layer(1, 3, "silu"))
    assert [len(layers) for layers in found.blocks] == [2, 2]
    assert found.widths == (4, 5, 1, 2)


@given(architectures())
def test_shape_and_compact_agree_on_what_they_keep(found: DenseArchitecture) -> None:
    assert found.compact().widths == found.widths == found.compact().capacities
    assert found.shape().widths == found.capacities
    assert found.compact().parameters == found.parameters
    assert found.shape().shape() == found.shape()
    assert found.compact().bud == found.bud and found.compact().pool == found.pool


@settings(max_examples=50)
@given(architectures(), st.sampled_from(["silu", "tanh"]))
def test_json_and_back(found: DenseArchitecture, activation: Any) -> None:
    found = found.with_layer(0, activation=activation)
    text = json.dumps(found.to_json(), allow_nan=False)
    assert DenseArchitecture.from_json(json.loads(text)) == found
    assert json.loads(text)["kind"] == "densenet"


@pytest.mark.parametrize(
    "fault",
    [
        {"image": None},
        {"image": [8, 8]},
        {"image": [8, 8, 0]},
        {"image": 8},
        {"outputs": 0},
        {"blocks": []},
        {"blocks": [[]]},
        {"blocks": [[{"width": 3, "capacity": 2, "activation": "silu"}]]},
        {"blocks": [[{"width": 1, "capacity": 2, "activation": "rational"}]]},
        {"blocks": [[{"width": 1}]]},
        {"blocks": [3]},
        {"bud": -1},
        {"pool": "max9s9"},
        {"kind": "mlp"},
        {"kind": None},
    ],
)
def test_what_is_no_architecture_is_refused(fault: dict[str, object]) -> None:
    described = {k: v for k, v in {**TWO.to_json(), **fault}.items() if v is not None}
    with pytest.raises((ValueError, KeyError)):
        DenseArchitecture.from_json(described)


def test_descriptions_masks_and_draws_need_no_jax() -> None:
    code = (
        "import sys, senn_cli.nets.densenet; "
        "print({'jax', 'flax', 'optax', 'orbax'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
