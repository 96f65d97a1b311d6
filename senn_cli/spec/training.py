"""The `training` section: how long, in which batches, and how often the network is evaluated."""

from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from senn_cli.spec.base import LARGEST, AlsoAccepts, Count, Model, NotNegative, Positive, fault
from senn_cli.spec.checkpoints import BestMetric
from senn_cli.spec.describe import describe
from senn_cli.spec.duration import UNITS, Duration, DurationField, LongTime, alone, tidy

_DEFAULT_EPOCHS, _DEFAULT_STEPS = 20, 300

LEAST_BATCH, MOST_BATCH = 32, 256
"""Between these is a batch whose size is `auto`."""


def _batch(value: Any) -> Any:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole in ("auto", "full") or (type(whole) is int and 1 <= whole <= LARGEST):
        return whole
    raise fault(
        f"should be `auto`, `full` or a whole number from 1 to {LARGEST}, found {describe(value)}"
    )


class StopSpec(Model):
    """When training ends early, and whether its result is the network of the best evaluation."""

    metric: BestMetric = Field(
        description="What an evaluation is judged by: the largest accuracy or the smallest loss or "
        "error is the best. `stop: validation_loss` is short for `stop: {metric: validation_loss}`."
    )
    patience: Count | None = Field(
        default=10,
        description="The run ends after this many evaluations in a row without an improvement; "
        "null to train to the end.",
    )
    min_delta: NotNegative = Field(
        default=0.0,
        description="Smaller improvements than this do not renew the patience; the best evaluation "
        "is the best all the same.",
    )
    restore: bool = Field(
        default=True,
        description="Whether the run's result is the network of the best evaluation, its "
        "architecture included; false for the last one.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_metric(cls, value: Any) -> Any:
        return {"metric": value} if isinstance(value, str) else value


class TrainingSpec(Model):
    """The length of training (exactly one of epochs, steps, minutes), batches and evaluation."""

    epochs: LongTime | None = Field(
        default=None,
        description="Length in passes over the training data; 20 when no length is written, and "
        "then at least 300 steps.",
    )
    steps: Count | None = Field(default=None, description="Length in training steps.")
    minutes: LongTime | None = Field(
        default=None, description="Length in minutes of wall-clock time."
    )
    least_steps: Count | None = Field(
        default=None,
        description="With a length in epochs: never fewer training steps than this, as small data "
        "have few in an epoch; null for none, 300 when no length is written.",
    )
    batch_size: Annotated[
        Literal["auto", "full"] | Annotated[int, Field(ge=1, le=LARGEST)], BeforeValidator(_batch)
    ] = Field(
        default="auto",
        description="Examples a step. `auto` is a quarter of the training examples, but at least "
        f"{LEAST_BATCH} and at most {MOST_BATCH}, and never more than there are; `full` takes them "
        "all.",
    )
    clip: Positive | None = Field(
        default=None,
        description="Largest norm of a step's gradient, over all parameters that are trained: a "
        "longer one is scaled down to it. A natural gradient is bounded by `optimizer.kl_clip` "
        "already; with both, the shorter of the two steps is taken. Null for no limit.",
    )
    evaluate: DurationField = Field(
        default=Duration(epochs=1), description="Time between two evaluations, in steps or epochs."
    )
    stop: (
        Annotated[
            StopSpec,
            AlsoAccepts(
                enum=list(get_args(BestMetric)),
                description="The metric, the other options as by default.",
            ),
        ]
        | None
    ) = Field(
        default=None,
        description="Ends training when evaluations no longer improve, with the network of the "
        "best one; null to train to the end and keep the last network.",
    )

    @model_validator(mode="before")
    @classmethod
    def _default_length(cls, value: Any) -> Any:
        if isinstance(value, dict) and all(value.get(unit) is None for unit in UNITS):
            return {"least_steps": _DEFAULT_STEPS, **value, "epochs": _DEFAULT_EPOCHS}
        return value

    @field_validator("steps", "minutes")
    @classmethod
    def _alone(cls, value: Any, info: ValidationInfo) -> Any:
        return alone(value, info)

    @model_validator(mode="after")
    def _in_epochs(self) -> "TrainingSpec":
        if self.least_steps is not None and self.epochs is None:
            raise fault("has least_steps, which belongs to a length in epochs")
        return self

    @model_serializer
    def _written(self) -> dict[str, Any]:
        length = self.length()
        least = {} if self.least_steps is None else {"least_steps": self.least_steps}
        return {
            length.unit: tidy(length.value),
            **least,
            "batch_size": self.batch_size,
            "clip": self.clip,
            "evaluate": self.evaluate,
            "stop": self.stop,
        }

    def batch_of(self, examples: int) -> int:
        """Examples a step, of `examples` to train on; an explicit number as it is written."""
        if self.batch_size == "full":
            return examples
        if self.batch_size == "auto":
            return min(examples, max(LEAST_BATCH, min(MOST_BATCH, examples // 4)))
        return self.batch_size

    def steps_of(self, steps_per_epoch: int) -> int | None:
        """The length in training steps; None where it is given in minutes."""
        if self.minutes is not None:
            return None
        return max(self.length().in_steps(steps_per_epoch), self.least_steps or 0)

    def length(self) -> Duration:
        """How long training lasts, as it is written."""
        return Duration(steps=self.steps, epochs=self.epochs, minutes=self.minutes)
