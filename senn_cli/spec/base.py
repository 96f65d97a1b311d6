"""What all models of the spec language share: strictness, and the kinds of number they take."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, GetJsonSchemaHandler
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


Whole = Annotated[int, BeforeValidator(_integral)]
"""An integer, also written as a real number without a fraction, such as `1e3`."""

Listed = BeforeValidator(_listed)
"""Annotation of a tuple that is written as a list."""
