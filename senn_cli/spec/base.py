"""What all models of the spec language share: strictness, and the kinds of number they take."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError


class Model(BaseModel):
    """A frozen part of a spec; unknown keys, booleans as numbers, NaN and inf are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class AlsoAccepts:
    """Annotation: the JSON schema of a field allows a shorthand beside the full form.

    Args:
      shorthand: the JSON schema of the shorthand.
    """

    def __init__(self, **shorthand: Any) -> None:
        self.shorthand = shorthand

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema of the full form or the shorthand."""
        return {"anyOf": [handler(core_schema), self.shorthand]}


def fault(message: str) -> PydanticCustomError:
    """An error whose message is shown to the user as it stands, after the name of the key.

    Args:
      message: starts with a verb, such as `should be below 1, found 2`.
    """
    # The message travels in the context, as pydantic would read braces in a template as names.
    return PydanticCustomError("senn", "{message}", {"message": message})


def _integral(value: Any) -> Any:
    # YAML reads 1e3 as a real number; a user who writes it for an integer means 1000.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _listed(value: Any) -> Any:
    # YAML gives lists; frozen models keep tuples, so that they can be hashed.
    return tuple(value) if isinstance(value, list) else value


# Every number is bounded, so that what is meant to be huge is refused where it is written and not
# where it does not fit. Bounds come before the validators: pydantic writes those of an `int` into
# the JSON schema, those of a validated value under names that JSON Schema does not know.

LARGEST = 2**31 - 1
"""The largest whole number: steps and rows are counted in 32 bits."""

LARGEST_REAL = 1e38
"""The largest real number: training calculates in float32, which ends at 3.4e38."""

WIDEST = 2**20
"""The widest layer, and the most proposals."""

DEEPEST = 1000
"""The most layers that a spec can list."""

Integral = BeforeValidator(_integral)
"""Annotation of an integer that may be written as a real number without a fraction, `1e3`."""

Count = Annotated[int, Field(ge=1, le=LARGEST), Integral]
"""A whole number of at least 1."""

Width = Annotated[int, Field(ge=1, le=WIDEST), Integral]
"""How many units, or how many proposals for some."""

Positive = Annotated[float, Field(gt=0, le=LARGEST_REAL)]
"""A real number above 0."""

NotNegative = Annotated[float, Field(ge=0, le=LARGEST_REAL)]
"""A real number of at least 0."""

Probability = Annotated[float, Field(ge=0, le=1)]
"""A share of the cases, all of them included."""

Fraction = Annotated[float, Field(ge=0, lt=1)]
"""A share of a whole, never all of it."""

Listed = BeforeValidator(_listed)
"""Annotation of a tuple that is written as a list."""
