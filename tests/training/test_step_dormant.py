"""A step of a DenseNet: its direction by dense solves, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.sides import Pair, Side, TrackState
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracked, Tracking, bud_rows
from senn_cli.engine.objective import CLASSIFICATION, loss_and_gradient
from senn_cli.nets.densenet import initial_parameters
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import standing, used_units
from senn_cli.nets.leaves import joined, trained
from senn_cli.nets.registry import apply
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, SgdSpec
from senn_cli.training.network import Network, TrainState, new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.region import trust_of
from senn_cli.training.update import take_one
from tests.densenets import architecture, initial_masks

NET = architecture((5, 5, 1), 3, [[(2, 4)], [(2, 3), (2, 2)]], bud=2)
RATE = 0.1
SETTINGS = TrackSettings(damping=1e-2, moving_average=0.9, invert_every=1)
TRACKING = Tracking(settings=SETTINGS, every=4, samples=16, stride=1, vectors=2, slow=0.1)


@partial(jax.jit, static_argnums=(0, 1, 2))
def step(*args: Any) -> Any:
    """One step; its random stream is for samples of the curvature, which none of these takes."""
    return take_one(*args, key=jax.random.key(0), input_factor=None)


def plain(spec: Any = None) -> Optimizer:
    sgd = SgdSpec.model_validate(
        {"kind": "sgd", "learning_rate": RATE, "momentum": 0.0, "schedule": "constant"}
    )
    return make_optimizer(sgd if spec is None else spec, CLASSIFICATION, 10, 10)


def natural(**changes: Any) -> Optimizer:
    spec = {"learning_rate": RATE, "weight_decay": 0.0, "kl_clip": None, "schedule": "constant"}
    made = plain(NaturalGradientSpec.model_validate(spec))
    return replace(made, solver=SETTINGS, tracking=TRACKING, **changes)


def data() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((16, 25)), jnp.float32)
    return x, jnp.asarray(rng.integers(0, 3, 16), jnp.int32)


def network(optimizer: Optimizer, net: DenseArchitecture = NET, seed: int = 0) -> Network:
    return new_network(net, initial_parameters(net, seed), optimizer)


def spd(rng: np.random.Generator, size: int) -> np.ndarray:
    x = rng.standard_normal((2 * size, size))
    return (x.T @ x / (2 * size)).astype(np.float32)


def with_factors(found: Network) -> tuple[TrainState, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """The state with random factors and the inverses of their used blocks; those, dense."""
    rng = np.random.default_rng(1)
    maps, dense = {}, {}
    masks = initial_masks(NET)
    for wire in standing(NET):
        used = [np.asarray(masks.of(s)) for s in wire.sources]
        flat = np.concatenate(used)
        rows = np.concatenate([[True], flat]) if wire.target.role == "outputs" else np.tile(flat, 9)
        sides, inverses = [], []
        for mask in (rows, np.asarray(masks.columns(wire))):
            moment, ridge = spd(rng, len(mask)), np.float32(0.3)
            where = np.flatnonzero(mask)
            inverse = np.zeros_like(moment)
            block = moment[np.ix_(where, where)].astype(float) + 0.3 * np.eye(len(where))
            inverse[np.ix_(where, where)] = np.linalg.inv(block)
            ages = np.full(len(mask), 9, np.int32)
            sides.append(Side(moment, ages, inverse, mask, ridge))  # type: ignore[arg-type]
            inverses.append(inverse.astype(float))
        maps[wire.name], dense[wire.name] = Pair(*sides), (inverses[0], inverses[1])
    curvature: Any = found.state.curvature
    state = found.state._replace(curvature=Tracked(TrackState(jnp.int32(9), maps), curvature.slow))
    return jax.device_put(state), dense


def gradient_of(found: Network) -> Any:
    """Of the mean loss, by the network with its buds and all masks."""
    x, y = data()
    used = used_units(NET)

    def loss(params: Any) -> jax.Array:
        outputs = apply(NET.shape(), params, x, used).outputs
        return jnp.mean(loss_and_gradient(CLASSIFICATION, outputs, y)[0])

    return jax.jit(jax.grad(loss))(found.state.params)


def only_trained(tree: Any, net: DenseArchitecture = NET) -> Any:
    mask = trained(net, used_units(net))
    return jax.tree.map(lambda m, a: np.where(m, a, 0), mask, tree)


def test_the_direction_is_the_dense_natural_gradient() -> None:
    optimizer = natural()
    found = network(optimizer)
    state, dense = with_factors(found)
    gradient = gradient_of(found)
    after, loss, eta, size = step(NET.shape(), CLASSIFICATION, optimizer, state, found.widths,
                                  *data())  # fmt: skip
    moved = jax.tree.map(lambda a, b: np.asarray(b) - np.asarray(a), state.params, after.params)
    expected_eta = total = 0.0
    for wire in standing(NET):
        dw = np.asarray(joined(wire, gradient[wire.name]), float)
        a, s = dense[wire.name]
        direction = a @ dw @ s
        expected_eta += float(np.sum(direction * dw))
        total += float(np.sum((RATE * direction) ** 2))
        change = np.asarray(joined(wire, moved[wire.name]))
        scale = np.abs(RATE * direction).max()
        assert scale > 0
        np.testing.assert_allclose(change, -RATE * direction, atol=1e-4 * scale + 1e-7)
    assert float(eta) == pytest.approx(expected_eta, rel=1e-4)
    assert float(size) == pytest.approx(total, rel=1e-3)
    assert int(after.step) == 1 and np.isfinite(float(loss))


def test_a_step_is_scaled_down_to_the_clip() -> None:
    """By the batch's own Fisher matrix, though the curvature is not taken in the step."""
    clip = 1e-4
    optimizer = natural(kl_clip=clip)
    found = network(optimizer)
    state, _ = with_factors(found)
    after, _, eta, _ = step(NET.shape(), CLASSIFICATION, optimizer, state, found.widths,
                            *data())  # fmt: skip
    x, used = data()[0], used_units(NET)

    @jax.jit
    def ends(before: Any, after: Any) -> Any:
        def at(share: float) -> Any:
            params = jax.tree.map(lambda a, b: a + share * (b - a), before, after)
            return apply(NET.shape(), params, x, used).outputs

        return at(0.0), at(0.5) - at(-0.5)

    here, moved = (np.asarray(a, np.float64) for a in ends(state.params, after.params))
    p = np.exp(here) / np.exp(here).sum(axis=1, keepdims=True)
    form = np.mean((p * moved**2).sum(axis=1) - (p * moved).sum(axis=1) ** 2)
    assert form == pytest.approx(clip, rel=0.02)
    trust = trust_of(after.optimizer)
    assert trust is not None and float(trust.kl) == pytest.approx(clip / 2, rel=1e-3)
    # g^T d of random factors is another length.
    assert abs(float(trust.stretch) - 1.0) > 0.1 and float(eta) > 0


@pytest.mark.parametrize("kind", ["natural", "adam"])
def test_what_is_not_in_use_stays_bit_for_bit(kind: str) -> None:
    adam = AdamSpec(kind="adam", learning_rate=1e-2, weight_decay=0.1)
    optimizer = natural() if kind == "natural" else replace(plain(adam), tracking=TRACKING)
    found = network(optimizer)
    state = with_factors(found)[0]
    start = jax.device_get(state.params)
    for _ in range(2):
        state, *_ = step(NET.shape(), CLASSIFICATION, optimizer, state, found.widths, *data())
    mask = trained(NET, used_units(NET))
    for name, leaves in jax.device_get(state.params).items():
        for leaf, array in leaves.items():
            used = np.broadcast_to(mask[name][leaf], array.shape)
            np.testing.assert_array_equal(array[~used], start[name][leaf][~used])
            if used.any():
                assert (array[used] != start[name][leaf][used]).any()
    assert not any(np.any(trained(NET, used_units(NET))[w.name]["input"])
                   for w in NET.maps if w.target.role == "bud")  # fmt: skip


def test_buds_contribute_nothing() -> None:
    optimizer = replace(plain(), tracking=TRACKING)
    found = network(optimizer)
    state = found.state
    loud = jax.tree.map(lambda a: a, state.params)
    for wire in NET.maps:
        if wire.target.role == "bud":
            loud[wire.name] = jax.tree.map(lambda a: a + 7.0, state.params[wire.name])
    one, two = (
        step(NET.shape(), CLASSIFICATION, optimizer, state._replace(params=params), found.widths,
             *data())
        for params in (state.params, loud)
    )  # fmt: skip
    assert float(one[1]) == float(two[1])
    for wire in standing(NET):
        for leaf, array in one[0].params[wire.name].items():
            np.testing.assert_array_equal(array, two[0].params[wire.name][leaf])
        # A step says nothing of buds: their rows have no age, all others have one.
        ages = np.asarray(one[0].curvature.slow.ages[wire.name])
        np.testing.assert_array_equal(ages[0], ~bud_rows(wire))
        np.testing.assert_array_equal(ages[1], 0)


def test_steps_average_the_gradients_of_dormant_rows_too() -> None:
    optimizer = replace(plain(), tracking=TRACKING)
    found = network(optimizer)
    gradient = gradient_of(found)
    state, *_ = step(NET.shape(), CLASSIFICATION, optimizer, found.state, found.widths, *data())
    dormant = 0.0
    for wire in standing(NET):
        seen = np.asarray(state.curvature.slow.averages[wire.name][0])
        rows = ~bud_rows(wire)
        expected = np.asarray(joined(wire, gradient[wire.name]))
        np.testing.assert_allclose(seen[rows], expected[rows], rtol=1e-3, atol=1e-6)
        np.testing.assert_array_equal(seen[~rows], 0.0)
        flat = np.concatenate([np.asarray(initial_masks(NET).of(s)) for s in wire.sources])
        full = np.concatenate([[True], flat]) if wire.target.role == "outputs" else np.tile(flat, 9)
        dormant = max(dormant, float(np.abs(seen[rows & ~full]).max(initial=0.0)))
    assert dormant > 1e-4


def test_bfloat16_is_for_computing_alone() -> None:
    optimizer = replace(plain(), tracking=TRACKING, compute_dtype=jnp.bfloat16)
    exact = replace(plain(), tracking=TRACKING)
    found = network(optimizer)
    new, loss, *_ = step(NET.shape(), CLASSIFICATION, optimizer, found.state, found.widths,
                         *data())  # fmt: skip
    wanted, other, *_ = step(NET.shape(), CLASSIFICATION, exact, found.state, found.widths,
                             *data())  # fmt: skip
    assert loss.dtype == jnp.float32 and float(loss) != float(other)
    assert float(loss) == pytest.approx(float(other), rel=0.02)
    for leaf, before in zip(jax.tree.leaves(new), jax.tree.leaves(found.state), strict=True):
        assert leaf.dtype == before.dtype
        assert leaf.dtype in (jnp.float32, jnp.int32, jnp.bool_)
    for mine, theirs in zip(
        jax.tree.leaves(new.params), jax.tree.leaves(wanted.params), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=5e-3)


def test_capacity_is_invisible_to_the_steps() -> None:
    """The same parameters in use after steps with 3 and with 6 channels of room, tracking on."""
    results = []
    for capacity in (3, 6):
        net = architecture((5, 5, 1), 3, [[(2, capacity)], [(2, capacity)]], bud=1)
        adam = AdamSpec(kind="adam", learning_rate=1e-2, weight_decay=0.1)
        optimizer = replace(plain(adam), tracking=TRACKING)
        found = network(optimizer, net)
        state = found.state
        for _ in range(4):
            state, *_ = step(net.shape(), CLASSIFICATION, optimizer, state, found.widths, *data())
        params = jax.device_get(state.params)
        results.append(params)
    small, large = results
    for name, leaves in small.items():
        if "bud" in name:
            continue
        for leaf, array in leaves.items():
            cut = (*(slice(n) for n in array.shape[:-2]), slice(2), slice(2))
            index = cut if array.ndim > 1 and name != "head" else (slice(2),)
            if array.ndim == 1:
                index = (slice(None),)
            np.testing.assert_allclose(large[name][leaf][index], array[index], rtol=1e-4, atol=1e-6)


def test_of_a_head_at_zero_the_first_steps_obey_the_bound() -> None:
    """Maps below have no curvature before it moves; by what is known of them steps are far."""
    clip, optimizer = 0.01, natural(kl_clip=0.01)
    found = network(optimizer)
    state, _ = with_factors(found)
    state.params["head"] = jax.tree.map(jnp.zeros_like, state.params["head"])
    factors = state.curvature.factors
    stale = {
        name: pair if name == "head" else Pair(*(s._replace(solver=100 * s.solver) for s in pair))
        for name, pair in factors.maps.items()
    }
    curvature = state.curvature._replace(factors=factors._replace(maps=stale))
    state = state._replace(curvature=curvature)
    x, y = data()
    for _ in range(4):
        new, *_ = step(NET.shape(), CLASSIFICATION, optimizer, state, found.widths, x, y)
        moved = jax.tree.map(jnp.subtract, new.params, state.params)
        outputs, change = jax.jvp(
            lambda params: apply(NET.shape(), params, x, used_units(NET)).outputs,
            (state.params,),
            (moved,),
        )
        p, u = np.asarray(jax.nn.softmax(outputs), float), np.asarray(change, float)
        form = np.mean(np.sum(p * u**2, axis=1) - np.sum(p * u, axis=1) ** 2)
        assert 0 < form <= clip * 1.001
        state = new
