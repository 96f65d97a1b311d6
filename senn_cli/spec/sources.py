"""What the sources of `data` share: parts, scaling, and the form and augmentation of images."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from senn_cli.spec.augment import Augment
from senn_cli.spec.base import Integral, Model, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.share import Part, Some, UpToAll

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
