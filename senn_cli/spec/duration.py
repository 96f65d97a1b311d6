"""Durations: `{steps: 300}`, `{epochs: 10}`, `{minutes: 5}`, or the same as a text, `10 epochs`."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from senn_cli.spec.base import AlsoAccepts, Count, Model, fault
from senn_cli.spec.describe import alternatives, describe

Unit = Literal["steps", "epochs", "minutes"]
"""The units that a duration can have."""

UNITS: tuple[Unit, ...] = ("steps", "epochs", "minutes")

_TEXT = re.compile(
    r"\s*(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+)\s*(?P<unit>[A-Za-z]+)\s*"
)
_NAMES: dict[str, Unit] = {
    "step": "steps",
    "steps": "steps",
    "epoch": "epochs",
    "epochs": "epochs",
    "m": "minutes",
    "min": "minutes",
    "minute": "minutes",
    "minutes": "minutes",
}
_EXPECTED = "should be a duration such as {epochs: 10} or `300 steps`"


def tidy(value: float) -> int | float:
    """The number as an integer where it is one, as a person would write it."""
    exact = abs(value) < 2**53
    return int(value) if exact and float(value).is_integer() else value


def alone(value: Any, info: ValidationInfo) -> Any:
    """Checks, as a field validator, that no field before it gives a length in another unit."""
    if value is not None:
        for unit in UNITS:
            if unit != info.field_name and info.data.get(unit) is not None:
                raise fault(f"is given beside {unit}; give exactly one of {alternatives(UNITS)}")
    return value


LongTime = Annotated[float, Field(gt=0, le=1e9)]
"""A length in epochs or minutes."""


class Duration(Model):
    """A length of training in exactly one unit."""

    steps: Count | None = Field(default=None, description="Training steps, one a batch.")
    epochs: LongTime | None = Field(
        default=None, description="Passes over the training data; fractions are allowed."
    )
    minutes: LongTime | None = Field(default=None, description="Minutes of wall-clock time.")

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            match = _TEXT.fullmatch(value)
            unit = _NAMES.get(match["unit"].lower()) if match else None
            if match is None or unit is None:
                raise fault(f"{_EXPECTED}, found {describe(value)}")
            return {unit: float(match["number"])}
        if not isinstance(value, dict | Duration):
            raise fault(f"{_EXPECTED}, found {describe(value)}")
        return value

    @field_validator("epochs", "minutes")
    @classmethod
    def _alone(cls, value: Any, info: ValidationInfo) -> Any:
        return alone(value, info)

    @model_validator(mode="after")
    def _one_unit(self) -> "Duration":
        if all(getattr(self, unit) is None for unit in UNITS):
            raise fault("should give one of steps, epochs or minutes, found none of them")
        return self

    @model_serializer
    def _written(self) -> dict[str, int | float]:
        return {self.unit: tidy(self.value)}

    @property
    def unit(self) -> Unit:
        """The unit in use."""
        return next(unit for unit in UNITS if getattr(self, unit) is not None)

    @property
    def value(self) -> float:
        """The length in that unit."""
        value: float = getattr(self, self.unit)
        return value

    def in_steps(self, steps_per_epoch: int) -> int:
        """The duration in training steps, rounded, and at least 1.

        Args:
          steps_per_epoch: training steps in one epoch.

        Raises:
          ValueError: for minutes, which no number of steps is known for.
        """
        if self.steps is not None:
            return self.steps
        if self.epochs is not None:
            return max(1, round(self.epochs * steps_per_epoch))
        raise ValueError(f"{self} has no length in steps")

    def __str__(self) -> str:
        """In words, such as `10 epochs`."""
        unit = self.unit.removesuffix("s") if self.value == 1 else self.unit
        return f"{tidy(self.value)} {unit}"


def duration_of(text: str) -> Duration | None:
    """The duration that a text such as `10 epochs` says; None where it says none."""
    try:
        return Duration.model_validate(text)
    except ValidationError:
        return None


def _no_minutes(value: Duration) -> Duration:
    if value.minutes is not None:
        raise fault(
            "should be in steps or epochs, found minutes: what happens in a run must not depend "
            "on how fast the machine is"
        )
    return value


DurationField = Annotated[
    Duration,
    AfterValidator(_no_minutes),
    AlsoAccepts(
        type="string",
        pattern=r"^\s*[0-9.][0-9.eE+-]*\s*(steps?|epochs?)\s*$",
        description="A number and a unit, such as `10 epochs` or `300 steps`.",
    ),
]
"""A duration in steps or epochs, whose JSON schema also allows the text."""
