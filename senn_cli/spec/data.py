"""The `data` section: which source, which parts, and how inputs are scaled."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.augment import StepSpec
from senn_cli.spec.base import AlsoAccepts, Integral, Listed, NotNegative, fault
from senn_cli.spec.describe import describe
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
from senn_cli.spec.under import under

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
    normalize_targets: Annotated[bool, under(task="regression")] = Field(
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
    one = not isinstance(value, list | tuple)
    names = [value] if one else value
    if not names or not all(map(_is_column, names)):
        raise fault("should be the name of a column or its number from 1, or a list of these")
    if len(set(names)) < len(names):
        raise fault("should name every column once")
    return value if one else tuple(names)


def _is_column(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value)
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**6


def _some_columns(value: Any) -> Any:
    if value is None:
        return value
    if not isinstance(value, list | tuple):
        raise fault(f"should be a list of columns, found {describe(value)}")
    return _columns(value) if value else ()


def _categories(value: Any) -> Any:
    if value == "auto":
        return value
    if not isinstance(value, list | tuple):
        raise fault(f"should be auto or a list of columns, found {describe(value)}")
    return _some_columns(value)


def _header(value: Any) -> Any:
    if value in ("auto", "none") or (_is_column(value) and not isinstance(value, str)):
        return value
    raise fault(f"should be auto, none or the number of a line from 1, found {describe(value)}")


def _delimiter(value: Any) -> Any:
    if value == "auto" or (isinstance(value, str) and len(value) == 1):
        return value
    raise fault(f"should be auto or a single character, found {describe(value)}")


_Column = Annotated[str, Field(min_length=1)] | Annotated[int, Field(ge=1, le=10**6)]
_Columns = Annotated[tuple[_Column, ...], BeforeValidator(_some_columns)]
_Categories = Annotated[Literal["auto"] | tuple[_Column, ...], BeforeValidator(_categories)]
_Targets = _Column | Annotated[tuple[_Column, ...], Field(min_length=1)]


class CsvSpec(Numbers, _Own):
    """The user's own table, with one or more columns to predict."""

    source: Literal["csv"] = Field(description="A table as text; it may be compressed by gzip.")
    target: Annotated[_Targets, BeforeValidator(_columns)] | None = Field(
        default=None,
        description="The column of the targets by its name or its number from 1, or a list of "
        "columns; the others are inputs. By default the last one where the table has no header.",
    )
    columns: _Columns | None = Field(
        default=None,
        description="The columns to learn from, by name or number; null for all but the targets.",
    )
    drop: _Columns = Field(
        default=(),
        description="Columns that are not learned from, by name or number, such as `[Name, Id]`.",
    )
    categories: _Categories = Field(
        default="auto",
        description="The columns whose values are categories, each of which becomes an input of 0 "
        "or 1; all others must be numbers. `auto` for those with text. Categories are those of the "
        "training part; a value that is not among them has inputs of 0 alone, and a note.",
    )
    missing: Literal["refuse", "drop", "mean", "median", "most_frequent"] = Field(
        default="refuse",
        description="What is done about missing values: an error, leaving the row out, or the "
        "mean, the median or the most frequent value of the column in the training part (of "
        "categories always the most frequent). Empty cells, NA, N/A, nan, null and ? are missing, "
        "among numbers `-` and none, too. Rows without a target are left out unless it is refuse.",
    )
    header: Annotated[
        Literal["auto", "none"] | Annotated[int, Field(ge=1, le=10**6)], BeforeValidator(_header)
    ] = Field(
        default="auto",
        description="The number of the line that names the columns, from 1 (lines before it are "
        "skipped); none where nothing does, so that they are called x1, x2 and so on; `auto` looks "
        "at the first line.",
    )
    delimiter: Annotated[
        Literal["auto"] | Annotated[str, Field(min_length=1, max_length=1)],
        BeforeValidator(_delimiter),
    ] = Field(
        default="auto",
        description='The character between two columns; a tab is written "\\t", and a space stands '
        "for any number of blanks. `auto` finds out.",
    )

    @property
    def fill(self) -> Literal["mean", "median", "most_frequent"] | None:
        """What stands for a missing value; None where none is kept."""
        return None if self.missing == "refuse" or self.missing == "drop" else self.missing


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
