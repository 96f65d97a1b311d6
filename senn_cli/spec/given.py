"""Policies of `expansion` whose times and places are given, each with what is its own.

All share one section: when a round is due, which layers get units and how many, and the limits. A
policy is a model below with the name that it goes by, and an entry in `GIVEN`.
"""

from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from senn_cli.spec.base import (
    DEEPEST,
    Count,
    Integral,
    Listed,
    Model,
    NotNegative,
    Positive,
)
from senn_cli.spec.duration import Duration, DurationField
from senn_cli.spec.growth import DepthSpec, Growing, PruneSpec

_Numbers = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=DEEPEST), Integral], ...],
    Field(min_length=1, max_length=DEEPEST),
    Listed,
]


class GivenDepthSpec(DepthSpec):
    """Layers of a policy that puts them into no block."""

    per_block: ClassVar[Count | None] = None


class GivenWidthSpec(Model):
    """Which layers get units, and how many."""

    enabled: ClassVar[bool] = True

    layers: _Numbers | None = Field(
        default=None,
        description="Numbers of the hidden layers that get units, from 0; null for all at the "
        "start. The narrowest of them gets the next unit.",
    )
    per_round: Count = Field(default=1, description="Most neurons added in one round.")
    max_width: Count | None = Field(
        default=None, description="Largest width of a layer; null for any."
    )


class GivenSpec(Growing):
    """What all policies share whose times and places are given.

    Attributes:
      convolves: whether it serves networks with convolutions.
      prune: that it takes nothing out.
    """

    convolves: ClassVar[bool] = True
    prune: ClassVar[PruneSpec] = PruneSpec(enabled=False)

    every: DurationField = Field(
        default=Duration(epochs=1), description="Time between two rounds, in steps or epochs."
    )


class WidensSpec(GivenSpec):
    """One that adds neurons and no layers."""

    depth: ClassVar[GivenDepthSpec] = GivenDepthSpec(enabled=False)

    width: GivenWidthSpec = Field(
        default=GivenWidthSpec(), description="Which layers get neurons, and how many."
    )


class FlatSpec(WidensSpec):
    """One that waits in every round until the loss no longer falls."""

    window: DurationField = Field(
        default=Duration(epochs=25),
        description="Time over which the fall of the loss is taken, and the least between two "
        "additions.",
    )
    flat: NotNegative = Field(
        default=0.1,
        description="Something is added where the loss fell, over the window, by less than this "
        "share of what it was at the last addition.",
    )


class DynamicNodeCreationSpec(FlatSpec):
    """A neuron wherever the loss no longer falls (Ash 1989)."""

    policy: Literal["dynamic_node_creation"] = Field(
        description="What decides: `dynamic_node_creation` (a neuron of small random weights when "
        "the loss no longer falls)."
    )
    scale: Positive = Field(
        default=0.3,
        description="Size of a new neuron's weights, in and out, as a share of the initial "
        "distribution's.",
    )
    mean_error: NotNegative = Field(
        default=0.0,
        description="Nothing is added where the mean training loss is at most this, and the "
        "largest at most `max_error`.",
    )
    max_error: NotNegative | None = Field(
        default=None, description="The largest loss of a training example then; null for any."
    )


Given = DynamicNodeCreationSpec
"""A policy whose times and places are given."""

GIVEN = MappingProxyType(
    {
        "dynamic_node_creation": "a neuron of small random weights when the loss no longer falls",
    }
)
"""Their names, each with what it does."""
