"""The `network` section: the architecture that training starts from."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.base import AlsoAccepts, Listed, Model, Whole, fault
from senn_cli.spec.describe import describe

_Width = Annotated[Whole, Field(ge=1)]


def _multiple(value: Any) -> Any:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole == "auto" or (type(whole) is int and whole >= 1):
        return whole
    raise fault(f"should be `auto` or a whole number of at least 1, found {describe(value)}")


class CapacitySpec(Model):
    """How many neurons are allocated beyond those in use; within capacity nothing is recompiled."""

    multiple: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=1)], BeforeValidator(_multiple)
    ] = Field(
        default="auto",
        description="Capacities are rounded up to a multiple of this; `auto` is 8 on the CPU and "
        "64 on a GPU.",
    )
    growth: Annotated[float, Field(gt=0)] = Field(
        default=0.5,
        description="When a layer is full, its capacity grows by this share.",
    )
    initial: Annotated[tuple[_Width, ...], Listed] | None = Field(
        default=None,
        description="Capacities at the start, one a hidden layer and none below its width; null to "
        "derive them from the widths.",
    )


class NetworkSpec(Model):
    """A fully connected network."""

    kind: Literal["mlp"] = Field(description="The kind of network: fully connected.")
    hidden: Annotated[tuple[_Width, ...], Listed] = Field(
        default=(10,),
        description="Widths of the hidden layers at the start; [] is a linear model.",
    )
    activation: Literal["rational", "silu", "tanh"] = Field(
        default="rational",
        description="Activation of hidden neurons; `rational` is a x + (b + c x) / (1 + x^2) with "
        "coefficients that are learned, the identity among its values.",
    )
    capacity: CapacitySpec = Field(
        default=CapacitySpec(), description="Neurons allocated beyond those in use."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


NetworkField = Annotated[
    NetworkSpec,
    AlsoAccepts(enum=["mlp"], description="The kind of network, its options as by default."),
]
"""The `network` section, whose JSON schema also allows the text."""
