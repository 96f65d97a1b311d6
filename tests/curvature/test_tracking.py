"""What is tracked beside the steps: by hand, with padding, and by rank-one updates."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.tracked import TrackSettings, damped_moment
from senn_cli.curvature.tracked import inverse as tracked_inverse
from senn_cli.curvature.tracking import (
    Tracked,
    Tracking,
    bud_rows,
    initial,
    make_track,
    sizes,
)
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.nets.densenet import initial_parameters
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import map_named, standing
from senn_cli.randomness import key_data
from tests.densenets import architecture, convolved, initial_masks, run, sigma, unit_rows, used_rows

NET = architecture((6, 6, 1), 3, [[(3, 4)], [(2, 4)]], bud=2, pool="mean2s2")
PADDED = architecture((6, 6, 1), 3, [[(3, 6)], [(2, 5)]], bud=2, pool="mean2s2")
TRACKING = Tracking(
    settings=TrackSettings(damping=1e-2, moving_average=0.9, invert_every=1),
    every=4, samples=64, stride=1, vectors=4, slow=0.1,
)  # fmt: skip


def data(examples: int = 64) -> Arrays:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((examples, 36)), rng.integers(0, 3, examples)
    one = np.ones(1, np.float32)
    return Arrays(x.astype(np.float32), y.astype(np.int32), 0 * one, one, 0 * one, one)  # type: ignore[arg-type]


@cache
def tracker(tracking: Tracking) -> Any:
    return jax.jit(make_track(CLASSIFICATION, "softmax", tracking, ()), static_argnums=0)


def looked(
    shape: DenseArchitecture, tracking: Tracking, looks: int, part: Arrays | None = None
) -> list[Tracked]:
    """What is tracked after each of `looks` looks at the network as it is drawn."""
    track = tracker(tracking)
    params, widths = initial_parameters(shape, 0), np.asarray(shape.widths, np.int32)
    state: Any = jax.device_get(initial(shape.shape(), tracking))
    part = data() if part is None else part
    found = []
    for number in range(looks):
        state = jax.device_get(
            track(shape.shape(), state, params, widths, part, key_data(0, "track"),
                  np.int32(4 * number))
        )  # fmt: skip
        found.append(state)
    return found


@pytest.fixture(scope="module")
def small() -> list[Tracked]:
    return looked(NET, TRACKING, 3)


@pytest.fixture(scope="module")
def single() -> Tracked:
    """All examples are the same, so that any sample of them is."""
    part = data(1)
    return looked(NET, TRACKING, 1, part)[0]


def test_sizes_and_rows_by_hand() -> None:
    assert sizes(NET.shape()) == {
        "block_0/layer_0": (9 * (1 + 2), 4),
        "block_1/layer_0": (9 * (4 + 2), 4),
        "head": (1 + 4, 3),
    }
    wire = map_named(NET, "block_1/layer_0")
    used, out = used_rows(wire, NET)
    for channel, rows in enumerate(unit_rows(wire)):
        assert used[rows].all() if channel < 3 else not used[rows].any()
        assert bud_rows(wire)[rows].all() if channel >= 4 else not bud_rows(wire)[rows].any()
    assert out.tolist() == [True, True, False, False]
    used, out = used_rows(map_named(NET, "head"), NET)
    assert used.tolist() == [True, True, True, False, False] and out.all()
    assert not bud_rows(map_named(NET, "head")).any()


def test_the_rate_of_buds_reaches_as_far_back_in_steps() -> None:
    assert TRACKING.bud_rate == pytest.approx(1 - 0.9**4)
    assert replace(TRACKING, slow=1e-3, every=10).bud_rate == pytest.approx(0.00995511979)


def test_one_look_at_one_example_by_hand(single: Tracked) -> None:
    params, masks, x = initial_parameters(NET, 0), initial_masks(NET), np.asarray(data(1).x)
    z = run(NET, params, masks, x)[1]
    image = x.reshape(1, 6, 6, 1)
    bud = sigma("silu", convolved(image, params["block_0/bud_0"]["input"]))
    read = np.concatenate([image, bud], axis=3)
    around = np.pad(read, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [around[:, i : i + 6, j : j + 6] for i in range(3) for j in range(3)]
    rows = np.stack(taps, axis=3).reshape(36, -1)
    found = single.factors.maps["block_0/layer_0"].a
    np.testing.assert_allclose(found.moment, rows.T @ rows, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found.ages, 1)
    # The head reads means over positions of all channels, dormant ones too, pooled before.
    h = sigma("silu", z["block_1/layer_0"])
    mean = h.reshape(1, 3, 3, 4)
    pooled = np.zeros((1, 2, 2, 4))
    for i in range(2):
        for j in range(2):
            pooled[:, i, j] = mean[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean((1, 2))
    a = np.concatenate([[1.0], pooled.mean((0, 1, 2))])
    np.testing.assert_allclose(
        single.factors.maps["head"].a.moment, np.outer(a, a), rtol=1e-4, atol=1e-6
    )


def test_looks_are_averaged_row_by_row(small: list[Tracked]) -> None:
    one = looked(NET, replace(TRACKING, settings=replace(TRACKING.settings, moving_average=0.0)), 3)
    decay = 0.9
    weights = np.array([decay**2, decay, 1.0]) / (1 + decay + decay**2)
    for name, pair in small[-1].factors.maps.items():
        for side in ("a", "s"):
            alone = [getattr(seen.factors.maps[name], side).moment for seen in one]
            expected = sum(w * m for w, m in zip(weights, alone, strict=True))
            mine = getattr(pair, side)
            np.testing.assert_allclose(
                mine.moment, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max() + 1e-12
            )
            np.testing.assert_array_equal(mine.ages, 3)
    assert int(small[-1].factors.seen) == 3


def test_inverses_are_those_of_the_damped_used_blocks(small: list[Tracked]) -> None:
    for wire in standing(NET):
        pair = small[-1].factors.maps[wire.name]
        masks = used_rows(wire, NET)
        for side, mask in zip(pair, masks, strict=True):
            where = np.flatnonzero(mask)
            np.testing.assert_array_equal(side.used, mask)
            block = np.asarray(side.moment, float)[np.ix_(where, where)]
            wanted = np.linalg.inv(block + float(side.ridge) * np.eye(len(where)))
            found = np.asarray(tracked_inverse(TRACKING.settings, side))
            np.testing.assert_allclose(
                found[np.ix_(where, where)], wanted, atol=2e-3 * np.abs(wanted).max()
            )
            assert not found[~mask].any() and not found[:, ~mask].any()
        # The two shares of the damping multiply to all of it.
        assert float(pair.a.ridge * pair.s.ridge) == pytest.approx(1e-2, rel=1e-4)


def test_padding_changes_no_factor_of_rows_in_use(small: list[Tracked]) -> None:
    wide = looked(PADDED, TRACKING, 1)[0]
    thin = small[0]
    for mine, theirs in zip(standing(NET), standing(PADDED), strict=True):
        places = []
        for wire in (mine, theirs):
            groups, start, kept = unit_rows(wire), 0, []
            for source in wire.sources:
                count = (
                    source.feature.capacity
                    if source.feature.role == "bud"
                    else source.feature.width
                )
                kept.append(groups[start : start + count])
                start += source.feature.capacity
            rows = np.concatenate(kept).ravel()
            places.append(np.concatenate([[0], rows]) if wire.target.role == "outputs" else rows)
        small_a, wide_a = (
            np.asarray(seen.factors.maps[wire.name].a.moment)[np.ix_(place, place)]
            for seen, wire, place in zip((thin, wide), (mine, theirs), places, strict=True)
        )
        np.testing.assert_allclose(wide_a, small_a, rtol=1e-4, atol=1e-5 * small_a.max())
        # Nothing flows back to what is not in use, and the noise of the rest is the same.
        small_s, wide_s = (
            np.asarray(seen.factors.maps[wire.name].s.moment)[: mine.columns, : mine.columns]
            for seen, wire in ((thin, mine), (wide, theirs))
        )
        np.testing.assert_allclose(wide_s, small_s, rtol=1e-3, atol=1e-4 * small_s.max())
        s = np.asarray(wide.factors.maps[theirs.name].s.moment)
        assert not s[theirs.target.width :].any() and not s[:, theirs.target.width :].any()
    np.testing.assert_allclose(
        wide.factors.maps["head"].s.moment, thin.factors.maps["head"].s.moment, rtol=1e-4, atol=1e-6
    )


def test_looks_show_the_gradients_of_buds_alone(small: list[Tracked]) -> None:
    for number, state in enumerate(small):
        assert state.slow is not None
        for wire in standing(NET):
            rows = bud_rows(wire)
            ages = state.slow.ages[wire.name]
            # Looks take turns, as steps do.
            np.testing.assert_array_equal(ages[0], np.where(rows, (number + 2) // 2, 0))
            np.testing.assert_array_equal(ages[1], np.where(rows, (number + 1) // 2, 0))
            assert not np.asarray(state.slow.averages[wire.name])[:, ~rows].any()
            if rows.any():
                assert np.abs(state.slow.averages[wire.name][0][rows]).max() > 0


def test_without_scores_there_are_no_gradients() -> None:
    state = initial(NET.shape(), replace(TRACKING, slow=None))
    assert state.slow is None
    assert state.factors.maps.keys() == sizes(NET.shape()).keys()


def test_rank_one_inverses_are_within_their_tolerance() -> None:
    settings = replace(TRACKING.settings, method="rank_one", damping=0.1, tolerance=0.3)
    tracking = replace(TRACKING, settings=settings)
    for state in looked(NET, tracking, 4)[-2:]:
        for pair in state.factors.maps.values():
            for side in pair:
                where = np.flatnonzero(side.used)
                damped = np.asarray(damped_moment(settings, side), float)[np.ix_(where, where)]
                root = np.asarray(side.solver, float)[np.ix_(where, where)]
                error = np.abs(root.T @ damped @ root - np.eye(len(where))).max()
                assert error <= 0.3 + 1e-3
                # L L^T against the dense inverse, in the norm that the tolerance bounds.
                dense = np.linalg.inv(damped)
                half = np.linalg.cholesky(damped)
                off = half.T @ (root @ root.T - dense) @ half
                assert np.linalg.norm(off, 2) <= len(where) * (0.3 + 1e-3)
                found = np.asarray(tracked_inverse(settings, side))
                np.testing.assert_allclose(
                    found[np.ix_(where, where)],
                    root @ root.T,
                    rtol=1e-3,
                    atol=1e-5 * abs(found).max(),
                )
        assert any(np.asarray(p.a.solver).any() for p in state.factors.maps.values())


def test_a_look_is_a_function_of_key_and_step(small: list[Tracked]) -> None:
    track = tracker(TRACKING)
    params, widths = initial_parameters(NET, 0), jnp.asarray(NET.widths, jnp.int32)
    state = small[0]

    def look(seed: int, step: int) -> np.ndarray:
        found = track(NET.shape(), state, params, widths, data(), key_data(seed, "track"),
                      np.int32(step))  # fmt: skip
        return np.asarray(found.factors.maps["head"].s.moment)

    np.testing.assert_array_equal(look(0, 3), look(0, 3))
    assert (look(0, 3) != look(0, 4)).any() and (look(0, 3) != look(1, 3)).any()
