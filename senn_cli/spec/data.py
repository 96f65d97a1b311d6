"""The `data` section: which source, which parts, and how inputs are scaled."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from senn_cli.spec.augment import StepSpec
from senn_cli.spec.base import AlsoAccepts, Integral, Listed, NotNegative
from senn_cli.spec.images import (
    Cifar10Spec,
    Cifar100Spec,
    DigitsSpec,
    FashionMnistSpec,
    FolderSpec,
    MnistSpec,
    TinyImagenetSpec,
)
from senn_cli.spec.sources import Images, Numbers, OwnFiles, Targeted, Task
from senn_cli.spec.tables import CsvSpec, HuggingfaceSpec, ParquetSpec, SklearnSpec

_Drawn = Annotated[int, Field(ge=1, le=10_000_000), Integral]
_Drawing = Annotated[
    tuple[Annotated[int, Field(ge=1, le=512), Integral], ...], Field(max_length=20), Listed
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


class NpzSpec(Images, Targeted, OwnFiles):
    """The user's own arrays in a NumPy `.npz` file."""

    source: Literal["npz"] = Field(description="Arrays in a NumPy .npz file.")
    inputs: str = Field(default="x", description="Name of the array of inputs, one row an example.")
    targets: str = Field(default="y", description="Name of the array of targets.")
    weights: str | None = Field(
        default=None,
        description="Name of an array that says how much every example counts; null for all alike.",
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
    | CsvSpec
    | ParquetSpec
    | SklearnSpec
    | HuggingfaceSpec,
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
