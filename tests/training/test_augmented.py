"""Augmentation in training: it changes what is learned from and nothing else, and it resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.model import load_model
from senn_cli.spec import Duration, load_spec, parse_spec
from senn_cli.training.resume import resume_run
from senn_cli.training.run import Run, train_run

SPEC = """
name: images
seed: 3
data:
  source: npz
  path: {path}
  test: 20
  validation: 20
  normalize: global
  augment: {augment}
network: {{kind: mlp, hidden: [5], activation: tanh}}
optimizer: {{kind: adam, learning_rate: 1e-2}}
expansion: {{policy: none}}
training: {{epochs: 4, batch_size: 20, evaluate: {{epochs: 2}}}}
"""


def write(path: Path, x: np.ndarray) -> Path:
    np.savez(path, x=x, y=np.arange(len(x)) % 3)
    return path


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (100, 6, 6, 1), dtype=np.uint8)


def train(folder: Path, x: np.ndarray, augment: str, **options: Any) -> Run:
    path = write(folder / f"{len(list(folder.iterdir()))}.npz", x)
    spec = parse_spec(SPEC.format(path=path, augment=augment))
    return train_run(spec, run_directory=folder / f"run-{path.stem}", **options)


def leaves(run: Run) -> list[np.ndarray]:
    return jax.tree.leaves(run.params)


def test_learning_from_flipped_images_is_learning_from_the_images_flipped(
    tmp_path: Path, images: np.ndarray
) -> None:
    augmented = train(tmp_path, images, "[{kind: flip, probability: 1}]")
    flipped = train(tmp_path, images[:, :, ::-1], "[]")
    untouched = train(tmp_path, images, "[]")
    for a, b, c in zip(leaves(augmented), leaves(flipped), leaves(untouched), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
        assert np.abs(a - c).max() > 1e-3


def test_evaluation_sees_the_images_as_they_are(tmp_path: Path, images: np.ndarray) -> None:
    run = train(tmp_path, images, "[{kind: flip, probability: 1}]")
    model, test = load_model(run.path), load_dataset(load_spec(run.path / "spec.yaml").data, 3).test

    def loss(x: np.ndarray) -> float:
        return float(-np.log(model(x)[np.arange(len(x)), test.y]).mean())

    assert run.summary["test_loss"] == pytest.approx(loss(test.x), rel=1e-4)
    assert run.summary["test_loss"] != pytest.approx(loss(test.x[:, :, ::-1]), rel=1e-3)


def test_an_interrupted_run_sees_the_same_images(tmp_path: Path, images: np.ndarray) -> None:
    augment = "[{kind: flip}, {kind: rotate, degrees: 20}]"
    whole = train(tmp_path, images, augment)
    part = train(tmp_path, images, augment, until=Duration(steps=5))
    rest = resume_run(part.path)
    for a, b in zip(leaves(whole), leaves(rest), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(leaves(whole), leaves(part), strict=True))
