"""The sources of tables in the `data` section: which columns are learnt from, which predicted."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.base import fault
from senn_cli.spec.describe import describe
from senn_cli.spec.paths import SpecPath
from senn_cli.spec.sources import Divided, Images, Numbers, OwnFiles, Targeted


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


class TableSpec(Targeted):
    """Options of every table, with one or more columns to predict."""

    source: str
    target: Annotated[_Targets, BeforeValidator(_columns)] | None = Field(
        default=None,
        description="The column of the targets by its name or its number from 1, or a list of "
        "columns; the others are inputs. By default the last one where the table has no header.",
    )
    weights: _Column | None = Field(
        default=None,
        description="A column that says how much every example counts, by name or number, which "
        "is not learned from; null for all alike.",
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

    @property
    def fill(self) -> Literal["mean", "median", "most_frequent"] | None:
        """What stands for a missing value; None where none is kept."""
        return None if self.missing == "refuse" or self.missing == "drop" else self.missing


class CsvSpec(Numbers, TableSpec, OwnFiles):
    """The user's own table as text."""

    source: Literal["csv"] = Field(description="A table as text; it may be compressed by gzip.")
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


class ParquetSpec(Numbers, TableSpec, OwnFiles):
    """The user's own table in Parquet's format."""

    source: Literal["parquet"] = Field(
        description="A Parquet file, or a folder of such files, which are read in the order of "
        "their names. Vectors of one length become a column an element."
    )


_REGRESSIONS = ("diabetes", "linnerud")


class SklearnSpec(Numbers, TableSpec, Divided):
    """A data set that scikit-learn brings or fetches."""

    source: Literal["sklearn"] = Field(
        description="A data set that scikit-learn brings, or fetches from OpenML."
    )
    name: Literal["iris", "wine", "breast_cancer", "diabetes", "linnerud", "digits"] | None = Field(
        default=None, description="One that comes with scikit-learn; nothing is downloaded."
    )
    openml: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="The name of a set of openml.org, such as adult, which scikit-learn downloads "
        "once and keeps in its own cache. It needs pandas.",
    )
    version: Annotated[int, Field(ge=1, le=10**6)] | None = Field(
        default=None, description="The version of an OpenML set; null for the active one."
    )

    @model_validator(mode="before")
    @classmethod
    def _task_of_the_set(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("name") in _REGRESSIONS and "task" not in value:
            return {**value, "task": "regression"}
        return value


class HuggingfaceSpec(Images, TableSpec, Divided):
    """A data set of Hugging Face's library `datasets`: a table, or images with labels."""

    source: Literal["huggingface"] = Field(
        description="A data set of the library `datasets`: columns as of a table, or one column of "
        "images or arrays."
    )
    path: SpecPath | None = Field(
        default=None,
        description="A directory that `save_to_disk` wrote, relative to the spec file.",
    )
    name: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="The name of a set on huggingface.co, which is downloaded once."
    )
    config: Annotated[str, Field(min_length=1)] | None = Field(
        default=None, description="Which configuration of the named set; null for its only one."
    )
    split: Annotated[str, Field(min_length=1)] = Field(
        default="train", description="The split to train on, where the set has splits."
    )
    test_split: Annotated[str, Field(min_length=1)] | None = Field(
        default="auto",
        description="The split that is the test set: `auto` for the one called test, if there is "
        "one; null or else to set the part `test` aside.",
    )
    validation_split: Annotated[str, Field(min_length=1)] | None = Field(
        default="auto",
        description="The split that is the validation set: `auto` for the one called validation, "
        "if there is one; null or else to hold the part `validation` out.",
    )
