"""Augmentation against NumPy, PIL and mathematics; probabilities within binomial bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from senn_cli.data import augment as module
from senn_cli.data.augment import (
    Affine,
    augment,
    color,
    flip,
    resample,
    rotation,
    scaling,
    translation,
)
from senn_cli.spec import parse_spec
from senn_cli.spec.augment import StepSpec
from senn_cli.spec.data import augmentation

KEY = jax.random.key(7)
apply = jax.jit(augment, static_argnums=0)


@partial(jax.jit, static_argnums=1)
def seen(images: jax.Array, make: Callable[[jax.Array], Affine], value: jax.Array) -> jax.Array:
    """Images through the map that `make` makes of `value`."""
    return resample(images.astype(jnp.float32), make(value))


def steps(text: str) -> tuple[StepSpec, ...]:
    """The steps of `data.augment` as a user writes them."""
    return augmentation(
        parse_spec(f"data: {{source: cifar10, augment: {text}}}\nnetwork: mlp\n").data
    )


def pictures(count: int = 4, height: int = 9, width: int = 9, channels: int = 3) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.integers(1, 256, (count, height, width, channels), dtype=np.uint8)


def run(text: str, images: Any, key: Any = KEY) -> np.ndarray:
    return np.asarray(apply(steps(text), images, key))


def same(count: int) -> jax.Array:
    return jnp.ones(count)


# What changes nothing


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "[{kind: flip, probability: 0}]",
        "[{kind: rotate, degrees: 0, probability: 1}]",
        "[{kind: rotate, degrees: 90, probability: 0}]",
        "[{kind: scale, low: 1, high: 1, probability: 1}]",
        "[{kind: pad, to: 1}, crop]",
        "[{kind: color, saturation: [1, 1], contrast: [1, 1], brightness: 0, probability: 1}]",
        "[{kind: color, probability: 0}]",
        "[{kind: some, share: 0, apply: [{kind: flip, probability: 1}, pad, crop, color]}]",
        "[{kind: rotate, degrees: 0, probability: 1}, {kind: scale, low: 1, high: 1,"
        " probability: 1}, {kind: color, saturation: [1, 1], contrast: [1, 1], brightness: 0,"
        " probability: 1}]",
    ],
)
def test_identity_parameters_change_no_bit(text: str) -> None:
    images = pictures(5, 32, 9)
    changed = run(text, images)
    assert changed.dtype == np.float32
    assert np.array_equal(changed, images.astype(np.float32))


def test_a_saturation_of_one_keeps_every_float_pixel() -> None:
    # gray + s (x - gray) would round most of them.
    images = jnp.asarray(np.random.default_rng(1).uniform(0, 255, (3, 16, 16, 3)), jnp.float32)
    assert np.array_equal(jax.jit(color)(images, same(3), same(3), 0 * same(3)), images)


# Geometry


def test_flip_mirrors_columns() -> None:
    images = pictures()
    assert np.array_equal(run("[{kind: flip, probability: 1}]", images), images[:, :, ::-1])
    mixed = np.asarray(seen(images, flip, jnp.array([1, 0, 1, 0], bool)))
    assert np.array_equal(mixed[0], images[0, :, ::-1])
    assert np.array_equal(mixed[1], images[1])


@pytest.mark.parametrize(("turns", "side"), [(1, 8), (1, 9), (2, 8), (3, 9)])
def test_quarter_turns_are_anticlockwise_about_the_centre(turns: int, side: int) -> None:
    images = pictures(2, side, side)
    angle = jnp.full(2, turns * np.pi / 2)
    turned = np.asarray(seen(images, rotation, angle))
    # cos(pi / 2) is 4e-8 in float32, so a border pixel may reach over the edge by that much.
    np.testing.assert_allclose(turned, np.rot90(images, turns, axes=(1, 2)), atol=1e-3)


@pytest.mark.parametrize("angle", [0.2, -0.5])
def test_a_rotation_agrees_with_pillow(angle: float) -> None:
    rows, columns = np.mgrid[0:32, 0:32]
    smooth = 128 + 100 * np.sin(rows / 6) * np.cos(columns / 5)
    turned = np.asarray(seen(smooth[None, ..., None], rotation, jnp.array([angle])))[0, ..., 0]
    image = Image.fromarray(smooth.astype(np.float32))
    expected = np.asarray(image.rotate(np.rad2deg(angle), Image.Resampling.BILINEAR))
    inside = np.hypot(rows - 15.5, columns - 15.5) < 14
    np.testing.assert_allclose(turned[inside], expected[inside], atol=0.5)


@pytest.mark.parametrize("factor", [0.6, 0.8, 1.2, 2.0])
@pytest.mark.parametrize("shape", [(9, 9), (8, 12)])
def test_scaling_is_about_the_centre(factor: float, shape: tuple[int, int]) -> None:
    half = np.random.default_rng(0).uniform(0, 255, shape)
    pattern = half + half[::-1] + half[:, ::-1] + half[::-1, ::-1]
    images = jnp.asarray(pattern[None, ..., None], jnp.float32)
    scaled = np.asarray(seen(images, scaling, jnp.array([factor])))[0, ..., 0]
    np.testing.assert_allclose(scaled, scaled[::-1], atol=1e-2)
    np.testing.assert_allclose(scaled, scaled[:, ::-1], atol=1e-2)


def test_scaling_moves_a_ramp_by_its_factor() -> None:
    ramp = (np.arange(11, dtype=np.float32) - 5)[None, None, :, None] * np.ones((1, 11, 1, 1))
    larger = np.asarray(seen(ramp, scaling, jnp.array([2.0])))
    np.testing.assert_allclose(larger[0, 5, :, 0], (np.arange(11) - 5) / 2, atol=1e-5)
    smaller = np.asarray(seen(ramp, scaling, jnp.array([0.5])))
    assert smaller[0, 5, :, 0].tolist() == [0, 0, 0, -4, -2, 0, 2, 4, 0, 0, 0]


@pytest.mark.parametrize("shift", [(0, 0), (3, -2), (-4, 4), (20, 0)])
def test_a_crop_is_a_translation_with_black_behind(shift: tuple[int, int]) -> None:
    images = pictures(1)
    moved = seen(images, translation, jnp.array([shift], jnp.float32))
    border = 20
    canvas = np.pad(images, ((0, 0), (border, border), (border, border), (0, 0)))
    top, left = border + shift[0], border + shift[1]
    assert np.array_equal(moved, canvas[:, top : top + 9, left : left + 9])


@pytest.mark.parametrize(
    ("to", "height", "width"), [(2.0, 6, 6), (1.5, 6, 8), (2.0, 5, 5), (1.3, 7, 7)]
)
def test_crops_are_the_windows_of_the_padded_image(to: float, height: int, width: int) -> None:
    image = pictures(1, height, width)[0]
    count = 2000
    crops = run(f"[{{kind: pad, to: {to}}}, crop]", np.stack([image] * count))
    rooms = (round(to * height) - height, round(to * width) - width)
    before = [(room // 2, room - room // 2) for room in rooms]
    canvas = np.pad(image, (*before, (0, 0)))
    windows = {
        canvas[i : i + height, j : j + width].astype(np.float32).tobytes(): (i, j)
        for i in range(rooms[0] + 1)
        for j in range(rooms[1] + 1)
    }
    # Windows that show nothing but the border look alike; at these sizes there is none.
    assert len(windows) == (rooms[0] + 1) * (rooms[1] + 1)
    found = np.array([windows[crop.tobytes()] for crop in crops])
    for axis, room in enumerate(rooms):
        counts = np.bincount(found[:, axis], minlength=room + 1)
        share = 1 / (room + 1)
        assert abs(counts - count * share).max() < 5 * np.sqrt(count * share * (1 - share))
        assert len(counts) == room + 1


def test_composed_steps_equal_the_steps_one_after_another() -> None:
    rows, columns = np.mgrid[0:33, 0:33]
    blob = np.exp(-((rows - 14) ** 2 + (columns - 18) ** 2) / 20) * 200
    images = jnp.asarray(blob[None, ..., None], jnp.float32)
    maps = [
        flip(jnp.array([True])),
        rotation(jnp.array([0.3])),
        scaling(jnp.array([1.2])),
        translation(jnp.array([[2.0, -3.0]])),
    ]
    one_by_one = images
    composed: Affine | None = None
    for each in maps:
        one_by_one = resample(one_by_one, each)
        composed = each if composed is None else composed.then(each)
    assert composed is not None
    # Linear interpolation errs by an eighth of the curvature, here 20 in both directions: by 5 at
    # most, in each of the two resamplings more that do not land on whole pixels.
    np.testing.assert_allclose(resample(images, composed), one_by_one, atol=10)
    peak = np.unravel_index(np.asarray(resample(images, composed))[0, ..., 0].argmax(), (33, 33))
    # By hand: the peak (-2, 2) from the centre is flipped to (-2, -2), turned anticlockwise by 0.3
    # to (-1.320, -2.502), scaled to (-1.584, -3.002); the window moves by (2, -3).
    assert abs(peak[0] - (16 - 1.584 - 2)) < 1
    assert abs(peak[1] - (16 - 3.002 + 3)) < 1


def test_values_stay_in_range() -> None:
    images = np.random.default_rng(2).integers(0, 256, (200, 12, 12, 3), dtype=np.uint8)
    changed = run("paper", images)
    assert np.isfinite(changed).all()
    assert changed.min() >= 0
    assert changed.max() <= 255 + 1e-3


# Color


def test_colors_by_hand() -> None:
    pixel = np.array([100.0, 50.0, 200.0])
    other = np.array([20.0, 30.0, 40.0])
    image = jnp.asarray(np.stack([pixel, other])[None, None], jnp.float32)  # (1, 1, 2, 3)
    luma = np.array([0.299, 0.587, 0.114])
    one, zero = jnp.ones(1), jnp.zeros(1)

    gray = np.asarray(color(image, zero, one, zero))[0, 0]
    np.testing.assert_allclose(gray[0], pixel @ luma, rtol=1e-5)
    strong = np.asarray(color(image, 1.2 * one, one, zero))[0, 0]
    np.testing.assert_allclose(strong[0], pixel @ luma + 1.2 * (pixel - pixel @ luma), rtol=1e-5)

    flat = np.asarray(color(image, one, zero, zero))[0, 0]
    mean = (pixel @ luma + other @ luma) / 2
    np.testing.assert_allclose(flat - pixel + (pixel - mean), 0 * flat + (flat - mean), atol=1e-3)
    np.testing.assert_allclose(flat, mean, rtol=1e-5)

    np.testing.assert_allclose(color(image, one, one, 0.1 * one)[0, 0, 0], pixel + 25.5, rtol=1e-5)
    assert np.asarray(color(image, one, one, one)).tolist() == [[[[255.0] * 3] * 2]]
    assert np.asarray(color(image, one, one, -one)).tolist() == [[[[0.0] * 3] * 2]]


def test_gray_images_have_no_saturation_and_colors_keep_their_channels() -> None:
    gray = pictures(3, channels=1)
    text = "[{kind: color, saturation: [0, 0], contrast: [1, 1], brightness: 0, probability: 1}]"
    assert np.array_equal(run(text, gray), gray)
    colored = run(text, pictures(3))
    np.testing.assert_allclose(colored[..., 0], colored[..., 2], atol=1e-3)


def test_drawn_color_factors_are_within_their_bounds() -> None:
    count = 2000
    image = np.zeros((count, 1, 2, 1), np.uint8)
    image[:, 0, 1] = 100  # mean 50: contrast c gives 50 - 50 c and 50 + 50 c
    text = "[{kind: color, contrast: [0.5, 0.9], brightness: 0, probability: 1}]"
    changed = run(text, image)[:, 0, :, 0]
    factors = (changed[:, 1] - changed[:, 0]) / 100
    assert 0.5 <= factors.min() < 0.51
    assert 0.89 < factors.max() <= 0.9 + 1e-6
    # The mean of a uniform variable, to five standard errors.
    assert abs(factors.mean() - 0.7) < 5 * 0.4 / np.sqrt(12 * count)


# Randomness


def test_the_same_key_gives_the_same_images_and_another_key_others() -> None:
    images = pictures(16)
    assert np.array_equal(run("paper", images), run("paper", images))
    assert not np.array_equal(run("paper", images), run("paper", images, jax.random.key(8)))


def test_every_image_has_its_own_draws() -> None:
    copies = np.stack([pictures(1, 16, 16)[0]] * 32)
    for text in (
        "[{kind: rotate, probability: 1}]",
        "[{kind: scale, probability: 1}]",
        "[pad, crop]",
        "[{kind: color, probability: 1}]",
    ):
        changed = run(text, copies).reshape(32, -1)
        assert len(np.unique(changed, axis=0)) >= 28


def test_draws_of_a_step_do_not_depend_on_the_parameters_of_another() -> None:
    images = pictures(32)
    unturned = run("[{kind: rotate, degrees: 0, probability: 0.5}, flip]", images)
    assert np.array_equal(
        unturned, run("[{kind: rotate, degrees: 0, probability: 0.9}, flip]", images)
    )
    assert 4 < sum(not np.array_equal(a, b) for a, b in zip(unturned, images, strict=True)) < 28


def within(found: int, count: int, share: float) -> bool:
    """Whether a count is within five standard deviations of a binomial's mean."""
    return abs(found - count * share) < 5 * np.sqrt(count * share * (1 - share)) + 1e-9


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("[flip]", 0.5),
        ("[{kind: flip, probability: 0.1}]", 0.1),
        ("[{kind: rotate, degrees: 30, probability: 0.3}]", 0.3),
        ("[{kind: scale, low: 0.5, high: 0.6, probability: 0.7}]", 0.7),
        ("[{kind: color, brightness: 0.9, probability: 0.3}]", 0.3),
        ("[{kind: some, share: 0.3, apply: [{kind: flip, probability: 1}]}]", 0.3),
        ("[{kind: some, share: 0.5, apply: [{kind: flip, probability: 0.5}]}]", 0.25),
        # Two flips that fall on the same image undo each other.
        ("[{kind: flip, probability: 0.5}, {kind: flip, probability: 0.5}]", 0.5),
        ("[{kind: some, share: 1, apply: [flip, flip]}]", 0.5),
    ],
)
def test_shares_of_changed_images(text: str, share: float) -> None:
    count = 4000
    images = pictures(count, 5, 5, 1)
    changed = (run(text, images) != images).any(axis=(1, 2, 3))
    assert within(int(changed.sum()), count, share)


def test_the_paper_s_shares() -> None:
    count = 4000
    image = pictures(1, 12, 12)[0]
    changed = run("paper", np.stack([image] * count))
    plain = (changed == image).all(axis=(1, 2, 3))
    mirrored = (changed == image[:, ::-1]).all(axis=(1, 2, 3))
    # Half of the images go through the other steps; of those few end as the plain picture: no turn,
    # no scaling, no color (0.7 each) and one of the 13 x 13 windows.
    least = 0.5 + 0.5 * 0.7**3 / 169
    assert within(int((plain | mirrored).sum()), count, least)
    assert within(int(plain.sum()), count, least / 2)


def test_a_group_applies_all_of_its_steps_or_none() -> None:
    count = 1000
    image = pictures(1, 6, 6, 1)[0]
    text = (
        "[{kind: some, share: 0.4, apply: [{kind: flip, probability: 1}, {kind: color, "
        "saturation: [1, 1], contrast: [0, 0], brightness: 0, probability: 1}]}]"
    )
    changed = run(text, np.stack([image] * count))
    flat = np.ptp(changed.reshape(count, -1), axis=1) < 1e-3
    plain = (changed == image).all(axis=(1, 2, 3))
    assert (flat ^ plain).all()
    assert within(int(flat.sum()), count, 0.4)


def test_angles_reach_their_bound_in_both_directions() -> None:
    # A bright pixel straight above the centre tells the angle by where its weight goes.
    count = 500
    image = np.zeros((count, 41, 41, 1), np.uint8)
    image[:, 4:7, 19:22] = 200  # at 15 pixels above the centre
    turned = run("[{kind: rotate, degrees: 20, probability: 1}]", image)[..., 0]
    weight = turned / turned.sum(axis=(1, 2), keepdims=True)
    row = (weight.sum(axis=2) * np.arange(41)).sum(axis=1) - 20
    column = (weight.sum(axis=1) * np.arange(41)).sum(axis=1) - 20
    angles = np.rad2deg(np.arctan2(-column, -row))
    assert -20.3 < angles.min() < -18.5
    assert 18.5 < angles.max() < 20.3
    assert abs(angles.mean()) < 5 * 40 / np.sqrt(12 * count)


def test_grayscale_arrays_without_a_channel_axis() -> None:
    images = pictures(6, channels=1)
    assert np.array_equal(run("paper", images)[..., 0], run("paper", images[..., 0]))


def test_one_compilation_serves_all_keys() -> None:
    traced = []

    def counted(text: tuple[StepSpec, ...], images: Any, key: Any) -> Any:
        traced.append(text)
        return module.augment(text, images, key)

    compiled = jax.jit(counted, static_argnums=0)
    for seed in range(3):
        # Parsed again: equal specs are one static argument.
        compiled(steps("paper"), pictures(), jax.random.key(seed))
    assert len(traced) == 1
