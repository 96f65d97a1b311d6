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

from senn_cli.spec.base import LARGEST, Count, Model, fault
from senn_cli.spec.describe import describe
from senn_cli.spec.duration import UNITS, Duration, DurationField, LongTime, alone, tidy

_DEFAULT_EPOCHS = 20

LEAST_BATCH, MOST_BATCH = 32, 256
"""Between these is a batch whose size is `auto`."""


def _batch(value: Any) -> Any:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole in ("auto", "full") or (type(whole) is int and 1 <= whole <= LARGEST):
        return whole
    raise fault(
        f"should be `auto`, `full` or a whole number from 1 to {LARGEST}, found {describe(value)}"
    )


class TrainingSpec(Model):
    """The length of training (exactly one of epochs, steps, minutes), batches and evaluation."""

    epochs: LongTime | None = Field(
        default=None,
        description="Length in passes over the training data; 20 when no length is written.",
    )
    steps: Count | None = Field(default=None, description="Length in training steps.")
    minutes: LongTime | None = Field(
        default=None, description="Length in minutes of wall-clock time."
    )
    batch_size: Annotated[
        Literal["auto", "full"] | Annotated[int, Field(ge=1, le=LARGEST)], BeforeValidator(_batch)
    ] = Field(
        default="auto",
        description="Examples a step. `auto` is a quarter of the training examples, but at least "
        f"{LEAST_BATCH} and at most {MOST_BATCH}, and never more than there are; `full` takes them "
        "all.",
    )
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

    def batch_of(self, examples: int) -> int:
        """Examples a step, of `examples` to train on; an explicit number as it is written."""
        if self.batch_size == "full":
            return examples
        if self.batch_size == "auto":
            return min(examples, max(LEAST_BATCH, min(MOST_BATCH, examples // 4)))
        return self.batch_size

    def length(self) -> Duration:
        """How long training lasts."""
        return Duration(steps=self.steps, epochs=self.epochs, minutes=self.minutes)
