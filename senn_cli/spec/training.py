"""The `training` section: how long, in which batches, and how often the network is evaluated."""

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from senn_cli.spec.base import Model, Whole, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.duration import UNITS, Duration, DurationField, alone, tidy

_DEFAULT_EPOCHS = 20


def _batch(value: Any) -> Any:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole == "full" or (type(whole) is int and whole >= 1):
        return whole
    raise fault(f"should be `full` or a whole number of at least 1, found {describe(value)}")


class TrainingSpec(Model):
    """The length of training (exactly one of epochs, steps, minutes), batches and evaluation."""

    epochs: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="Length in passes over the training data; 20 when no length is written.",
    )
    steps: Annotated[Whole, Field(gt=0)] | None = Field(
        default=None, description="Length in training steps."
    )
    minutes: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="Length in minutes of wall-clock time."
    )
    batch_size: Annotated[
        Literal["full"] | Annotated[int, Field(ge=1)], BeforeValidator(_batch)
    ] = Field(default=256, description="Examples a step; `full` takes the whole training set.")
    evaluate: DurationField = Field(
        default=Duration(epochs=1), description="Time between two evaluations, in steps or epochs."
    )

    @model_validator(mode="before")
    @classmethod
    def _default_length(cls, value: Any) -> Any:
        if isinstance(value, dict) and all(value.get(unit) is None for unit in UNITS):
            return {**value, "epochs": _DEFAULT_EPOCHS}
        return value

    @field_validator("steps", "minutes")
    @classmethod
    def _alone(cls, value: Any, info: ValidationInfo) -> Any:
        return alone(value, info)

    @model_serializer
    def _written(self) -> dict[str, Any]:
        length = self.length()
        return {
            length.unit: tidy(length.value),
            "batch_size": self.batch_size,
            "evaluate": self.evaluate,
        }

    def length(self) -> Duration:
        """How long training lasts."""
        return Duration(steps=self.steps, epochs=self.epochs, minutes=self.minutes)
