"""The `checkpoints` section: when a run saves itself, and which of its checkpoints it keeps."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from senn_cli.spec.base import AlsoAccepts, Count, Model
from senn_cli.spec.duration import Duration, DurationField
from senn_cli.spec.under import Under

BestMetric = Literal["train_loss", "validation_loss", "validation_accuracy", "validation_mse"]
"""The keys of a row of metrics that the best evaluation can be chosen by."""

# Saving changes nothing that is computed, so its times may depend on the clock.
_AnyDurationField = Annotated[
    Duration,
    AlsoAccepts(
        type="string",
        pattern=r"^\s*[0-9.][0-9.eE+-]*\s*(steps?|epochs?|m|min|minutes?)\s*$",
        description="A number and a unit, such as `5 minutes`, `10 epochs` or `300 steps`.",
    ),
]


class CheckpointsSpec(Model):
    """When a run saves itself, so that it can be resumed, and which checkpoints are kept."""

    enabled: bool = Field(
        default=True,
        description="Whether checkpoints are saved during the run; false leaves the one at its end "
        "or at an interruption.",
    )
    every: _AnyDurationField = Field(
        default=Duration(minutes=5),
        description="Time between two checkpoints, in minutes, steps or epochs.",
    )
    growth: bool = Field(
        default=False, description="Save before and after every growth event as well."
    )
    keep: Count = Field(default=3, description="How many of the newest checkpoints are kept.")
    best: Annotated[BestMetric | None, Under(("training.stop", (None,)))] = Field(
        default=None,
        description="Also keep the network of the best evaluation, the one of the largest accuracy "
        "or the smallest loss or error, in checkpoints/best; null for none. It is written with the "
        "next checkpoint, and before the run ends. training.stop says it where that is set.",
    )
    keep_every: DurationField | None = Field(
        default=None,
        description="Also keep one checkpoint of every interval of this length for ever, in steps "
        "or epochs; null for none.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_bool(cls, value: Any) -> Any:
        return {"enabled": value} if isinstance(value, bool) else value


CheckpointsField = Annotated[
    CheckpointsSpec,
    AlsoAccepts(type="boolean", description="On or off, the options as by default."),
]
"""The `checkpoints` section, whose JSON schema also allows true and false."""
