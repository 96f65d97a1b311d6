"""The `device` section: where to train, and over how many devices."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from senn_cli.spec.base import AlsoAccepts, Count, Model, Positive

Platform = Literal["auto", "cpu", "gpu"]
"""Kinds of device that a spec can ask for."""


class DeviceSpec(Model):
    """Where to train."""

    kind: Platform = Field(default="auto", description="`auto` takes a GPU if there is one.")
    count: Literal["all"] | Count = Field(
        default=1,
        description="Devices of every host that take part: each computes its share of every batch. "
        "The numbers differ by rounding alone.",
    )
    data_memory: Positive | None = Field(
        default=None,
        description="Gigabytes of the inputs of a part of the data that a device takes whole; of "
        "more each of several devices holds its share, and a single one is handed the rows of a "
        "batch when it needs them. null: a quarter of the device's memory.",
    )

    def limit(self, memory: float) -> float:
        """Bytes of inputs that a device with `memory` bytes takes whole."""
        return memory / 4 if self.data_memory is None else round(1e9 * self.data_memory)


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


DeviceField = Annotated[
    DeviceSpec,
    BeforeValidator(_kind),
    AlsoAccepts(enum=list(get_args(Platform)), description="The kind; one device of it."),
]
"""The `device` section; a text is shorthand for one device of that kind."""
