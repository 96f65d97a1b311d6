"""Scores of a DenseNet from what is tracked: by dense solves, their noise, and after edits."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.sides import Pair, Side, TrackState
from senn_cli.curvature.slow import SlowGradient
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import (
    Tracked,
    Tracking,
    initial,
    make_track,
    observe_step,
)
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import CLASSIFICATION, loss_and_gradient
from senn_cli.growth.carry import carried
from senn_cli.growth.edits import Edit, Enlarge, PromoteBud
from senn_cli.growth.tracked_scores import TrackedScores, tracked_scores
from senn_cli.nets.densenet import initial_parameters
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import Map, standing
from senn_cli.nets.leaves import joined
from senn_cli.nets.registry import outputs as outputs_of
from senn_cli.randomness import key_data
from senn_cli.training.network import TrainState
from tests.densenets import architecture, initial_masks, random_parameters, unit_rows, used_rows

NET = architecture((5, 5, 1), 2, [[(2, 3), (1, 2)], [(2, 3)]], bud=1)
# No moving average: the inverses below are those of the moments as they are.
TRACKING = Tracking(
    settings=TrackSettings(damping=1e-2, moving_average=0.0, invert_every=1),
    every=1, samples=256, stride=1, vectors=2, slow=0.05,
)  # fmt: skip

scored = jax.jit(tracked_scores, static_argnums=(0, 1))


def listed(values: Any, role: str = "hidden") -> list[np.ndarray]:
    """What belongs to hidden layers, or to the buds before them, in order."""
    return [np.asarray(v) for n, v in sorted(values.items()) if ("bud" in n) == (role == "bud")]


def spd(rng: np.random.Generator, size: int) -> np.ndarray:
    x = rng.standard_normal((3 * size, size)) @ (
        np.eye(size) + 0.3 * rng.standard_normal((size,) * 2)
    )
    return x.T @ x / (3 * size)


class Case:
    """Random factors and gradients of all maps of NET, in double precision."""

    def __init__(self, seed: int, ridge: float = 0.2, plain: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.ridge = ridge
        self.params = random_parameters(rng, NET, initial_masks(NET))
        self.a, self.s, self.used, self.outputs = {}, {}, {}, {}
        self.gradients: dict[str, np.ndarray] = {}
        for wire in standing(NET):
            used, outputs = used_rows(wire, NET)
            n_a, n_s = len(used), len(outputs)
            self.a[wire.name] = np.diag(rng.uniform(0.5, 2, n_a)) if plain else spd(rng, n_a)
            self.s[wire.name] = spd(rng, n_s)
            self.used[wire.name], self.outputs[wire.name] = used, outputs
            gradients = rng.standard_normal((2, n_a, n_s))
            # Nothing flows back to outputs that are not in use.
            self.gradients[wire.name] = gradients * outputs

    def state(self, gradients: Any = None) -> Tracked:
        maps, ages = {}, {}
        for name, a in self.a.items():
            sides = []
            for moment, mask in ((a, self.used[name]), (self.s[name], self.outputs[name])):
                where = np.flatnonzero(mask)
                inverse = np.zeros_like(moment)
                block = moment[np.ix_(where, where)] + self.ridge * np.eye(len(where))
                inverse[np.ix_(where, where)] = np.linalg.inv(block)
                old = jnp.full(len(mask), 50, jnp.int32)
                sides.append(
                    Side(
                        moment=jnp.asarray(moment),
                        ages=old,
                        solver=jnp.asarray(inverse),
                        used=jnp.asarray(mask),
                        ridge=jnp.asarray(self.ridge),
                    )
                )
            maps[name] = Pair(*sides)
            ages[name] = jnp.full((2, len(a)), 50, jnp.int32)
        averages = self.gradients if gradients is None else gradients
        slow = SlowGradient(jax.tree.map(jnp.asarray, averages), ages)
        return Tracked(TrackState(jnp.int32(50), maps), slow)

    def scores(self, gradients: Any = None) -> TrackedScores:
        widths = jnp.asarray(NET.widths, jnp.int32)
        found: TrackedScores = scored(
            NET.shape(), TRACKING, self.state(gradients), self.params, widths
        )
        return found


def dense(case: Case, wire: Map, rows: np.ndarray) -> tuple[float, float, float]:
    """Theorem 2's bound for unused `rows`; removal cost and change of loss for used ones."""
    name = wire.name
    a = case.a[name] + case.ridge * np.eye(len(case.a[name]))
    out = np.flatnonzero(case.outputs[name])
    s = case.s[name][np.ix_(out, out)] + case.ridge * np.eye(len(out))
    one, two = (g[:, out] for g in case.gradients[name])
    used = np.flatnonzero(case.used[name])
    if not case.used[name][rows[0]]:
        residuals = [
            g[rows] - a[np.ix_(rows, used)] @ np.linalg.solve(a[np.ix_(used, used)], g[used])
            for g in (one, two)
        ]
        inner = residuals[0] @ np.linalg.solve(s, residuals[1].T)
        return float(np.trace(np.linalg.solve(a[np.ix_(rows, rows)], inner))), 0.0, 0.0
    others = np.setdiff1d(used, rows)
    w = np.asarray(joined(wire, case.params[name]), float)[rows][:, out]
    share = np.linalg.solve(a[np.ix_(others, others)], a[np.ix_(others, rows)])
    schur = a[np.ix_(rows, rows)] - a[np.ix_(rows, others)] @ share
    residuals = [g[rows] - share.T @ g[others] - schur @ w @ s for g in (one, two)]
    inner = residuals[0] @ np.linalg.solve(s, residuals[1].T)
    cost = float(np.trace(np.linalg.solve(schur, inner)))
    mean = 0.5 * (one + two)
    first = float(np.sum((mean[rows] - share.T @ mean[others]) * w))
    return 0.0, cost, -first + 0.5 * float(np.sum(w * (schur @ w @ s)))


@pytest.fixture(scope="module")
def double() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_sums_of_dense_solves_over_the_maps_that_read(double: None, seed: int) -> None:
    case = Case(seed)
    found = case.scores()
    expected = {
        what: [np.zeros(h.capacity) for h in NET.hidden] for what in ("gains", "costs", "changes")
    }
    buds = [np.zeros(NET.bud) for _ in NET.hidden]
    for wire in standing(NET):
        groups, start = unit_rows(wire), 0
        for source in wire.sources:
            for channel in range(source.feature.capacity):
                gain, cost, change = dense(case, wire, groups[start + channel])
                if source.feature.role == "hidden":
                    expected["gains"][source.feature.index][channel] += gain
                    expected["costs"][source.feature.index][channel] += cost
                    expected["changes"][source.feature.index][channel] += change
                elif source.feature.role == "bud":
                    buds[source.feature.index][channel] += gain
            start += source.feature.capacity
        used, out = (np.flatnonzero(x[wire.name]) for x in (case.used, case.outputs))
        a = case.a[wire.name][np.ix_(used, used)] + case.ridge * np.eye(len(used))
        s = case.s[wire.name][np.ix_(out, out)] + case.ridge * np.eye(len(out))
        one, two = (g[np.ix_(used, out)] for g in case.gradients[wire.name])
        eta = np.sum(np.linalg.solve(a, one) @ np.linalg.inv(s) * two)
        assert float(found.etas[wire.name]) == pytest.approx(eta, rel=1e-8)
    for what, arrays in expected.items():
        for index, array in enumerate(arrays):
            np.testing.assert_allclose(
                listed(getattr(found, what))[index], array, rtol=1e-7, atol=1e-9, err_msg=what
            )
    for index, array in enumerate(buds):
        np.testing.assert_allclose(listed(found.gains, "bud")[index], array, rtol=1e-7)
    for index, layer in enumerate(NET.hidden):
        mine = np.arange(layer.capacity) < layer.width
        assert not listed(found.gains)[index][mine].any()
        assert not listed(found.costs)[index][~mine].any()
        assert (listed(found.errors)[index][~mine] > 0).all()


def test_errors_are_the_standard_deviations_of_gains_that_are_noise(double: None) -> None:
    # dW = A^(1/2) noise S^(1/2) / sqrt(N), with the damped A and S: white, where A is diagonal.
    case = Case(5, plain=True)
    draws, examples = 1500, 40
    rng = np.random.default_rng(6)
    noise = {}
    for name, a in case.a.items():
        out = case.outputs[name]
        left = np.sqrt(np.diag(a) + case.ridge)
        s = (case.s[name] + case.ridge * np.eye(len(out))) * np.outer(out, out)
        s[~out, ~out] = 1.0
        right = np.linalg.cholesky(s)
        white = rng.standard_normal((draws, 2, len(a), len(out)))
        noise[name] = left[:, None] * (white @ right.T) * out / np.sqrt(examples)
    state = case.state()
    widths = jnp.asarray(NET.widths, jnp.int32)

    def one(gradients: Any) -> TrackedScores:
        slow = state.slow
        assert slow is not None
        mine = state._replace(slow=slow._replace(averages=gradients))
        return tracked_scores(NET.shape(), TRACKING, mine, case.params, widths)

    found: Any = jax.jit(jax.vmap(one))(noise)
    checked = 0
    for name in found.gains:
        gain, error = np.asarray(found.gains[name]), np.asarray(found.errors[name])
        for channel in range(gain.shape[1]):
            mine = gain[:, channel]
            if not mine.any():
                continue
            checked += 1
            deviation = mine.std()
            assert abs(mine.mean()) < 4 * deviation / np.sqrt(draws)
            # Products of normal variables have long tails: a standard deviation of 1500 draws
            # is good to some 5 percent.
            assert deviation == pytest.approx(error[:, channel].mean(), rel=0.2)
    assert checked == sum(NET.capacities) - sum(NET.widths) + len(NET.hidden) * NET.bud
    for name, eta in found.etas.items():
        deviation, error = np.std(eta), float(np.mean(found.eta_errors[name]))
        assert abs(np.mean(eta)) < 4 * deviation / np.sqrt(draws)
        assert deviation == pytest.approx(error, rel=0.2), name


# What edits do to scores.

WIDE = architecture((6, 6, 1), 3, [[(3, 6)], [(3, 6)]], bud=2)
LONG = Tracking(
    settings=TrackSettings(damping=1e-2, moving_average=0.95, invert_every=1),
    every=1, samples=256, stride=1, vectors=2, slow=0.02,
)  # fmt: skip
LOOKS = 30


class Seen:
    """WIDE, looked at for long; the same data for whatever it becomes."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 3, 256)
        patterns = rng.standard_normal((3, 36))
        x = patterns[labels] + rng.standard_normal((256, 36))
        one = np.ones(1, np.float32)
        host: Any = (x.astype(np.float32), labels.astype(np.int32), 0 * one, one, 0 * one, one)
        self.data = Arrays(*host)
        self.track = jax.jit(make_track(CLASSIFICATION, "softmax", LONG, ()), static_argnums=0)
        self.params = initial_parameters(WIDE, 0)
        state = jax.device_get(initial(WIDE.shape(), LONG))
        self.state: Any = self.looked(WIDE, self.params, state, range(LOOKS))

    def looked(self, shape: DenseArchitecture, params: Any, state: Any, looks: Any) -> Any:
        """What is tracked after more looks and as many steps with all data in each."""
        widths = jnp.asarray(shape.widths, jnp.int32)
        gradient = _gradient(shape.shape(), params, widths, self.data.x, self.data.y)
        key = key_data(0, "track")
        for look in looks:
            for step in (2 * look, 2 * look + 1):
                state = _averaged(shape.shape(), LONG, state, gradient, jnp.int32(step))
            state = self.track(shape.shape(), state, params, widths, self.data, key, np.int32(look))
        return state

    def scores(self, shape: DenseArchitecture, params: Any, state: Any) -> TrackedScores:
        widths = jnp.asarray(shape.widths, jnp.int32)
        found = scored(shape.shape(), LONG, state, params, widths)
        return jax.device_get(found)  # type: ignore[no-any-return]


def _mean_gradient(shape: Any, params: Any, widths: Any, x: Any, y: Any) -> Any:
    def loss(params: Any) -> jax.Array:
        outputs = outputs_of(shape, params, x, widths)
        return jnp.mean(loss_and_gradient(CLASSIFICATION, outputs, y)[0])

    return jax.grad(loss)(params)


_gradient = jax.jit(_mean_gradient, static_argnums=0)
_averaged = jax.jit(observe_step, static_argnums=(0, 1))


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


EDITS: tuple[Edit, ...] = (Enlarge(0, 9, 0, 5), PromoteBud(1, 0, 5, capacity=4))


@pytest.mark.parametrize("edit", EDITS, ids=lambda e: e.name)
def test_after_an_edit_and_one_look_scores_are_what_they_were_and_new_ones_of_their_size(
    seen: Seen, edit: Edit
) -> None:
    before = seen.scores(WIDE, seen.params, seen.state)
    start: Any = TrainState(np.int32(0), seen.params, (), jax.device_get(seen.state))  # type: ignore[arg-type]
    new, shape = carried(start, WIDE, edit, natural=False, settings=LONG.settings)
    state = seen.looked(shape, new.params, new.curvature, [LOOKS])
    after = seen.scores(shape, new.params, state)
    # Scores after a long time: the same data for thirty more looks.
    late = seen.scores(shape, new.params, seen.looked(shape, new.params, state,
                                                      range(LOOKS + 1, 2 * LOOKS)))  # fmt: skip
    promoted = isinstance(edit, PromoteBud)
    assert isinstance(edit, Enlarge | PromoteBud)
    old_at = [0, 2] if promoted else [0, 1]
    for old, index in enumerate(old_at):
        for what in ("gains", "costs"):
            mine = listed(getattr(after, what))[index][:6]
            theirs = listed(getattr(before, what))[old]
            if promoted and old == 0:
                # The layer behind reads the new one too, which can stand in for some of it.
                assert (mine <= 1.1 * theirs).all() and mine.max() > 0.3 * theirs.max(), what
                continue
            np.testing.assert_allclose(mine, theirs, rtol=0.1, atol=0.03 * mine.max(), err_msg=what)
    eta, raised = (sum(map(float, found.etas.values())) for found in (before, after))
    if promoted:  # Theorem 2: by as much as its best channel at least
        assert raised > eta + 0.9 * np.max(listed(before.gains, "bud")[1])
    else:
        assert raised == pytest.approx(eta, rel=0.1)
    # Old buds.
    kept = [0] if promoted else [0, 1]
    was, now, later = (listed(found.gains, "bud") for found in (before, after, late))
    for index in kept:
        np.testing.assert_allclose(now[index], was[index], rtol=0.1, atol=0.03 * was[index].max())
    if promoted:
        fresh = listed(after.gains)[1][2:], listed(late.gains)[1][2:]
        # The bud before the new layer is read by that alone, which nothing reads yet.
        assert not np.any(now[1])
        brand_new = [2]
    else:
        fresh = listed(after.gains)[0][6:], listed(late.gains)[0][6:]
        brand_new = []
    median, expected = np.median(fresh[0]), np.median(fresh[1])
    assert expected / 3 < median < 3 * expected
    for index in brand_new:
        # A bud that a single look has shown has no second gradient yet: no score, or a fair one.
        assert now[index].max() < 3 * later[index].max()
        assert later[index].max() > 0
