from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature.kronecker import with_constant
from senn_cli.nets.features import used_units
from senn_cli.nets.leaves import joined, split, trained
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters
from senn_cli.nets.mlp_flax import MLP, apply
from senn_cli.nets.registry import Shifts
from senn_cli.nets.registry import outputs as outputs_of
from senn_cli.spec.activation import Activation
from tests.dense import Tree, close, double, in_use, network, padded, roomy

X = np.random.default_rng(5).standard_normal((6, 4))


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def forward(architecture: MlpArchitecture, params: Tree, x: np.ndarray) -> list[np.ndarray]:
    """Pre-activations of every map, in NumPy, from the definition."""
    found = []
    for index in range(len(architecture.maps)):
        linear = params[f"map_{index}"]
        z = x @ np.asarray(linear["kernel"]) + np.asarray(linear["bias"])
        found.append(z)
        if index < len(architecture.hidden):
            name = architecture.hidden[index].activation
            if name == "rational":
                a, b, c = np.asarray(params[f"activation_{index}"]["coefficients"])
                x = a * z + (b + c * z) / (1 + z**2)
            else:
                x = np.tanh(z) if name == "tanh" else z / (1 + np.exp(-z))
    return found


@pytest.mark.parametrize("activation", ["rational", "silu", "tanh"])
@pytest.mark.parametrize("sizes", [(4, 3), (4, 5, 3), (4, 5, 2, 3)])
def test_signals_are_those_of_the_formula(sizes: tuple[int, ...], activation: Activation) -> None:
    architecture, params = network(sizes, activation)
    signals = apply(architecture.shape(), params, X, used_units(architecture))
    expected = forward(architecture, params, X)
    close(list(signals.preactivations.values()), expected, 1e-13)
    np.testing.assert_array_equal(signals.outputs, list(signals.preactivations.values())[-1])
    for m in architecture.maps:
        lifted = with_constant(signals.inputs[m.name]) @ joined(m, params[m.name])
        np.testing.assert_allclose(lifted, signals.preactivations[m.name], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("activation", ["rational", "silu", "tanh"])
def test_spare_capacity_changes_no_output_and_no_gradient(activation: Activation) -> None:
    small, params = network((4, 5, 3, 2), activation)
    large = roomy(small, (8, 7))

    def value(architecture: MlpArchitecture, p: Tree) -> jax.Array:
        signals = apply(architecture.shape(), p, X, used_units(architecture))
        return jnp.sum(jnp.sin(signals.outputs))

    one, gradient = jax.jit(jax.value_and_grad(lambda p: value(small, p)))(params)
    two, wide = jax.jit(jax.value_and_grad(lambda p: value(large, p)))(padded(params, large))
    np.testing.assert_allclose(two, one, rtol=1e-14)
    close(in_use(wide, large), gradient, 1e-12)


@pytest.mark.parametrize("activation", ["rational", "silu", "tanh"])
def test_dormant_neurons_are_computed_and_read_by_weights_of_zero(activation: Activation) -> None:
    small, params = network((4, 5, 3, 2), activation)
    large, wide = network((4, 8, 7, 2), activation, seed=1)
    dormant = replace(large, spare="dormant").with_layer(0, width=5).with_layer(1, width=3)
    inner = {name: dict(leaves) for name, leaves in wide.items()}
    for name, leaves in params.items():
        for leaf, value in leaves.items():
            inner[name][leaf] = inner[name][leaf].copy()
            inner[name][leaf][tuple(slice(n) for n in value.shape)] = value

    def value(architecture: MlpArchitecture, p: Tree) -> jax.Array:
        signals = apply(architecture.shape(), p, X, used_units(architecture))
        return jnp.sum(jnp.sin(signals.outputs))

    one, gradient = jax.jit(jax.value_and_grad(lambda p: value(small, p)))(params)
    two, found = jax.jit(jax.value_and_grad(lambda p: value(dormant, p)))(inner)
    np.testing.assert_allclose(two, one, rtol=1e-13)
    masks = trained(dormant, used_units(dormant))
    used = {n: {k: np.where(masks[n][k], v, 0) for k, v in f.items()} for n, f in found.items()}
    close(in_use(used, dormant), gradient, 1e-11)
    # Nothing flows back into them, but weights that read them have the gradient that they would
    # have in use, at zero.
    zero = {name: dict(leaves) for name, leaves in inner.items()}
    for name, width in (("map_1", 5), ("map_2", 3)):
        zero[name]["kernel"] = inner[name]["kernel"].copy()
        zero[name]["kernel"][width:] = 0
    whole = jax.jit(jax.grad(lambda p: value(large, p)))(zero)
    for name in found:
        for leaf in found[name]:
            close(found[name][leaf], whole[name][leaf], 1e-11)
    assert not np.asarray(found["map_0"]["kernel"])[:, 5:].any()
    assert np.abs(found["map_2"]["kernel"][3:]).min() > 0


def test_an_unused_neuron_passes_nothing_on_not_even_nan() -> None:
    small, params = network((4, 5, 2))
    large = roomy(small, (8,))
    wide = padded(params, large)
    wide["activation_0"]["coefficients"][:, 5:] = np.nan
    wide["map_1"]["kernel"][5:] = 7.0
    found = apply(large.shape(), wide, X, used_units(large))
    close(found.outputs, forward(small, params, X)[-1], 1e-13)
    assert not np.asarray(found.inputs["map_1"])[:, 5:].any()


def test_widths_are_data() -> None:
    architecture, params = network((4, 5, 2))
    compute = jax.jit(lambda w: outputs_of(architecture.shape(), params, X, w))
    for width in range(1, 6):
        cut = {
            "map_0": {k: v[..., :width] for k, v in params["map_0"].items()},
            "activation_0": {"coefficients": params["activation_0"]["coefficients"][:, :width]},
            "map_1": {
                "kernel": params["map_1"]["kernel"][:width],
                "bias": params["map_1"]["bias"],
            },
        }
        smaller, _ = network((4, width, 2))
        expected = forward(smaller, cut, X)[-1]
        np.testing.assert_allclose(compute(jnp.array([width])), expected, rtol=1e-12)
    assert compute._cache_size() == 1


def test_shifts_add_to_the_preactivations() -> None:
    architecture, params = network((4, 5, 3, 2))
    used = used_units(architecture)
    rng = np.random.default_rng(1)
    shifts = {m.name: jnp.asarray(rng.standard_normal((6, m.columns))) for m in architecture.maps}
    shifted = apply(architecture.shape(), params, X, used, Shifts(shifts))
    # The first map's shift, alone and the same for all examples, is a change of its bias.
    bias = shifts["map_0"][:1]
    moved = {**params, "map_0": {**params["map_0"], "bias": params["map_0"]["bias"] + bias[0]}}
    alone = apply(
        architecture.shape(), params, X, used, Shifts({"map_0": jnp.broadcast_to(bias, (6, 5))})
    )
    np.testing.assert_allclose(alone.outputs, forward(architecture, moved, X)[-1], rtol=1e-12)
    plain = apply(architecture.shape(), params, X, used)
    np.testing.assert_array_equal(
        shifted.preactivations["map_0"],
        np.asarray(plain.preactivations["map_0"]) + shifts["map_0"],
    )


def test_flax_makes_the_parameters_that_we_make() -> None:
    architecture = roomy(network((4, 5, 3, 2))[0], (8, 3))
    used = used_units(architecture)
    module = MLP(architecture.shape())
    made = module.init(jax.random.key(0), jnp.asarray(X), used, Shifts({}))["params"]
    ours = initial_parameters(architecture, 0)
    assert jax.tree.map(jnp.shape, dict(made)) == jax.tree.map(jnp.shape, ours)


@settings(max_examples=10)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_joined_and_split_are_inverse(n_in: int, n_out: int, seed: int) -> None:
    (m,) = MlpArchitecture(n_in, n_out).maps
    weights = np.random.default_rng(seed).standard_normal((1 + n_in, n_out))
    np.testing.assert_array_equal(joined(m, split(m, jnp.asarray(weights))), weights)
    np.testing.assert_array_equal(split(m, jnp.asarray(weights))["bias"], weights[0])


def test_bfloat16_within_its_precision() -> None:
    """All but the last map; 8 bits of a number are kept, and the outputs are in float32."""
    architecture, params = network((5, 7, 6, 3))
    x = np.random.default_rng(1).standard_normal((9, 5))
    single: Any = jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), params)
    used = used_units(architecture)
    found = apply(
        architecture.shape(), single, jnp.asarray(x, "f4"), used, compute_dtype=jnp.bfloat16
    )
    *hidden, outputs = forward(architecture, params, x)
    for m, expected in zip(architecture.maps[:-1], hidden, strict=True):
        assert found.preactivations[m.name].dtype == jnp.bfloat16
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found.preactivations[m.name], expected, atol=0.02 * scale)
    assert found.outputs.dtype == jnp.float32
    difference = np.abs(np.asarray(found.outputs) - outputs).max()
    assert 0 < difference < 0.03 * np.abs(outputs).max()
