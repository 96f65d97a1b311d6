from __future__ import annotations

from typing import Any

import jax
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature import kfac
from senn_cli.growth.carry import edit_curvature, edit_optimizer, extended
from senn_cli.growth.edits import (
    AddNeurons,
    Edit,
    EnlargeCapacity,
    InsertLayer,
    PruneNeuron,
    edit_architecture,
    floored,
)
from senn_cli.growth.surgery import edit_parameters
from senn_cli.nets.architecture import CapacityRule
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, SgdSpec
from senn_cli.training.network import apply_edits, new_network
from senn_cli.training.optimizer import make_optimizer

pytestmark = pytest.mark.usefixtures("double")

HIDDEN = [(4, 6, "rational"), (3, 5, "silu")]
N = 80
SIDES = [(0, "inputs"), (0, "outputs"), (1, "inputs"), (1, "outputs"), (2, "inputs")]
SIDES += [(2, "outputs")]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def shape(nets: Any) -> Any:
    return nets.architecture(3, HIDDEN, 2)


def layer(rng: np.random.Generator, shape: Any, index: int, side: Any) -> InsertLayer:
    q = shape.map_width(index)[side == "outputs"]
    kernel = floored(rng.standard_normal((q, q)), 0.1)
    return InsertLayer(index, side, np.concatenate([rng.standard_normal((1, q)), kernel]))


def neurons(rng: np.random.Generator, index: int, n_in: int, k: int = 2) -> AddNeurons:
    coefficients = rng.standard_normal((3, k)) if HIDDEN[index][2] == "rational" else None
    return AddNeurons(index, rng.standard_normal((1 + n_in, k)), coefficients)


def carried(state: Any, shape: Any, edit: Edit, *, natural: bool = False) -> Any:
    after = edit_architecture(shape, edit, CapacityRule(2, 0.5))
    return after, edit_optimizer(state, shape, edit, after, natural=natural)


def states(nets: Any, rng: np.random.Generator, shape: Any, params: Any) -> dict[str, Any]:
    """Optax's states of our optimizers, their moments drawn; nu is positive where in use."""
    first, second = nets.draw(rng, shape), nets.draw(rng, shape)
    second = jax.tree.map(np.square, second)
    adam = make_optimizer(AdamSpec(kind="adam"), "regression", 100, 10).transform.init(params)
    adam = (adam[0]._replace(count=np.int32(7), mu=first, nu=second), *adam[1:])
    momentum = SgdSpec(kind="sgd", momentum=0.9)
    sgd = make_optimizer(momentum, "regression", 100, 10).transform.init(params)
    sgd = (sgd[0]._replace(trace=first), *sgd[1:])
    return {"adam": adam, "sgd": sgd}


def test_the_state_of_adam_after_added_neurons(nets: Any, rng: Any, shape: Any) -> None:
    params = nets.draw(rng, shape)
    state = states(nets, rng, shape, params)["adam"]
    after, new = carried(state, shape, neurons(rng, 0, 3))
    assert type(new[0]) is optax.ScaleByAdamState and int(new[0].count) == 7
    assert jax.tree.structure(new[1:]) == jax.tree.structure(state[1:])
    old_mu, old_nu, mu, nu = state[0].mu, state[0].nu, new[0].mu, new[0].nu
    for tree in (mu, nu):
        assert nets.unused_are_zero(after, tree)
    # mu: what was there stays, the rest is zero, which the old arrays of equal capacity show.
    for name, leaves in old_mu.items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(mu[name][leaf], array)
    # nu: the mean over the map's weights in use, biases included.
    feeds = np.append(old_nu["map_0"]["kernel"][:3, :4], old_nu["map_0"]["bias"][:4]).mean()
    np.testing.assert_allclose(nu["map_0"]["kernel"][:3, 4:6], feeds)
    np.testing.assert_allclose(nu["map_0"]["bias"][4:6], feeds)
    level = old_nu["activation_0"]["coefficients"][:, :4].mean()
    np.testing.assert_allclose(nu["activation_0"]["coefficients"][:, 4:6], level)
    reads = np.append(old_nu["map_1"]["kernel"][:4, :3], old_nu["map_1"]["bias"][:3]).mean()
    np.testing.assert_allclose(nu["map_1"]["kernel"][4:6, :3], reads)
    for name, leaf, used in (
        ("map_0", "kernel", np.s_[:3, :4]),
        ("map_0", "bias", np.s_[:4]),
        ("activation_0", "coefficients", np.s_[:, :4]),
        ("map_1", "kernel", np.s_[:4, :3]),
        ("map_1", "bias", np.s_[:3]),
        ("map_2", "kernel", np.s_[:3, :2]),
    ):
        np.testing.assert_array_equal(nu[name][leaf][used], old_nu[name][leaf][used])


def test_momentum_after_pruning_and_enlarging_moves_as_weights_do(
    nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    for kind, state in states(nets, rng, shape, params).items():
        for edit in (PruneNeuron(0, 1), PruneNeuron(1, 2), EnlargeCapacity(1, 9)):
            after, new = carried(state, shape, edit)
            trees = (
                ((state[0].mu, new[0].mu), (state[0].nu, new[0].nu))
                if kind == "adam"
                else ((state[0].trace, new[0].trace),)
            )
            for old, tree in trees:
                assert nets.unused_are_zero(after, tree)
                jax.tree.map(
                    np.testing.assert_array_equal, tree, edit_parameters(old, shape, edit, after)
                )


@pytest.mark.parametrize(("index", "side"), SIDES)
def test_a_step_changes_the_function_as_before_a_layer_was_inserted(
    index: int, side: Any, nets: Any, rng: Any, shape: Any
) -> None:
    params, momentum = nets.draw(rng, shape), nets.draw(rng, shape)
    x = rng.standard_normal((N, 3))
    state = (optax.TraceState(trace=momentum), optax.EmptyState())
    edit = layer(rng, shape, index, side)
    after, new = carried(state, shape, edit, natural=True)
    assert nets.unused_are_zero(after, new[0].trace)
    assert not np.any(new[0].trace[f"activation_{index}"]["coefficients"])

    def derivative(architecture: Any, at: Any, along: Any) -> np.ndarray:
        eps = 1e-6
        up, down = (
            nets.run(architecture, jax.tree.map(lambda p, v, h=h: p + h * v, at, along), x).outputs
            for h in (eps, -eps)
        )
        return (up - down) / (2 * eps)

    before = derivative(shape, params, momentum)
    now = derivative(after, edit_parameters(params, shape, edit, after), new[0].trace)
    np.testing.assert_allclose(now, before, atol=1e-6 * np.abs(before).max())


def loss_gradient(nets: Any, shape: Any, params: Any, x: np.ndarray, y: np.ndarray) -> Any:
    """The gradient of half the mean squared error for every map, `(1 + n_in, n_out)`."""
    seen = nets.run(shape, params, x)
    to_z, _ = nets.gradients(shape, params, seen, seen.outputs - y)
    return [a.T @ g / len(x) for a, g in zip(seen.reads, to_z, strict=True)]


@pytest.mark.parametrize(("index", "side"), SIDES)
def test_a_plain_gradient_changes_as_gradients_do(
    index: int, side: Any, nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    x, y = rng.standard_normal((N, 3)), rng.standard_normal((N, 2))
    trace = jax.tree.map(np.zeros_like, params)
    for i, g in enumerate(loss_gradient(nets, shape, params, x, y)):
        n_in, n_out = shape.map_width(i)
        trace[f"map_{i}"]["kernel"][:n_in, :n_out] = g[1:]
        trace[f"map_{i}"]["bias"][:n_out] = g[0]
    edit = layer(rng, shape, index, side)
    after, new = carried((optax.TraceState(trace=trace),), shape, edit)
    expected = loss_gradient(nets, after, edit_parameters(params, shape, edit, after), x, y)
    fresh = index if side == "inputs" else index + 1
    for i, g in enumerate(expected):
        n_in, n_out = after.map_width(i)
        ours = new[0].trace[f"map_{i}"]
        ours = np.concatenate([ours["bias"][None, :n_out], ours["kernel"][:n_in, :n_out]])
        # The new map's own momentum starts from nothing.
        np.testing.assert_allclose(ours, 0.0 if i == fresh else g, atol=1e-10)


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_the_state_of_adam_after_an_inserted_layer(
    side: Any, nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    state = states(nets, rng, shape, params)["adam"]
    after, new = carried(state, shape, layer(rng, shape, 1, side))
    assert nets.unused_are_zero(after, new[0].mu) and nets.unused_are_zero(after, new[0].nu)
    old = state[0].nu["map_1"]
    level = np.append(old["kernel"][:4, :3], old["bias"][:3]).mean()
    for i in (1, 2):
        n_in, n_out = after.map_width(i)
        np.testing.assert_allclose(new[0].nu[f"map_{i}"]["kernel"][:n_in, :n_out], level)
        np.testing.assert_allclose(new[0].nu[f"map_{i}"]["bias"][:n_out], level)
    width = after.widths[1]
    np.testing.assert_allclose(new[0].nu["activation_1"]["coefficients"][:, :width], level)
    for name, moved in (("map_0", "map_0"), ("map_2", "map_3"), ("activation_0", "activation_0")):
        jax.tree.map(np.testing.assert_array_equal, new[0].nu[moved], state[0].nu[name])


def padded(shape: Any, factors: Any, ages: int = 5) -> kfac.KfacState:
    """Factors over the neurons in use as a state at full capacity."""
    state = jax.device_get(kfac.initial_state(shape.shape(), np.float64))
    for name, leaves in factors.items():
        for symbol, m in leaves.items():
            full = np.zeros_like(state.factors[name][symbol])
            full[tuple(slice(n) for n in m.shape)] = m
            state.factors[name][symbol] = full
    return state._replace(
        seen=np.int32(9), ages=dict.fromkeys(state.ages, np.int32(ages)), stale=np.zeros((), bool)
    )


def check_curvature(
    nets: Any, shape: Any, params: Any, edit: Edit, x: np.ndarray, v: np.ndarray
) -> kfac.KfacState:
    """A, S and 3 x 3 blocks carried through `edit` are those measured on the edited network."""
    state = padded(shape, nets.factors(shape, params, x, v))
    after = edit_architecture(shape, edit, CapacityRule(4, 0.5))
    new = edit_curvature(state, params, shape, edit, after)
    assert new is not None
    expected = padded(after, nets.factors(after, edit_parameters(params, shape, edit, after), x, v))
    assert set(new.factors) == set(expected.factors) == set(new.ages)
    for name, leaves in expected.factors.items():
        fresh = isinstance(edit, InsertLayer) and name == f"activation_{edit.map}"
        assert int(new.ages[name]) == (0 if fresh else 5)
        for symbol, m in leaves.items():
            assert new.factors[name][symbol].shape == m.shape, (name, symbol)
            if symbol in ("a", "s") or (symbol == "c" and not fresh):
                np.testing.assert_allclose(
                    new.factors[name][symbol], m, atol=1e-10 * max(np.abs(m).max(), 1)
                )
            elif symbol == "c":
                assert not np.any(new.factors[name][symbol])
    assert bool(new.stale) and int(new.seen) == 9
    return new


@pytest.mark.parametrize("index", [0, 1])
def test_curvature_after_added_neurons(index: int, nets: Any, rng: Any, shape: Any) -> None:
    params = nets.draw(rng, shape)
    x, v = rng.standard_normal((N, 3)), rng.standard_normal((N, 2))
    plain = neurons(rng, index, shape.map_width(index)[0])
    seen = nets.run(
        edit_architecture(shape, plain),
        edit_parameters(params, shape, plain, edit_architecture(shape, plain)),
        x,
    )
    a = seen.reads[index + 1]
    moments = a.T @ a / N
    edit = AddNeurons(index, plain.weights, plain.coefficients, moments)
    check_curvature(nets, shape, params, edit, x, v)


@pytest.mark.parametrize(("index", "side"), SIDES)
def test_curvature_after_an_inserted_layer(
    index: int, side: Any, nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    x, v = rng.standard_normal((N, 3)), rng.standard_normal((N, 2))
    check_curvature(nets, shape, params, layer(rng, shape, index, side), x, v)


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("neuron", [0, 2])
def test_curvature_after_pruning_and_enlarging(
    index: int, neuron: int, nets: Any, rng: Any, shape: Any
) -> None:
    params = nets.draw(rng, shape)
    params[f"map_{index + 1}"]["kernel"][neuron] = 0.0
    x, v = rng.standard_normal((N, 3)), rng.standard_normal((N, 2))
    check_curvature(nets, shape, params, PruneNeuron(index, neuron), x, v)
    check_curvature(nets, shape, params, EnlargeCapacity(index, 8), x, v)


def test_no_curvature_stays_none(nets: Any, rng: Any, shape: Any) -> None:
    edit = EnlargeCapacity(0, 8)
    after = edit_architecture(shape, edit)
    assert edit_curvature(None, nets.draw(rng, shape), shape, edit, after) is None


@pytest.mark.parametrize(
    "spec",
    [
        NaturalGradientSpec(momentum=0.9),
        AdamSpec(kind="adam"),
        SgdSpec(kind="sgd", momentum=0.9),
    ],
)
def test_a_whole_network_through_many_edits(spec: Any, nets: Any, rng: Any, shape: Any) -> None:
    optimizer = make_optimizer(spec, "regression", 100, 10)
    network = new_network(shape, nets.draw(rng, shape), optimizer)
    edits = [
        neurons(rng, 0, 3),
        EnlargeCapacity(1, 8),
        layer(rng, shape, 2, "outputs"),
        PruneNeuron(1, 0),
    ]
    grown = apply_edits(network, edits, optimizer, CapacityRule(4, 0.5))
    assert grown.architecture.widths == (6, 2, 2)
    assert grown.architecture.capacities == (6, 8, 4)
    assert grown.widths.tolist() == [6, 2, 2]
    # The state has the structure and shapes of one that was made for the new architecture.
    fresh = new_network(grown.architecture, nets.draw(rng, grown.architecture), optimizer)
    assert jax.tree.structure(grown.state) == jax.tree.structure(fresh.state)
    shapes = jax.tree.map(lambda a, b: a.shape == b.shape, grown.state, fresh.state)
    assert all(jax.tree.leaves(shapes))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), c=st.integers(1, 6), k=st.integers(1, 3))
def test_an_extended_factor_is_positive_semi_definite(seed: int, c: int, k: int) -> None:
    # The old block was measured on other data than the new rows: copied as they are, the new rows
    # make the factor indefinite, and its inverse blows up the next step.
    rng = np.random.default_rng(seed)
    batches, sample = rng.standard_normal((4 * c, c)), rng.standard_normal((3 * (c + k), c + k))
    sample[:, c:] = 30 * sample[:, :c] @ rng.standard_normal((c, k)) + 0.1 * sample[:, c:]
    a = np.zeros((c + k + 2, c + k + 2))
    a[:c, :c] = batches.T @ batches / len(batches)
    found = extended(a, sample.T @ sample / len(sample), k)
    np.testing.assert_array_equal(found[:c, :c], a[:c, :c])
    np.testing.assert_array_equal(found[c + k :], 0)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)
    values = np.linalg.eigvalsh(found)
    assert values[0] >= -1e-10 * values[-1]
