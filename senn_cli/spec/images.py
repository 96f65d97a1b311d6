"""The sources of images in the `data` section: published sets, and the user's own folders."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from senn_cli.spec.base import Count, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.paths import SpecPath
from senn_cli.spec.share import Part, Some
from senn_cli.spec.sources import Divided, Images, Pixels, Task


class DigitsSpec(Images, Divided):
    """Handwritten digits of 8x8 pixels, 1,797 of them, from scikit-learn; no download."""

    task: ClassVar[Task] = "classification"
    source: Literal["digits"] = Field(description="scikit-learn's handwritten digits.")


class _Idx(Images):
    """Options of a source in the MNIST file format, which has an official test set."""

    task: ClassVar[Task] = "classification"
    root: SpecPath | None = Field(
        default=None,
        description="Directory that holds the idx.gz files; null to take the environment variable "
        "SENN_DATA, or else download them.",
    )


class MnistSpec(_Idx):
    """MNIST: 60,000 handwritten digits of 28x28 pixels and 10,000 for the test."""

    source: Literal["mnist"] = Field(description="Handwritten digits, 28x28 pixels.")


class FashionMnistSpec(_Idx):
    """Fashion-MNIST: 60,000 pictures of clothes of 28x28 pixels and 10,000 for the test."""

    source: Literal["fashion_mnist"] = Field(description="Pictures of clothes, 28x28 pixels.")


class _Archived(Pixels):
    """Options of a published archive of color images, with an official test set."""

    task: ClassVar[Task] = "classification"
    root: SpecPath | None = Field(
        default=None,
        description="Directory that holds the unpacked archive; null to take the environment "
        "variable SENN_DATA, or else download it.",
    )


class Cifar10Spec(_Archived):
    """CIFAR-10: 50,000 color pictures of 32x32 pixels in 10 classes and 10,000 for the test."""

    source: Literal["cifar10"] = Field(description="Color pictures in 10 classes, 32x32 pixels.")


class Cifar100Spec(_Archived):
    """CIFAR-100: 50,000 color pictures of 32x32 pixels in 100 classes and 10,000 for the test."""

    source: Literal["cifar100"] = Field(description="Color pictures in 100 classes, 32x32 pixels.")
    labels: Literal["fine", "coarse"] = Field(
        default="fine", description="The 100 classes, or the 20 groups that they form."
    )


def _some_classes(value: Any) -> Any:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole is None or (isinstance(whole, int) and not isinstance(whole, bool)):
        if whole is not None and not 2 <= whole <= 200:
            raise fault(f"should be a number of classes from 2 to 200, found {describe(whole)}")
        return whole
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise fault(
            "should be a number of classes or a list of names such as `[n01443537, bullfrog]`, "
            f"found {describe(value)}"
        )
    if len(value) < 2 or len(set(value)) < len(value):
        raise fault("should name at least two classes, each once")
    return tuple(value)


class TinyImagenetSpec(_Archived):
    """Tiny-ImageNet: 100,000 pictures of 64x64 pixels in 200 classes; its `val` is the test set."""

    source: Literal["tiny_imagenet"] = Field(
        description="Color pictures in 200 classes, 64x64 pixels."
    )
    classes: Annotated[
        Annotated[int, Field(ge=2, le=200)] | tuple[str, ...] | None, BeforeValidator(_some_classes)
    ] = Field(
        default=None,
        description="Take these classes alone: a number (the first of wnids.txt) or a list of "
        "identifiers or names; null for all.",
    )
    per_class: Count | None = Field(
        default=None,
        description="Read only this many training images of every class; null for all.",
    )


class FolderSpec(Pixels, Divided):
    """The user's own PNG and JPEG images, a folder a class."""

    task: ClassVar[Task] = "classification"
    source: Literal["folder"] = Field(description="Class folders of PNG and JPEG images.")
    path: SpecPath = Field(
        description="The directory, relative to the spec file: class folders, or `train` with "
        "`test` or `val` or both, which hold class folders. `training`, `valid`, `validation`, "
        "`dev` and `testing` are taken as well, in capitals or not."
    )
    test: Some = Field(
        default=0.2,
        description="Part of the data set aside as the test set: a fraction, a percentage or a "
        "number of examples; not used where there is a folder `test` or `val`.",
    )
    validation: Part = Field(
        default=0.1,
        description="Part of the training data held out for validation: a fraction, a percentage "
        "or a number of examples; 0 for none. Where there are folders `test` and `val`, `val` "
        "takes its place.",
    )
