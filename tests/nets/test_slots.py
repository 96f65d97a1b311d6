from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.nets.features import used_units
from senn_cli.nets.mlp import LEAST_SLOTS, MlpArchitecture
from senn_cli.nets.mlp_flax import apply
from senn_cli.nets.registry import used
from senn_cli.nets.slots import Slots, blank_parameters, slots_of
from senn_cli.spec.activation import Activation
from tests.dense import Tree, close, double, network, padded, roomy, widths_of

X = np.random.default_rng(3).standard_normal((6, 4))


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def placed(architecture: MlpArchitecture) -> Slots:
    found = slots_of(architecture, 1)
    assert found is not None
    return found


@pytest.mark.parametrize("activation", ["rational", "silu"])
@pytest.mark.parametrize("sizes", [(4, 5, 2), (4, 5, 3, 2)])
def test_empty_places_change_no_output_and_no_gradient(
    sizes: tuple[int, ...], activation: Activation
) -> None:
    small, narrow = network(sizes, activation)
    architecture = roomy(small, [7] * len(small.hidden))
    params, slots = padded(narrow, architecture), placed(architecture)
    assert isinstance(slots.shape, MlpArchitecture)
    shape, units = slots.shape, used(slots.shape, slots.widths(widths_of(architecture)))

    def without(p: Tree) -> jax.Array:
        return apply(architecture.shape(), p, X, used_units(architecture)).outputs

    def within(p: Tree) -> jax.Array:
        return apply(shape, p, X, units).outputs

    filled = slots.filled(params, blank_parameters(shape))
    np.testing.assert_array_equal(within(filled), without(params))
    expected = jax.grad(lambda p: jnp.sum(jnp.sin(without(p))))(params)
    found = jax.grad(lambda p: jnp.sum(jnp.sin(within(p))))(filled)
    close(slots.emptied(found, params), expected, 1e-13)
    there = {*params, shape.maps[-1].name} - {architecture.maps[-1].name}
    empty = [
        array for name, leaves in found.items() if name not in there for array in leaves.values()
    ]
    assert empty and not any(np.asarray(array).any() for array in empty)


class State(NamedTuple):
    """As an optimizer's: a number, and trees of the parameters' form."""

    count: int
    trees: tuple[Any, ...]


def test_what_is_put_in_comes_out() -> None:
    architecture, params = network((4, 5, 5, 2))
    slots = placed(architecture)
    blank = blank_parameters(slots.shape)
    state = State(3, (params, {"map_2": 7, "activation_1": 8}))
    names = {"map_2": 0, "activation_1": 0} | {m.name: 0 for m in slots.shape.maps}
    filled = slots.filled(state, State(0, (blank, names)))
    assert filled.count == 3
    assert filled.trees[1][slots.shape.maps[-1].name] == 7  # the map to the outputs
    assert (filled.trees[1]["map_2"], filled.trees[1]["activation_1"]) == (0, 8)
    again = slots.emptied(filled, state)
    assert jax.tree.structure(again) == jax.tree.structure(state)
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(state), strict=True):
        assert one is other
    assert slots.widths([5, 4]).tolist() == [5, 4] + [0] * (LEAST_SLOTS - 2)
    assert slots.chosen(tuple(range(LEAST_SLOTS + 1)), 3) == (0, 1, LEAST_SLOTS)


def test_networks_of_any_number_of_layers_share_a_shape() -> None:
    shapes = {placed(network((4, *[5] * n, 2))[0]).shape for n in range(1, LEAST_SLOTS + 1)}
    assert len(shapes) == 1
    more = placed(network((4, *[5] * (LEAST_SLOTS + 1), 2))[0]).shape
    assert len(more.hidden) == 2 * LEAST_SLOTS


def test_where_there_are_no_places() -> None:
    two = network((4, 5, 3, 2))[0]
    assert slots_of(two, 1) is None  # what is passed on would not fit
    assert slots_of(roomy(two, (6, 6)), 3) is None
    assert slots_of(roomy(two, (6, 6)), 2) is not None
    assert slots_of(network((4, 2))[0], 0) is None
