"""Faults between keys of the section `data`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from senn_cli.spec.augment import ColorSpec, walk
from senn_cli.spec.data import MoonsSpec, RegressionSpec, augmentation
from senn_cli.spec.found import Found
from senn_cli.spec.images import DigitsSpec, FolderSpec
from senn_cli.spec.sources import OwnFiles
from senn_cli.spec.tables import HuggingfaceSpec, SklearnSpec

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec


def test_part(spec: Spec) -> Iterator[Found]:
    """The test part comes from one place."""
    if not isinstance(spec.data, OwnFiles):
        return
    path, others = ("data", "test"), ("data.test_path",)
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
    # These may bring a test set of their own, which makes `test` void.
    test = (
        0 if isinstance(spec.data, FolderSpec | HuggingfaceSpec) else getattr(spec.data, "test", 0)
    )
    if isinstance(test, float) and isinstance(validation, float) and test + validation >= 1:
        yield Found(
            path,
            f"should leave something to train on: data.test takes {test:g} and data.validation "
            f"{validation:g}",
            ("data.test",),
        )


def one_origin(spec: Spec) -> Iterator[Found]:
    """A set is named in one way, and options are of that way."""
    if isinstance(spec.data, SklearnSpec):
        ways, second, option = ("name", "openml"), "openml", "version"
    elif isinstance(spec.data, HuggingfaceSpec):
        ways, second, option = ("path", "name"), "name", "config"
    else:
        return
    named = [way for way in ways if getattr(spec.data, way) is not None]
    others = tuple(f"data.{way}" for way in ways)
    if not named:
        told = f"is missing, or data.{ways[1]}: which of the data sets is meant?"
        yield Found(("data", ways[0]), told, others)
    elif len(named) == 2:
        yield Found(("data", ways[1]), f"should be left out beside data.{ways[0]}", others)
    elif named[0] != second and getattr(spec.data, option) is not None:
        told = f"should be left out: it goes with data.{second}"
        yield Found(("data", option), told, (f"data.{second}",))


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
