from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.nets.densenet import initial_parameters
from senn_cli.nets.densenet_architecture import DenseArchitecture, Pool
from senn_cli.nets.densenet_flax import DenseNet, apply, pooled
from senn_cli.nets.features import map_named, used_units
from senn_cli.nets.leaves import joined, split, trained
from senn_cli.nets.registry import Shifts, Signals
from tests import densenets
from tests.dense import close, double
from tests.densenets import (
    POOLS,
    Masks,
    Tree,
    architecture,
    architectures,
    cut,
    initial_masks,
    random_parameters,
    reads,
    run,
    scattered,
)


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


NET = architecture((8, 7, 2), 3, [[(3, 5), (2, 4)], [(2, 2), (3, 4)]], bud=2)


class Case:
    """A network with scattered masks, random weights and images."""

    def __init__(self, shape: DenseArchitecture, seed: int = 0, unused: float = 0.0) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.shape, self.masks = rng, shape, scattered(rng, shape)
        self.params = random_parameters(rng, shape, self.masks, unused=unused)
        self.x = rng.standard_normal((3, shape.inputs))
        self.weights = rng.standard_normal((3, shape.outputs))


@partial(jax.jit, static_argnums=0)
def signals(shape: DenseArchitecture, params: Tree, x: Any, masks: Masks) -> Signals:
    return apply(shape, params, x, masks.used(shape))


def value(weights: Any, outputs: Any) -> Any:
    return (weights * (outputs + outputs**2)).sum()


@partial(jax.jit, static_argnums=0)
def gradient(shape: DenseArchitecture, params: Tree, x: Any, masks: Masks, w: Any) -> Tree:
    return jax.grad(lambda p: value(w, apply(shape, p, x, masks.used(shape)).outputs))(params)


@partial(jax.jit, static_argnums=0)
def pulled(
    shape: DenseArchitecture, params: Tree, x: Any, masks: Masks, w: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The loss's gradients with respect to pre-activations and activations of every map."""
    used = masks.used(shape)
    z = {k: jnp.zeros_like(v) for k, v in apply(shape, params, x, used).preactivations.items()}
    h = {k: v for k, v in z.items() if k != "head"}
    return jax.grad(
        lambda s, p: value(w, apply(shape, params, x, used, Shifts(s, p)).outputs), argnums=(0, 1)
    )(z, h)


@settings(max_examples=8)
@given(architectures(), st.integers(0, 2**32 - 1))
def test_signals_are_those_of_the_definition(shape: DenseArchitecture, seed: int) -> None:
    case = Case(shape, seed, unused=3.0)  # weights of what is not in use must not matter
    outputs, z = run(shape, case.params, case.masks, case.x)
    found = signals(shape.shape(), case.params, case.x, case.masks)
    np.testing.assert_allclose(found.outputs, outputs, rtol=0, atol=1e-12 * np.abs(outputs).max())
    assert set(found.preactivations) == {wire.name for wire in shape.maps} == set(z)
    for name, expected in z.items():
        np.testing.assert_allclose(found.preactivations[name], expected, atol=1e-11, rtol=0)


def test_images_may_be_flat_and_other_activations_work() -> None:
    case = Case(architecture((6, 5, 2), 2, [[(3, 4), (2, 2)]], activation="tanh"))
    expected = run(case.shape, case.params, case.masks, case.x)[0]
    shape = case.shape.shape()
    flat = signals(shape, case.params, case.x, case.masks).outputs
    square = signals(shape, case.params, case.x.reshape(3, 6, 5, 2), case.masks).outputs
    np.testing.assert_allclose(flat, expected, rtol=1e-11)
    np.testing.assert_array_equal(square, flat)


def test_inputs_are_what_the_maps_read_dormant_channels_as_they_are() -> None:
    case = Case(NET)
    found = signals(NET.shape(), case.params, case.x, case.masks)
    for wire in NET.maps:
        a = np.asarray(found.inputs[wire.name])
        if wire.target.role == "outputs":
            z = a @ case.params["head"]["kernel"] + case.params["head"]["bias"]
        else:
            kernel = np.concatenate([case.params[wire.name][s.leaf] for s in wire.sources], axis=2)
            z = densenets.convolved(a, kernel)
        np.testing.assert_allclose(found.preactivations[wire.name], z, atol=1e-11, rtol=0)
    h = densenets.sigma("silu", np.asarray(found.preactivations["block_0/layer_0"]))
    bud = densenets.sigma("silu", np.asarray(found.preactivations["block_0/bud_1"]))
    read = np.asarray(found.inputs["block_0/layer_1"])
    np.testing.assert_allclose(read[..., 2:], np.concatenate([h, bud], axis=3), rtol=1e-12)
    assert np.abs(h[..., ~case.masks.layers[0]]).min() > 0


@settings(max_examples=4)
@given(architectures(), st.integers(0, 2**32 - 1))
def test_capacity_and_dormant_weights_are_invisible(shape: DenseArchitecture, seed: int) -> None:
    case = Case(shape, seed, unused=5.0)
    small = shape.compact()
    masks, params = initial_masks(small), cut(case.params, shape, case.masks)
    wide = signals(shape.shape(), case.params, case.x, case.masks).outputs
    tight = signals(small, params, case.x, masks).outputs
    np.testing.assert_allclose(wide, tight, rtol=0, atol=1e-12 * np.abs(tight).max())
    one = gradient(shape.shape(), case.params, case.x, case.masks, case.weights)
    two = gradient(small, params, case.x, masks, case.weights)
    close(cut(one, shape, case.masks), two, 1e-11)
    for name, leaves in one.items():
        used = np.asarray(case.masks.columns(map_named(shape, name)))
        for leaf, array in leaves.items():
            dormant = np.asarray(array)[..., ~used]
            assert not dormant.any(), (name, leaf, "dormant channels get no gradient")


def test_the_weights_of_dormant_channels_get_the_gradient_that_they_would_in_use() -> None:
    case = Case(NET)
    everything = Masks(
        tuple(np.ones(h.capacity, bool) for h in NET.hidden),
        tuple(np.ones(2, bool) for _ in NET.hidden),
    )
    found = gradient(NET.shape(), case.params, case.x, case.masks, case.weights)
    active = gradient(NET.shape(), case.params, case.x, everything, case.weights)
    for name, sources in reads(NET, case.masks).items():
        columns = np.asarray(case.masks.columns(map_named(NET, name)))
        for leaf, used in sources.items():
            one, two = (np.asarray(g[name][leaf])[:, :, ~used][..., columns]
                        for g in (found, active))  # fmt: skip
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-12)
            assert one.size == 0 or np.abs(one).max() > 1e-4
    np.testing.assert_allclose(found["head"]["kernel"], active["head"]["kernel"], atol=1e-12)


def test_gradients_by_shifts_are_finite_differences_of_the_definition() -> None:
    case = Case(NET, seed=3)
    by_z, by_h = pulled(NET.shape(), case.params, case.x, case.masks, case.weights)
    z = run(NET, case.params, case.masks, case.x)[1]
    step = 1e-5

    def loss(shifts: Any, post: Any) -> float:
        outputs = run(NET, case.params, case.masks, case.x, shifts, post)[0]
        return float(value(case.weights, outputs))

    for name, array in z.items():
        move = case.rng.standard_normal(array.shape)
        slope = (loss({name: step * move}, {}) - loss({name: -step * move}, {})) / (2 * step)
        assert float((by_z[name] * move).sum()) == pytest.approx(slope, rel=1e-6, abs=1e-8)
        if name != "head":
            slope = (loss({}, {name: step * move}) - loss({}, {name: -step * move})) / (2 * step)
            assert float((by_h[name] * move).sum()) == pytest.approx(slope, rel=1e-6, abs=1e-8)
            gate = 1 / (1 + np.exp(-array))
            chain = np.asarray(by_h[name]) * gate * (1 + array * (1 - gate))
            np.testing.assert_allclose(by_z[name], chain, atol=1e-12)


def test_a_kernel_s_gradient_is_the_product_of_patches_and_shift_gradients() -> None:
    case = Case(NET, seed=4)
    found = gradient(NET.shape(), case.params, case.x, case.masks, case.weights)
    seen = signals(NET.shape(), case.params, case.x, case.masks)
    by_z, _ = pulled(NET.shape(), case.params, case.x, case.masks, case.weights)
    for wire in NET.maps:
        a, g = np.asarray(seen.inputs[wire.name]), np.asarray(by_z[wire.name])
        if wire.target.role == "outputs":
            expected = np.concatenate([np.ones((3, 1)), a], axis=1).T @ g
        else:
            around = np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0)))
            height, width = a.shape[1:3]
            taps = [around[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
            patches = np.stack(taps, axis=3)
            expected = np.einsum("nhwtc,nhwo->tco", patches, g).reshape(-1, g.shape[3])
        np.testing.assert_allclose(joined(wire, found[wire.name]), expected, rtol=0, atol=1e-11)


def test_joined_rows_and_their_features() -> None:
    case = Case(NET)
    for wire in NET.maps:
        matrix = joined(wire, jax.tree.map(jnp.asarray, case.params[wire.name]))
        close(split(wire, matrix), case.params[wire.name], 0.0)
        for source in wire.sources:
            rows = wire.groups(source)
            kernel = case.params[wire.name][source.leaf].reshape(
                -1, source.feature.capacity, wire.target.capacity
            )
            for c in range(source.feature.capacity):
                np.testing.assert_array_equal(matrix[rows[c]], kernel[:, c])


def test_what_is_trained_is_what_is_in_use_at_both_ends() -> None:
    masks = scattered(np.random.default_rng(0), NET)
    found = trained(NET.shape(), masks.used(NET))
    params = initial_parameters(NET, 0)
    assert jax.tree.structure(found) == jax.tree.structure(params)
    for name, sources in reads(NET, masks).items():
        block, rest = name.split("/")
        columns = np.zeros(2, bool)
        if rest.startswith("layer"):
            columns = masks.layers[NET.flat(int(block[6:]), int(rest[6:]))]
        for leaf, used in sources.items():
            np.testing.assert_array_equal(found[name][leaf], np.outer(used, columns))
            assert np.broadcast_shapes(found[name][leaf].shape, params[name][leaf].shape)
    np.testing.assert_array_equal(
        found["head"]["kernel"], np.repeat(masks.layers[3][:, None], 3, 1)
    )
    assert found["head"]["bias"].all()
    compiled = jax.jit(trained, static_argnums=0)(NET.shape(), masks.used(NET))
    jax.tree.map(np.testing.assert_array_equal, found, dict(compiled))
    counted = sum(
        np.broadcast_to(found[n][k], v.shape).sum() for n, p in params.items() for k, v in p.items()
    )
    assert counted == NET.parameters


def test_masks_are_data() -> None:
    case = Case(NET, unused=2.0)
    compiled = jax.jit(
        lambda masks: apply(NET.shape(), case.params, case.x, masks.used(NET)).outputs
    )
    for seed in range(4):
        masks = scattered(np.random.default_rng(seed), NET)
        expected = run(NET, case.params, masks, case.x)[0]
        np.testing.assert_allclose(compiled(masks), expected, rtol=1e-10)
    assert compiled._cache_size() == 1


def test_a_bud_in_use_counts_and_learns() -> None:
    case = Case(NET, unused=1.0)
    buds = tuple(np.array([True, i == 1]) for i in range(4))
    masks = case.masks._replace(buds=buds)
    expected = run(NET, case.params, masks, case.x)[0]
    found = signals(NET.shape(), case.params, case.x, masks).outputs
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    slopes = gradient(NET.shape(), case.params, case.x, masks, case.weights)
    learns = np.asarray(slopes["block_0/bud_0"]["input"])
    assert learns[..., 0].any() and not learns[..., 1].any()
    none = case.masks._replace(buds=tuple(np.zeros(2, bool) for _ in range(4)))
    args = (NET.shape(), case.params, case.x)
    close(gradient(*args, none, case.weights), gradient(*args, case.masks, case.weights), 1e-13)


def test_bfloat16_within_its_precision() -> None:
    case = Case(architecture((8, 8, 3), 4, [[(6, 8), (6, 8)], [(8, 8)]], bud=4))
    shape = case.shape.shape()
    params = jax.tree.map(lambda p: jnp.asarray(p, jnp.float32), case.params)
    x = jnp.asarray(case.x, jnp.float32)

    def loss(p: Any, dtype: Any) -> Any:
        found = apply(shape, p, x, case.masks.used(shape), compute_dtype=dtype)
        return value(case.weights.astype(np.float32), found.outputs), found

    exact, half = (jax.jit(jax.grad(lambda p, d=d: loss(p, d), has_aux=True))(params)
                   for d in (None, jnp.bfloat16))  # fmt: skip
    assert half[1].outputs.dtype == jnp.float32 == exact[1].preactivations["block_1/layer_0"].dtype
    assert half[1].preactivations["block_1/layer_0"].dtype == jnp.bfloat16
    assert {g.dtype for g in jax.tree.leaves(half[0])} == {np.dtype("f4")}
    scale = float(jnp.abs(exact[1].outputs).max())
    difference = float(jnp.abs(half[1].outputs - exact[1].outputs).max())
    assert 0 < difference < 0.03 * scale
    close(half[0], exact[0], 0.1)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 5), (7, 8)])
def test_pooling(pool: Pool, size: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal((2, *size, 3))
    found, pull = jax.vjp(jax.jit(partial(pooled, pool)), jnp.asarray(x))
    np.testing.assert_allclose(found, densenets.pooled(pool, x), rtol=1e-14)
    if pool != "mean2s2":
        window = (int(pool[-3]),) * 2
        reference = partial(nn.max_pool, window_shape=window, strides=(2, 2), padding="SAME")
        windowed, back = jax.vjp(jax.jit(reference), jnp.asarray(x))
        np.testing.assert_array_equal(found, windowed)
        slope = jnp.asarray(np.random.default_rng(1).standard_normal(found.shape))
        np.testing.assert_allclose(pull(slope)[0], back(slope)[0], rtol=1e-13)


def test_pooling_by_hand() -> None:
    x = jnp.asarray([[9.0, 1, 2, 3], [0, 4, 5, 1], [0, 0, 7, 0], [8, 0, 0, 6]])[None, :, :, None]
    # SAME on 4 positions: windows of 3 start at 0 and 2, the last reaching over the edge.
    assert pooled("max3s2", x)[0, :, :, 0].tolist() == [[9, 7], [8, 7]]
    assert pooled("max2s2", x)[0, :, :, 0].tolist() == [[9, 5], [8, 7]]
    assert pooled("mean2s2", x)[0, :, :, 0].tolist() == [[3.5, 2.75], [2, 3.25]]
    assert pooled("mean2s2", x[:, :3, :3])[0, :, :, 0].tolist() == [[3.5, 3.5], [0, 7]]


def test_flax_makes_the_parameters_that_we_make() -> None:
    x = jnp.zeros((1, NET.inputs))
    net = DenseNet(NET.shape())
    made = jax.eval_shape(net.init, jax.random.key(0), x, used_units(NET), Shifts({}))["params"]
    ours = initial_parameters(NET, 0)
    assert jax.tree.map(jnp.shape, dict(made)) == jax.tree.map(jnp.shape, ours)


def test_what_convolutions_read_is_put_together_anew() -> None:
    """The gradient is the same, and twice the layers keep twice the memory, not four times."""

    def kept(layers: int, recompute: bool) -> int:
        net = architecture((8, 8, 3), 4, [[(6, 6)] * layers])
        params, used = initial_parameters(net, 0), used_units(net)

        def loss(p: Any) -> jax.Array:
            x = jnp.zeros((8, 8 * 8 * 3))
            return jnp.sum(apply(net.shape(), p, x, used, recompute=recompute).outputs)

        back = jax.eval_shape(lambda p: jax.vjp(loss, p)[1], params)
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(back))

    few, many = (kept(layers, True) for layers in (8, 16))
    assert many / few == pytest.approx(2, abs=0.2)
    assert kept(16, False) > 2.5 * many

    case = Case(architecture((6, 6, 2), 3, [[(2, 4), (3, 3)]], bud=2))
    shape, used = case.shape.shape(), case.masks.used(case.shape)
    found, wanted = (
        jax.grad(
            lambda p, again=again: value(
                case.weights, apply(shape, p, case.x, used, recompute=again).outputs
            )
        )(case.params)
        for again in (True, False)
    )
    close(found, wanted, 1e-12)
