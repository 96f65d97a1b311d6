"""The `data` section: which source, which parts, and how inputs are scaled."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.base import AlsoAccepts, Listed, Model, Whole, fault
from senn_cli.spec.paths import SpecPath
from senn_cli.spec.share import Part, Some, UpToAll

Task = Literal["classification", "regression"]
"""What the network learns: a class of several, or one or more real numbers."""

_Count = Annotated[Whole, Field(ge=1)]
_Spread = Annotated[float, Field(ge=0)]


class _Source(Model):
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
    normalize: Literal["auto", "per_feature", "global", "none"] = Field(
        default="auto",
        description="How inputs are shifted and scaled, fitted on the training part: one shift and "
        "scale a feature, one for all features, none, or what suits the source.",
    )


class _Divided(_Source):
    """Options of a source without an official test set."""

    test: Some = Field(
        default=0.2,
        description="Part of the data set aside as the test set: a fraction, a percentage or a "
        "number of examples.",
    )


class DigitsSpec(_Divided):
    """Handwritten digits of 8x8 pixels, 1,797 of them, from scikit-learn; no download."""

    task: ClassVar[Task] = "classification"
    source: Literal["digits"] = Field(description="scikit-learn's handwritten digits.")


class MoonsSpec(_Source):
    """Two interleaving half circles in the plane, drawn from the seed."""

    task: ClassVar[Task] = "classification"
    source: Literal["moons"] = Field(description="Two interleaving half circles.")
    train: _Count = Field(default=200, description="Training examples (validation included).")
    test: _Count = Field(default=500, description="Test examples.")
    noise: _Spread = Field(default=0.3, description="Standard deviation of the noise on inputs.")


class RegressionSpec(_Source):
    """A one-dimensional function: the output of a random network of rational neurons."""

    task: ClassVar[Task] = "regression"
    source: Literal["regression"] = Field(description="A random one-dimensional function.")
    train: _Count = Field(default=50, description="Training examples (validation included).")
    test: _Count = Field(default=1000, description="Test examples.")
    noise: _Spread = Field(default=0.0, description="Standard deviation of the noise on targets.")
    hidden: Annotated[tuple[_Count, ...], Listed] = Field(
        default=(16, 16, 16, 16),
        description="Widths of the random network that draws the targets.",
    )


class _Idx(_Source):
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


class _Own(_Divided):
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


class NpzSpec(_Own):
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


class CsvSpec(_Own):
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
    DigitsSpec | MoonsSpec | RegressionSpec | MnistSpec | FashionMnistSpec | NpzSpec | CsvSpec,
    Field(discriminator="source"),
    BeforeValidator(_source),
    AlsoAccepts(
        enum=["digits", "moons", "regression", "mnist", "fashion_mnist"],
        description="The name of a source, all of whose options are as by default.",
    ),
]
"""The `data` section; a text is shorthand for a source without options."""
