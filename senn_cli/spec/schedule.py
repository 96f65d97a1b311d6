"""The `schedule` of an optimizer: how the learning rate changes over the run."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from senn_cli.spec.base import AlsoAccepts, Integral, Model
from senn_cli.spec.duration import DurationField
from senn_cli.spec.under import under

Kind = Literal["constant", "cosine", "one_cycle", "wsd"]
"""The kinds of schedule."""


class ScheduleSpec(Model):
    """How the learning rate changes over the run."""

    kind: Kind = Field(
        description="`constant` stays at the peak, `cosine` falls to `final` along a half cosine, "
        "`one_cycle` rises to the peak and falls again, `wsd` stays at the peak while the network "
        "grows, and when growth has ended falls to `final` in a line over all that is left of the "
        "run, in which nothing grows."
    )
    warmup: Annotated[DurationField | None, under(kind=("constant", "cosine", "wsd"))] = Field(
        default=None,
        description="Linear rise from 0 to the peak at the start; null for none.",
    )
    final: Annotated[float, Field(ge=0, le=1), under(kind=("cosine", "one_cycle", "wsd"))] = Field(
        default=0.0, description="The last learning rate as a share of the peak."
    )
    cycles: Annotated[int, Field(ge=1, le=10_000), Integral, under(kind="one_cycle")] = Field(
        default=1,
        description="How many times `one_cycle` rises and falls, in stretches of equal length.",
    )

    decay: Annotated[float, Field(gt=0, le=1), under(kind="wsd")] = Field(
        default=0.3,
        description="The last part of the run, in which `wsd` falls at the latest; where growth "
        "has ended before, it falls over more.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    def falls_from(self, total: int, until: int | None = None) -> int | None:
        """The step, of `total`, from which `wsd` falls at the latest; None of another kind.

        Args:
          until: the last step at which the network may grow; None where nothing says it.
        """
        if self.kind != "wsd":
            return None
        start = total - max(round(self.decay * total), 1)
        return start if until is None else min(start, until)


ScheduleField = Annotated[
    ScheduleSpec,
    AlsoAccepts(
        enum=["constant", "cosine", "one_cycle", "wsd"],
        description="The kind of schedule, its options as by default.",
    ),
]
"""A field of a schedule, whose JSON schema also allows the text."""
