"""Faults between keys of the section `data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from senn_cli.spec.augment import ColorSpec, walk
from senn_cli.spec.data import CsvSpec, MoonsSpec, NpzSpec, RegressionSpec, augmentation
from senn_cli.spec.found import Found
from senn_cli.spec.images import DigitsSpec, FolderSpec

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec


def test_part(spec: Spec) -> Iterator[Found]:
    """The test part comes from one place."""
    if not isinstance(spec.data, NpzSpec | CsvSpec):
        return
    path, others = ("data", "test"), ("data.test_path",)
    if spec.data.test_path is None and spec.data.test == 0:
        yield Found(path, "should not be 0 without data.test_path: a test set is needed", others)
    if spec.data.test_path is not None and spec.data.test != 0:
        yield Found(path, "should be left out when data.test_path names the test set", others)


def validation_part(spec: Spec) -> Iterator[Found]:
    """Something is left to train on."""
    path, validation = ("data", "validation"), spec.data.validation
    if isinstance(spec.data, MoonsSpec | RegressionSpec):
        drawn = spec.data.train
        if isinstance(validation, int) and validation >= drawn:
            yield Found(
                path,
                f"should be below data.train, {drawn}, to leave examples to train on, found "
                f"{validation}",
                ("data.train",),
            )
        return
    # Folders may bring a test set of their own, which makes `test` void.
    test = 0 if isinstance(spec.data, FolderSpec) else getattr(spec.data, "test", 0)
    if isinstance(test, float) and isinstance(validation, float) and test + validation >= 1:
        yield Found(
            path,
            f"should leave something to train on: data.test takes {test:g} and data.validation "
            f"{validation:g}",
            ("data.test",),
        )


def augment_colors(spec: Spec) -> Iterator[Found]:
    """Colours are changed where pixels go to 255."""
    if not isinstance(spec.data, DigitsSpec):
        return
    for path, step in walk(augmentation(spec.data)):
        if isinstance(step, ColorSpec):
            yield Found(
                ("data", "augment", *path),
                "should not be color for digits: their pixels go from 0 to 16, not to 255",
                ("data.source",),
            )
