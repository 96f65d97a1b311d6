"""The `data` section: which source, which parts, and how inputs are scaled."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.augment import StepSpec
from senn_cli.spec.base import AlsoAccepts, Integral, Listed, NotNegative, fault
from senn_cli.spec.images import (
    Cifar10Spec,
    Cifar100Spec,
    DigitsSpec,
    FashionMnistSpec,
    FolderSpec,
    MnistSpec,
    TinyImagenetSpec,
)
from senn_cli.spec.paths import SpecPath
from senn_cli.spec.share import Part
from senn_cli.spec.sources import Divided, Images, Numbers, Task

_Drawn = Annotated[int, Field(ge=1, le=100_000_000), Integral]
_Drawing = Annotated[
    tuple[Annotated[int, Field(ge=1, le=4096), Integral], ...], Field(max_length=100), Listed
]


class MoonsSpec(Numbers):
    """Two interleaving half circles in the plane, drawn from the seed."""

    task: ClassVar[Task] = "classification"
    source: Literal["moons"] = Field(description="Two interleaving half circles.")
    train: _Drawn = Field(default=200, description="Training examples (validation included).")
    test: _Drawn = Field(default=500, description="Test examples.")
    noise: NotNegative = Field(
        default=0.3, description="Standard deviation of the noise on inputs."
    )


class RegressionSpec(Numbers):
    """A one-dimensional function: the output of a random network of rational neurons."""

    task: ClassVar[Task] = "regression"
    source: Literal["regression"] = Field(description="A random one-dimensional function.")
    train: _Drawn = Field(default=50, description="Training examples (validation included).")
    test: _Drawn = Field(default=1000, description="Test examples.")
    noise: NotNegative = Field(
        default=0.0, description="Standard deviation of the noise on targets."
    )
    hidden: _Drawing = Field(
        default=(16, 16, 16, 16),
        description="Widths of the random network that draws the targets.",
    )


class _Own(Divided):
    """Options of the user's own files."""

    path: SpecPath = Field(description="The file, relative to the spec file.")
    test_path: SpecPath | None = Field(
        default=None,
        description="A second file with the test set, relative to the spec file; null to set the "
        "part `test` of the first file aside.",
    )
    # Zero is allowed here, as `test_path` leaves nothing to set aside.
    test: Part = Field(
        default=0.2,
        description="Part of the data set aside as the test set: a fraction, a percentage or a "
        "number of examples; it is 0 when `test_path` is given.",
    )
    task: Task = Field(
        default="classification",
        description="Whether targets are classes or real numbers.",
    )
    normalize_targets: bool = Field(
        default=True,
        description="Shift and scale the targets of a regression while training; errors are "
        "reported in the original units.",
    )

    @model_validator(mode="before")
    @classmethod
    def _no_part_beside_a_file(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("test_path") is not None and "test" not in value:
            return {**value, "test": 0}
        return value


class NpzSpec(Images, _Own):
    """The user's own arrays in a NumPy `.npz` file."""

    source: Literal["npz"] = Field(description="Arrays in a NumPy .npz file.")
    inputs: str = Field(default="x", description="Name of the array of inputs, one row an example.")
    targets: str = Field(default="y", description="Name of the array of targets.")


def _columns(value: Any) -> Any:
    names = value if isinstance(value, list | tuple) else [value]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise fault("should be the name of a column, or a list of names")
    if len(set(names)) < len(names):
        raise fault("should name every column once")
    return value if isinstance(value, str) else tuple(names)


class CsvSpec(Numbers, _Own):
    """The user's own table with a header line and one or more target columns."""

    source: Literal["csv"] = Field(description="A table as text, with a header line.")
    target: Annotated[str | tuple[str, ...], BeforeValidator(_columns)] = Field(
        description="The column of the targets, or a list of columns; all others are inputs."
    )
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        default=",", description='The character between two columns; a tab is written "\\t".'
    )


def _source(value: Any) -> Any:
    return {"source": value} if isinstance(value, str) else value


DataSpec = Annotated[
    DigitsSpec
    | MoonsSpec
    | RegressionSpec
    | MnistSpec
    | FashionMnistSpec
    | Cifar10Spec
    | Cifar100Spec
    | TinyImagenetSpec
    | FolderSpec
    | NpzSpec
    | CsvSpec,
    Field(discriminator="source"),
    BeforeValidator(_source),
    AlsoAccepts(
        enum=[
            "digits",
            "moons",
            "regression",
            "mnist",
            "fashion_mnist",
            "cifar10",
            "cifar100",
            "tiny_imagenet",
        ],
        description="The name of a source, all of whose options are as by default.",
    ),
]
"""The `data` section; a text is shorthand for a source without options."""


def augmentation(data: DataSpec) -> tuple[StepSpec, ...]:
    """The steps of `data.augment`; empty for a source that is no image source."""
    steps: tuple[StepSpec, ...] = getattr(data, "augment", ())
    return steps
