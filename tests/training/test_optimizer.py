from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.curvature.tracked import TrackSettings
from senn_cli.engine.ending import Ending
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION
from senn_cli.engine.trust import changed
from senn_cli.spec.optimizer import (
    AdamSpec,
    AdamWSpec,
    LionSpec,
    MuonSpec,
    NaturalGradientSpec,
    RmsPropSpec,
    SgdSpec,
)
from senn_cli.spec.schedule import ScheduleSpec
from senn_cli.training.optimizer import (
    CgSettings,
    decayed,
    kl_scale,
    make_optimizer,
    make_schedule,
)
from tests.dense import network

PARAMS: Any = jax.tree.map(lambda v: v.astype(np.float32), network((3, 4, 2))[1])
SPECS = [
    NaturalGradientSpec.model_validate({"weight_decay": 0.1}),
    NaturalGradientSpec.model_validate({"preset": "paper", "weight_decay": 0.1}),
    NaturalGradientSpec.model_validate({"momentum": 0.9, "weight_decay": 0.1}),
    AdamSpec(kind="adam", weight_decay=0.1),
    AdamWSpec(kind="adamw", weight_decay=0.1),
    RmsPropSpec(kind="rmsprop", weight_decay=0.1),
    LionSpec(kind="lion", weight_decay=0.1),
    MuonSpec(kind="muon", weight_decay=0.1),
    SgdSpec(kind="sgd", weight_decay=0.1),
    SgdSpec(kind="sgd", momentum=0.5, nesterov=True, weight_decay=0.1),
]


def rates(spec: dict[str, Any], peak: float, total: int | None, per_epoch: int = 10) -> np.ndarray:
    schedule = make_schedule(ScheduleSpec.model_validate(spec), peak, total, per_epoch)
    last = 20 if total is None else total
    return np.array([float(schedule(step)) for step in range(last + 1)])


def test_constant() -> None:
    np.testing.assert_allclose(rates({"kind": "constant"}, 0.3, None), 0.3)


def test_cosine() -> None:
    found = rates({"kind": "cosine", "final": 0.2}, 0.5, 40)
    steps = np.arange(41)
    expected = 0.5 * (0.2 + 0.8 * (1 + np.cos(np.pi * steps / 40)) / 2)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_cosine_ends_at_zero_by_default() -> None:
    found = rates({"kind": "cosine"}, 0.5, 40)
    assert found[0] == 0.5 and abs(found[-1]) < 1e-7
    assert (np.diff(found) < 0).all()


@pytest.mark.parametrize(("decay", "start"), [(0.3, 28), (0.01, 39), (1.0, 0)])
def test_wsd_stays_at_the_peak_and_falls_in_a_line(decay: float, start: int) -> None:
    found = rates({"kind": "wsd", "decay": decay, "final": 0.2}, 0.5, 40)
    np.testing.assert_allclose(found, np.interp(np.arange(41), [start, 40], [0.5, 0.1]), rtol=1e-5)


@pytest.mark.parametrize(
    ("ended", "until", "start"), [(12, None, 12), (35, None, 30), (12, 8, 8), (0, None, 4)]
)
def test_wsd_falls_from_the_end_of_growth_to_the_end_of_the_run(
    ended: int, until: int | None, start: int
) -> None:
    """At the latest from its share or the spec's own end of growth, at the earliest warmed up."""
    spec = ScheduleSpec.model_validate({"kind": "wsd", "decay": 0.25, "warmup": {"steps": 4}})
    schedule = make_schedule(spec, 0.5, 40, 10, until)
    steps = np.arange(41)
    found = np.array([float(schedule(step, ended)) for step in steps])
    expected = np.minimum(steps / 4, 1) * np.interp(steps, [start, 40], [0.5, 0.0])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_a_step_is_told_of_the_end_of_growth_by_the_optimizers_state() -> None:
    """SGD's step is the rate times the gradient; what tells the rate is no part of the program."""
    wsd = {"kind": "wsd", "decay": 0.25}
    spec = SgdSpec.model_validate({"kind": "sgd", "learning_rate": 0.5, "schedule": wsd})
    optimizer = make_optimizer(spec, REGRESSION, 40, 10)
    assert optimizer.waits and not make_optimizer(SPECS[-1], REGRESSION, 40, 10).waits
    update = jax.jit(optimizer.transform.update)
    state = jax.device_put(optimizer.transform.init(PARAMS))
    gradient = jax.tree.map(jnp.ones_like, PARAMS)
    for step in range(40):
        if step == 16:
            state = changed(state, Ending, lambda ending: ending._replace(ended=jnp.int32(16)))
        rate = np.interp(step, [16, 40], [0.5, 0.0])
        assert float(optimizer.rate(step, state)) == pytest.approx(rate, rel=1e-5)
        updates, state = update(gradient, state, PARAMS)
        for leaf in jax.tree.leaves(updates):
            np.testing.assert_allclose(leaf, -rate, rtol=1e-5)
    assert update._cache_size() == 1


@pytest.mark.parametrize("kind", ["constant", "cosine", "wsd"])
def test_a_warmup_rises_from_zero_to_the_peak(kind: str) -> None:
    found = rates({"kind": kind, "warmup": {"epochs": 0.5}}, 0.8, 40)
    np.testing.assert_allclose(found[:6], 0.8 * np.arange(6) / 5, rtol=1e-5)
    assert found.max() <= 0.8 * (1 + 1e-6)
    np.testing.assert_allclose(found[-1], 0.8 if kind == "constant" else 0.0, atol=1e-7)


@pytest.mark.parametrize("total", [1, 5, 9, 100])
@pytest.mark.parametrize("final", [0.0, 0.1, 1.0])
def test_one_cycle_peaks_once_and_ends_at_its_share(final: float, total: int) -> None:
    found = rates({"kind": "one_cycle", "final": final}, 0.5, total)
    np.testing.assert_allclose(found.max(), 0.5, rtol=1e-5)
    np.testing.assert_allclose(found[-1], 0.5 * final, rtol=1e-5, atol=1e-4)
    peak = int(found.argmax())
    assert (np.diff(found[: peak + 1]) > 0).all() and (np.diff(found[peak:]) <= 1e-7).all()


@pytest.mark.parametrize(("total", "cycles"), [(90, 3), (100, 3), (40, 4)])
def test_cycles_rise_to_the_same_peak_and_fall_to_the_same_end(total: int, cycles: int) -> None:
    found = rates({"kind": "one_cycle", "final": 1e-4, "cycles": cycles}, 0.5, total)
    ends = [total * (i + 1) // cycles for i in range(cycles)]
    for start, end in pairwise([0, *ends]):
        alone = rates({"kind": "one_cycle", "final": 1e-4}, 0.5, end - start)
        np.testing.assert_allclose(found[start:end], alone[: end - start], rtol=1e-5)


@pytest.mark.parametrize("kind", ["cosine", "one_cycle", "wsd"])
def test_a_run_of_unknown_length_has_no_falling_schedule(kind: str) -> None:
    with pytest.raises(ValueError, match="needs a length"):
        rates({"kind": kind}, 0.1, None)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_weight_decay_pulls_kernels_alone(spec: Any) -> None:
    optimizer = make_optimizer(spec, REGRESSION, 100, 10)
    zero = jax.tree.map(jnp.zeros_like, PARAMS)
    updates, _ = optimizer.transform.update(zero, optimizer.transform.init(PARAMS), PARAMS)
    rate = float(optimizer.schedule(0))
    for name, leaves in updates.items():
        for symbol, value in leaves.items():
            expected = -rate * 0.1 * PARAMS[name][symbol] if symbol == "kernel" else 0.0
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-9)


def test_which_parameters_decay() -> None:
    assert decayed(PARAMS) == {
        "map_0": {"kernel": True, "bias": False},
        "activation_0": {"coefficients": False},
        "map_1": {"kernel": True, "bias": False},
    }


def trajectory(spec: Any, gradients: list[float]) -> list[float]:
    """A bias's values under these gradients, from 0."""
    transform = make_optimizer(spec, REGRESSION, None, 10).transform
    params: Any = {"map_0": {"bias": jnp.zeros(1)}}
    state, found = transform.init(params), []
    for g in gradients:
        updates, state = transform.update({"map_0": {"bias": jnp.full(1, g)}}, state, params)
        params = optax.apply_updates(params, updates)
        found.append(float(params["map_0"]["bias"][0]))
    return found


def test_descent_with_and_without_momentum() -> None:
    plain = SgdSpec(kind="sgd", learning_rate=0.5)
    np.testing.assert_allclose(trajectory(plain, [1.0, 2.0]), [-0.5, -1.5])
    # Velocities 1 and 0.5 + 2.
    heavy = SgdSpec(kind="sgd", learning_rate=0.5, momentum=0.5)
    np.testing.assert_allclose(trajectory(heavy, [1.0, 2.0]), [-0.5, -1.75])
    # Nesterov looks ahead: 1 + 0.5 * 1, then 2 + 0.5 * 2.5.
    ahead = SgdSpec(kind="sgd", learning_rate=0.5, momentum=0.5, nesterov=True)
    np.testing.assert_allclose(trajectory(ahead, [1.0, 2.0]), [-0.75, -2.375])
    natural = {"schedule": "constant", "learning_rate": 0.5, "momentum": 0.5}
    found = trajectory(NaturalGradientSpec.model_validate(natural), [1.0, 2.0])
    # A step adds the share of its last direction itself, within its bound: here it is kept alone.
    np.testing.assert_allclose(found, [-0.5, -1.5])


def test_adam_by_hand() -> None:
    spec = AdamSpec(kind="adam", learning_rate=0.1, b1=0.5, b2=0.75)
    # Bias-corrected moments: m = g, v = g^2 at first; then m = (0.25 * 1 + 0.5 * 3) / 0.75 and
    # v = (0.1875 * 1 + 0.25 * 9) / 0.4375.
    second = 0.1 * (1.75 / 0.75) / np.sqrt(2.4375 / 0.4375)
    np.testing.assert_allclose(trajectory(spec, [1.0, 3.0]), [-0.1, -0.1 - second], rtol=1e-5)


def test_other_optimizers_by_hand() -> None:
    adamw = AdamWSpec(kind="adamw", learning_rate=0.1, b1=0.5, b2=0.75)
    adam = AdamSpec(kind="adam", learning_rate=0.1, b1=0.5, b2=0.75)
    assert trajectory(adamw, [1.0, 3.0]) == trajectory(adam, [1.0, 3.0])
    # Mean squares 0.5 and 0.25 + 4.5, no correction of the start.
    rms = RmsPropSpec(kind="rmsprop", learning_rate=0.1, decay=0.5)
    steps = np.array([1 / np.sqrt(0.5), 3 / np.sqrt(4.75)])
    np.testing.assert_allclose(trajectory(rms, [1.0, 3.0]), -0.1 * np.cumsum(steps), rtol=1e-5)
    heavy = RmsPropSpec(kind="rmsprop", learning_rate=0.1, decay=0.5, momentum=0.5)
    steps[1] += 0.5 * steps[0]
    np.testing.assert_allclose(trajectory(heavy, [1.0, 3.0]), -0.1 * np.cumsum(steps), rtol=1e-5)
    # The average is 0.5 after the first step: the sign of 0.5 * 0.5 - 0.5 * 1 turns.
    lion = LionSpec(kind="lion", learning_rate=0.1, b1=0.5, b2=0.5)
    np.testing.assert_allclose(trajectory(lion, [1.0, -1.0]), [-0.1, 0.0], atol=1e-7)
    # A bias has Adam, at its share of the rate.
    muon = MuonSpec(kind="muon", learning_rate=1.0, adam_share=0.1, b1=0.5, b2=0.75)
    np.testing.assert_allclose(trajectory(muon, [1.0, 3.0]), trajectory(adam, [1.0, 3.0]))


@pytest.mark.parametrize("shape", [(5, 3), (3, 3, 2, 4)], ids=str)
def test_muon_orthogonalises_kernels_whatever_their_spare_capacity(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    gradient = rng.standard_normal(shape).astype(np.float32)
    room = [(0, 0)] * (len(shape) - 2) + [(0, 2), (0, 3)]
    spec = MuonSpec(kind="muon", learning_rate=1.0, iterations=12)
    transform = make_optimizer(spec, REGRESSION, None, 10).transform

    def step(value: np.ndarray) -> np.ndarray:
        params: Any = {"map_0": {"kernel": jnp.zeros_like(value)}}
        updates, _ = transform.update({"map_0": {"kernel": value}}, transform.init(params), params)
        return -np.asarray(updates["map_0"]["kernel"])

    found = step(gradient)
    u, _, vt = np.linalg.svd(gradient.reshape(-1, shape[-1]), full_matrices=False)
    # Newton-Schulz's polynomial ends within 0.7 and 1.2 of the polar factor's singular values.
    shares = np.diagonal(u.T @ found.reshape(-1, shape[-1]) @ vt.T)
    assert (shares > 0.6).all() and (shares < 1.3).all()
    off = u.T @ found.reshape(-1, shape[-1]) @ vt.T - np.diag(shares)
    np.testing.assert_allclose(off, 0.0, atol=1e-4)
    wide = step(np.pad(gradient, room))
    inside = tuple(slice(size) for size in shape)
    np.testing.assert_allclose(wide[inside], found, atol=1e-5)
    wide[inside] = 0
    assert (wide == 0).all()


def test_what_a_spec_becomes() -> None:
    fast = make_optimizer(NaturalGradientSpec(), CLASSIFICATION, 100, 10)
    assert fast.solver == TrackSettings(0.01, 0.95, 10)
    assert (fast.metric, fast.kl_clip, fast.fixed_input_factor) == ("softmax", 0.1, True)
    paper = NaturalGradientSpec.model_validate({"preset": "paper"})
    slow = make_optimizer(paper, CLASSIFICATION, None, 10)
    assert slow.solver == CgSettings(0.1, 100, 1e-5)
    assert (slow.metric, slow.kl_clip, slow.fixed_input_factor) == ("euclidean", None, False)
    adam = make_optimizer(AdamSpec(kind="adam"), REGRESSION, None, 10)
    assert (adam.solver, adam.metric, adam.kl_clip) == (None, "gaussian", None)


@settings(max_examples=15)
@given(st.floats(1e-6, 1e6), st.floats(1e-4, 1e2), st.floats(1e-6, 1.0))
def test_the_kl_clip(form: float, rate: float, clip: float) -> None:
    scale = float(kl_scale(jnp.float32(form), jnp.float32(rate), clip))
    size = rate**2 * form
    if size <= clip * 0.999:
        assert scale == 1.0
    else:
        # Scaled, lr^2 d^T F d is the bound itself.
        np.testing.assert_allclose(scale**2 * size, min(clip, size), rtol=1e-4)


def test_the_kl_clip_of_nothing() -> None:
    assert float(kl_scale(jnp.float32(0.0), jnp.float32(1.0), 0.01)) == 1.0
    # Round-off may make g^T d, which a DenseNet goes by, negative.
    assert float(kl_scale(jnp.float32(-1e-9), jnp.float32(1.0), 0.01)) == 1.0
    assert np.isnan(kl_scale(jnp.float32(np.nan), jnp.float32(1.0), 0.01)), "a fault stays visible"
