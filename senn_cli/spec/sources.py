"""What the sources of `data` share: parts, scaling, and the form and augmentation of images."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.augment import Augment
from senn_cli.spec.base import Integral, Model, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.paths import SpecPath
from senn_cli.spec.share import Part, Some, UpToAll
from senn_cli.spec.under import under

Task = Literal["classification", "multilabel", "regression"]
"""What the network learns: a class of several, which of several labels hold, or real numbers."""


class Source(Model):
    """Options that every source has."""

    validation: Part = Field(
        default=0.1,
        description="Part of the training data held out for validation: a fraction, a percentage "
        "such as `10%`, or a number of examples; 0 for none.",
    )
    subset: UpToAll | None = Field(
        default=None,
        description="Train on this part of the training data alone (a fraction, a percentage or a "
        "number of examples), class-balanced where there are classes; null for all.",
    )


class Numbers(Source):
    """Options of a source of numbers that are no images."""

    normalize: Literal["auto", "per_feature", "global", "none"] = Field(
        default="auto",
        description="How inputs are shifted and scaled, fitted on the training part: one shift and "
        "scale a feature, one for all features, none, or what suits the source.",
    )


class Divided(Source):
    """Options of a source without an official test set."""

    test: Some = Field(
        default=0.2,
        description="Part of the data set aside as the test set: a fraction, a percentage or a "
        "number of examples.",
    )


class Targeted(Source):
    """Options of a source whose targets are the user's choice."""

    task: Task = Field(
        default="classification",
        description="What targets are: one of several classes, several labels each of which holds "
        "(1) or not (0), or real numbers.",
    )
    normalize_targets: Annotated[bool, under(task="regression")] = Field(
        default=True,
        description="Shift and scale the targets of a regression while training; errors are "
        "reported in the original units.",
    )


class OwnFiles(Divided):
    """Options of the user's own files."""

    path: SpecPath = Field(description="The file, relative to the spec file.")
    test_path: SpecPath | None = Field(
        default=None,
        description="A second file with the test set, relative to the spec file; null to set the "
        "part `test` of the first file aside.",
    )
    test: Part = Field(
        default=0.2,
        description="Part of the data set aside as the test set: a fraction, a percentage or a "
        "number of examples; 0 for none, so that all are learned from, as it is by default with "
        "`test_path`.",
    )

    @model_validator(mode="before")
    @classmethod
    def _no_part_beside_a_file(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("test_path") is not None and "test" not in value:
            return {**value, "test": 0}
        return value


class Images(Source):
    """Options of a source of images."""

    normalize: Literal["auto", "per_channel", "per_feature", "global", "none"] = Field(
        default="auto",
        description="How inputs are shifted and scaled, fitted on the training part before any "
        "augmentation: one shift and scale for all pixels (`global`; `auto` for 8-bit images), one "
        "a color channel, one a pixel and channel (`per_feature`), or none.",
    )
    augment: Augment = Field(
        default=(),
        description="Random changes of the images that are trained on, drawn anew in every step: "
        "a list of steps, or `paper`; validation and test images stay as they are.",
    )


def _channels(value: Any) -> Any:
    if isinstance(value, bool) or value not in (1, 3):
        raise fault(f"should be 1 (gray) or 3 (color), found {describe(value)}")
    return int(value)


_Channels = Annotated[Literal[1, 3], BeforeValidator(_channels)]
_Size = Annotated[int, Field(ge=1, le=4096), Integral]


class Pixels(Images):
    """Options of color images that can be brought to another form."""

    size: _Size | None = Field(
        default=None,
        description="Height and width in pixels: the shorter side of every image is resized to it, "
        "by Pillow's bilinear filter (an average where it shrinks), the middle is cut out; null "
        "for images as they are, which then must be of one size.",
    )
    channels: _Channels = Field(
        default=3, description="3 for color; 1 for gray, 0.299 R + 0.587 G + 0.114 B."
    )
