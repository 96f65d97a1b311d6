from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature import rank_one, sides
from senn_cli.curvature import tracked as tr
from senn_cli.curvature.averages import average
from senn_cli.curvature.kronecker import spectrum
from senn_cli.curvature.sides import Pair, TrackState
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.growth import moments, score
from tests.dense import close, double

SETTINGS = TrackSettings(damping=0.02, moving_average=0.75, invert_every=1)
ROOTS = TrackSettings(0.02, 0.9, 1, "rank_one", 0.4)
USED_A = np.array([True, False, True, True, False])
USED_S = np.array([True, True, False])
NAMES = ("first", "second")
SIZES = dict.fromkeys(NAMES, (5, 3))
MASKS = dict.fromkeys(NAMES, (jnp.asarray(USED_A), jnp.asarray(USED_S)))

update = jax.jit(tr.update, static_argnums=0)
update_rank_one = jax.jit(tr.update_rank_one, static_argnums=0)


@pytest.fixture(autouse=True, scope="module")
def _float64() -> Iterator[None]:
    yield from double()


def moment(rng: np.random.Generator, n: int) -> np.ndarray:
    x = rng.standard_normal((2 * n, n))
    return x.T @ x / (2 * n)


def batches(count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [{name: (moment(rng, 5), moment(rng, 3)) for name in NAMES} for _ in range(count)]


def run(
    settings: TrackSettings, given: list[dict[str, Any]], masks: Any = MASKS, sizes: Any = SIZES
) -> list[TrackState]:
    """The states after each batch."""
    state, found = sides.initial_state(sizes, jnp.float64), []
    for batch in given:
        state = update(settings, state, batch, masks)
        found.append(state)
    return found


def dense_inverses(a: np.ndarray, s: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """The damped inverses of factors without unused rows (Martens and Grosse, section 6.3)."""
    pi = np.sqrt(np.trace(a) / len(a) / (np.trace(s) / len(s)))
    root = np.sqrt(damping)
    return (
        np.linalg.inv(a + pi * root * np.eye(len(a))),
        np.linalg.inv(s + root / pi * np.eye(len(s))),
    )


def used_block(matrix: Any, used: np.ndarray) -> np.ndarray:
    """The used block of a matrix that is zero around it."""
    matrix = np.asarray(matrix)
    assert not matrix[~used].any() and not matrix[:, ~used].any()
    return matrix[np.ix_(used, used)]


def check_inverses(settings: TrackSettings, pair: Pair, tolerance: float) -> None:
    """The inverses are those of the compact moments, damped by the number of used rows."""
    a = np.asarray(pair.a.moment)[np.ix_(USED_A, USED_A)]
    s = np.asarray(pair.s.moment)[np.ix_(USED_S, USED_S)]
    expected = dense_inverses(a, s, settings.damping)
    for side, used, matrix in zip(pair, (USED_A, USED_S), expected, strict=True):
        close(used_block(tr.inverse(settings, side), used), matrix, tolerance)


def test_averages_weigh_a_batch_by_its_age_over_all_rows() -> None:
    given = batches(7)
    states = run(SETTINGS, given)
    for name in NAMES:
        for side in (0, 1):
            each = [b[name][side] for b in given]
            found = [np.asarray(s.maps[name][side].moment) for s in states]
            for k in range(1, 8):
                weights = 0.75 ** np.arange(k)[::-1]
                expected = np.average(each[:k], axis=0, weights=weights)
                np.testing.assert_allclose(found[k - 1], expected, rtol=1e-10)
    assert [int(s.seen) for s in states] == list(range(1, 8))


def test_inverses_are_those_of_the_compact_used_blocks() -> None:
    for state in run(SETTINGS, batches(3)):
        for pair in state.maps.values():
            check_inverses(SETTINGS, pair, 1e-12)


@pytest.mark.parametrize(("growth", "anew"), [(1.05, False), (1.5, True)])
def test_the_inverse_of_a_wide_exact_factor_is_kept_while_its_damping_is_near(
    growth: float, anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tr, "WIDE", 5)
    rng = np.random.default_rng(2)
    fixed, s = moment(rng, 5), moment(rng, 3)
    everything = {"first": (jnp.ones(5, bool), jnp.ones(3, bool))}
    exact = {"first": spectrum(jnp.asarray(fixed))}
    update = jax.jit(tr.update, static_argnums=0)  # traced with this size
    begun = sides.initial_state({"first": (5, 3)}, jnp.float64)
    settings = TrackSettings(damping=0.02, moving_average=0.0, invert_every=1)
    first = update(settings, begun, {"first": (fixed, s)}, everything, exact=exact)
    # pi falls with the root of the trace of S, and with it the damping of A.
    later = update(settings, first, {"first": (fixed, growth**2 * s)}, everything, exact=exact)
    for state, of_s, of_a in ((first, s, s), (later, growth**2 * s, growth**2 * s if anew else s)):
        a, _ = dense_inverses(fixed, of_a, settings.damping)
        _, inverse = dense_inverses(fixed, of_s, settings.damping)
        close(state.maps["first"].a.solver, a, 1e-10)
        close(state.maps["first"].s.solver, inverse, 1e-10)


def test_what_unused_rows_hold_is_invisible() -> None:
    given = batches(3)
    rng = np.random.default_rng(9)
    loud = [
        {
            n: (np.where(np.outer(USED_A, USED_A), a, 1e3 * moment(rng, 5)), s)
            for n, (a, s) in b.items()
        }
        for b in given
    ]
    compact = [
        {n: (a[np.ix_(USED_A, USED_A)], s[np.ix_(USED_S, USED_S)]) for n, (a, s) in b.items()}
        for b in given
    ]
    full = dict.fromkeys(NAMES, (jnp.ones(3, bool), jnp.ones(2, bool)))
    small = run(SETTINGS, compact, full, dict.fromkeys(NAMES, (3, 2)))[-1]
    for large in (run(SETTINGS, given)[-1], run(SETTINGS, loud)[-1]):
        for name in NAMES:
            for side, used in ((0, USED_A), (1, USED_S)):
                ours, theirs = large.maps[name][side], small.maps[name][side]
                close(used_block(ours.solver, used), theirs.solver, 1e-12)
                close(
                    used_block(tr.damped_moment(SETTINGS, ours), used),
                    tr.damped_moment(SETTINGS, theirs),
                    1e-12,
                )
                assert float(ours.ridge) == pytest.approx(float(theirs.ridge), rel=1e-12)


def test_inverses_are_made_every_so_many_updates_and_when_the_masks_change() -> None:
    settings = TrackSettings(0.02, 0.75, 3)
    given = batches(6)
    states = run(settings, given)
    for before, after, number in zip(states, states[1:], range(1, 6), strict=False):
        same = bool(jnp.all(before.maps["first"].a.solver == after.maps["first"].a.solver))
        assert same is (number % 3 != 0)
    more = {**MASKS, "second": (jnp.ones(5, bool), jnp.asarray(USED_S))}
    after = update(settings, states[0], given[1], more)
    np.testing.assert_array_equal(after.maps["second"].a.used, True)
    whole = np.asarray(after.maps["second"].a.moment) + float(
        after.maps["second"].a.ridge
    ) * np.eye(5)
    close(after.maps["second"].a.solver, np.linalg.inv(whole), 1e-12)


@pytest.mark.parametrize("settings", [SETTINGS, ROOTS])
def test_precondition_is_the_inverse_of_the_kronecker_product(settings: TrackSettings) -> None:
    pair = run(SETTINGS, batches(1))[0].maps["first"]
    g = np.random.default_rng(3).standard_normal((5, 3))
    a, s = (np.asarray(tr.damped_moment(settings, side)) for side in pair)
    rows = np.ix_(USED_A, USED_S)
    fisher = np.kron(a[np.ix_(USED_A, USED_A)], s[np.ix_(USED_S, USED_S)])
    expected = np.zeros((5, 3))
    expected[rows] = np.linalg.solve(fisher, g[rows].ravel()).reshape(3, 2)
    if settings.method == "rank_one":
        roots = [rank_one.inverse_root(tr.damped_moment(settings, x), x.used) for x in pair]
        pair = Pair(*(x._replace(solver=r) for x, r in zip(pair, roots, strict=True)))
    np.testing.assert_allclose(tr.precondition(settings, pair, g), expected, atol=1e-12)


def sample_stream(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample vectors of both factors, `size` a batch."""
    rng = np.random.default_rng(2)
    mix_a, mix_s = rng.standard_normal((5, 5)), 0.5 * rng.standard_normal((3, 3))
    return (
        rng.standard_normal((count, size, 5)) @ mix_a,
        rng.standard_normal((count, size, 3)) @ mix_s,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_roots_follow_the_damped_factors(dtype: Any) -> None:
    settings = TrackSettings(0.02, 0.98, 5, "rank_one", 0.5)
    a, s = sample_stream(200, 2)
    state = sides.initial_state({"map": (5, 3)}, dtype)
    masks = {"map": MASKS["first"]}
    deviations = []
    for k in range(200):
        samples = {"map": (jnp.asarray(a[k], dtype), jnp.asarray(s[k], dtype))}
        state = update_rank_one(settings, state, samples, masks, jax.random.key(k))
        if k % 5 == 0:  # just checked
            pair = state.maps["map"]
            for side in pair:
                assert side.solver.dtype == side.moment.dtype == dtype
                error = rank_one.error(side.solver, tr.damped_moment(settings, side), side.used)
                deviations.append(float(error))
    # Never beyond the tolerance, and mostly not made anew: then the error would be round-off.
    assert max(deviations) <= 0.5
    assert np.mean(np.array(deviations) > 1e-4) > 0.5
    expected = np.zeros((5, 5))
    for k in range(200):
        keep = 0.98 * (1 - 0.98**k) / (1 - 0.98 ** (k + 1))
        expected = keep * expected + (1 - keep) * a[k].T @ a[k] / 2
    close(state.maps["map"].a.moment, expected, 1e-5)


def test_damping_by_noise_keeps_roots_bounded_where_no_sample_ever_points() -> None:
    settings = TrackSettings(0.5, 0.98, 10_000, "rank_one", 0.5)
    state = sides.initial_state({"map": (5, 3)}, jnp.float64)
    masks = {"map": (jnp.ones(5, bool), jnp.ones(3, bool))}
    a, s = sample_stream(300, 8)
    a[:, :, 4] = s[:, :, 2] = 0.0
    for k in range(300):
        state = update_rank_one(settings, state, {"map": (a[k], s[k])}, masks, jax.random.key(k))
    for side in state.maps["map"]:
        # Without the noise L's entry there would have grown by 0.98^-150, and the error to 400.
        found = float(tr.inverse(settings, side)[-1, -1])
        assert found == pytest.approx(1 / float(side.ridge), rel=0.5)


def test_roots_are_exact_right_after_a_change_of_masks() -> None:
    a, s = sample_stream(4, 3)
    settings = TrackSettings(0.02, 0.9, 1000, "rank_one", 0.5)
    state = sides.initial_state({"map": (5, 3)}, jnp.float64)
    masks = {"map": MASKS["first"]}
    for k in range(3):
        state = update_rank_one(settings, state, {"map": (a[k], s[k])}, masks, jax.random.key(k))
    wider = {"map": (jnp.ones(5, bool), jnp.asarray(USED_S))}
    state = update_rank_one(settings, state, {"map": (a[3], s[3])}, wider, jax.random.key(3))
    side = state.maps["map"].a
    close(tr.inverse(settings, side), np.linalg.inv(tr.damped_moment(settings, side)), 1e-10)


def test_a_new_row_counts_in_full_at_its_first_batch() -> None:
    given = batches(5)
    state = run(SETTINGS, given[:4])[-1]
    rows = jnp.array([False, True, False, False, False])
    pair = state.maps["first"]
    new = pair._replace(a=sides.renewed(pair.a, rows))
    assert not np.asarray(new.a.moment)[1].any() and int(new.a.ages[1]) == 0
    after = update(SETTINGS, state._replace(maps={**state.maps, "first": new}), given[4], MASKS)
    found, batch = np.asarray(after.maps["first"].a.moment), given[4]["first"][0]
    old = np.asarray(pair.a.moment)
    np.testing.assert_allclose(found[1], batch[1], rtol=1e-12)
    np.testing.assert_allclose(found[:, 1], batch[:, 1], rtol=1e-12)
    others = np.ix_([0, 2, 3, 4], [0, 2, 3, 4])
    keep = 0.75 * (1 - 0.75**4) / (1 - 0.75**5)
    np.testing.assert_allclose(found[others], (keep * old + (1 - keep) * batch)[others], rtol=1e-10)
    np.testing.assert_array_equal(after.maps["first"].a.ages, [5, 1, 5, 5, 5])


def test_moved_rows_keep_their_statistics_and_their_inverse() -> None:
    side = run(SETTINGS, batches(3))[-1].maps["first"].a
    # Two new rows, one before all others and one between them.
    place = np.array([-1, 0, 1, -1, 2, 3, 4])
    found = sides.moved(side, place)
    kept = place >= 0
    for before, after in ((side.moment, found.moment), (side.solver, found.solver)):
        np.testing.assert_array_equal(np.asarray(after)[np.ix_(kept, kept)], before)
        assert not np.asarray(after)[~kept].any() and not np.asarray(after)[:, ~kept].any()
    np.testing.assert_array_equal(found.ages, [0, 3, 3, 0, 3, 3, 3])
    np.testing.assert_array_equal(found.used, [0, 1, 0, 0, 1, 1, 0])
    # Back again; an unused row may go.
    back = sides.moved(found, np.array([1, 4, 5]))
    np.testing.assert_array_equal(back.solver, np.asarray(side.solver)[np.ix_(USED_A, USED_A)])
    assert np.asarray(back.used).all()


def test_taking_a_used_row_away_makes_the_inverse_anew_at_the_next_update() -> None:
    settings = TrackSettings(0.02, 0.75, 1000)
    given = batches(3)
    state = run(settings, given[:2])[-1]
    keep = np.array([0, 1, 2, 4])  # row 3 was in use
    pair = state.maps["first"]
    maps = {"first": pair._replace(a=sides.moved(pair.a, keep))}
    a, s = given[2]["first"]
    masks = {"first": (jnp.asarray(USED_A[keep]), jnp.asarray(USED_S))}
    after = update(
        settings, state._replace(maps=maps), {"first": (a[np.ix_(keep, keep)], s)}, masks
    )
    side = after.maps["first"].a
    used = np.asarray(side.used)
    np.testing.assert_array_equal(used, [True, False, True, False])
    block = np.asarray(tr.damped_moment(settings, side))[np.ix_(used, used)]
    close(used_block(side.solver, used), np.linalg.inv(block), 1e-12)


def test_scores_of_unused_features_are_right_straight_after_padding() -> None:
    """Batches that all say the same: what is tracked must not depend on when a row began."""
    settings = TrackSettings(0.02, 0.99, 1)
    rng = np.random.default_rng(4)
    a, s, dw = moment(rng, 5), moment(rng, 3), rng.standard_normal((5, 3))
    used = np.array([True, True, False, False, False])
    groups, all_s = np.arange(5)[:, None], jnp.ones(3, bool)
    first, second = np.arange(3), np.array([0, 1, 2, -1, -1])

    def masks(count: int) -> Any:
        return {"map": (jnp.asarray(used[:count]), all_s)}

    def advance(state: TrackState, gradient: Any, count: int, n: int) -> tuple[TrackState, Any]:
        for _ in range(n):
            batch = {"map": (a[:count, :count], s)}
            state = update(settings, state, batch, masks(count))
            pair = state.maps["map"]
            gradient = average(gradient, dw[:count], pair.a.ages, pair.s.ages, 0.99)
        return state, gradient

    def scores(state: TrackState, gradient: Any, rows: Any) -> np.ndarray:
        consumer = moments.of_tracked(settings, state.maps["map"], gradient)
        return np.asarray(jax.jit(score.gains)(consumer, rows).lower)

    whole = advance(sides.initial_state({"map": (5, 3)}, jnp.float64), jnp.zeros((5, 3)), 5, 150)
    expected = scores(*whole, groups)
    assert expected[2:].min() > 0

    state, gradient = advance(
        sides.initial_state({"map": (3, 3)}, jnp.float64), jnp.zeros((3, 3)), 3, 150
    )
    before = scores(state, gradient, groups[first])
    pair = state.maps["map"]
    padded = state._replace(maps={"map": pair._replace(a=sides.moved(pair.a, second))})
    wide = jnp.asarray(np.where((second >= 0)[:, None], np.asarray(gradient)[second], 0.0))
    # Before the first batch the new ones score nothing and the others what they did.
    now = scores(padded, wide, groups)
    np.testing.assert_allclose(now[:3], before, rtol=1e-12)
    np.testing.assert_array_equal(now[3:], 0.0)
    # After one batch all score what they would have without padding.
    after = scores(*advance(padded, wide, 5, 1), groups)
    np.testing.assert_allclose(after, expected, rtol=1e-9)


def test_factors_that_vanish_leave_everything_finite_in_float32() -> None:
    with jax.enable_x64(False):
        state = sides.initial_state({"map": (4, 2)})
        zero = {"map": (jnp.zeros((4, 4)), jnp.zeros((2, 2)))}
        masks = {"map": (jnp.array([True, True, False, False]), jnp.zeros(2, bool))}
        state = update(SETTINGS, state, zero, masks)
        samples = {"map": (jnp.zeros((1, 4)), jnp.zeros((1, 2)))}
        roots = sides.initial_state({"map": (4, 2)})
        roots = update_rank_one(ROOTS, roots, samples, masks, jax.random.key(0))
        for leaf in jax.tree.leaves((state, roots)):
            assert leaf.dtype in (jnp.float32, jnp.int32, bool) and np.isfinite(leaf).all()


def test_what_is_inverted_is_definite_whatever_the_ages() -> None:
    """Activations that change from batch to batch, and rows that are born at different times."""
    settings = TrackSettings(1e-6, 0.9, 1)
    rng = np.random.default_rng(5)
    state = sides.initial_state({"map": (6, 2)}, jnp.float64)
    masks = {"map": (jnp.ones(6, bool), jnp.ones(2, bool))}
    least = []
    for k in range(40):
        x = rng.standard_normal((3, 6)) @ rng.standard_normal((6, 6)) * np.exp(rng.normal())
        batch = {"map": (jnp.asarray(x.T @ x / 3), jnp.eye(2))}
        if k % 3 == 0:
            pair = state.maps["map"]
            born = jnp.asarray(np.arange(6) == rng.integers(6))
            state = state._replace(maps={"map": pair._replace(a=sides.renewed(pair.a, born))})
        state = update(settings, state, batch, masks)
        side = state.maps["map"].a
        found = np.asarray(tr.consistent(settings, side))
        np.testing.assert_allclose(np.diag(found), np.diag(side.moment), rtol=1e-12)
        assert np.linalg.eigvalsh(found).min() > -1e-6 * np.trace(found)
        least.append(np.linalg.eigvalsh(side.moment).min() / np.trace(found))
    # Without it, the moments really are indefinite at times.
    assert min(least) < -1e-3
    for _ in range(300):
        state = update(settings, state, batch, masks)
    side = state.maps["map"].a
    np.testing.assert_allclose(tr.consistent(settings, side), side.moment, rtol=1e-6)
