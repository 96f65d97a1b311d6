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
from senn_cli.spec.growth import ON_OFF, DepthSpec, Growing, PruneSpec, Switched

_Numbers = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=DEEPEST), Integral], ...],
    Field(min_length=1, max_length=DEEPEST),
    Listed,
]


class GivenDepthSpec(DepthSpec):
    """Layers of a policy that puts them into no block."""

    per_block: ClassVar[Count | None] = None


class _WidthSpec(Model):
    layers: _Numbers | None = Field(
        default=None,
        description="Numbers of the hidden layers that get neurons, from 0; null for all. Where a "
        "policy does not say which is next, the narrowest of them is.",
    )
    per_round: Count = Field(default=1, description="Most neurons added in one round.")
    max_width: Count | None = Field(
        default=None, description="Largest width of a layer; null for any."
    )


class GivenWidthSpec(_WidthSpec):
    """Which layers get units, and how many; of a policy that does nothing else."""

    enabled: ClassVar[bool] = True


class WiderSpec(Switched, _WidthSpec):
    """Which layers get units, and how many; of a policy that may insert layers instead."""

    enabled: bool = Field(default=True, description="Whether neurons are added.")


class GivenSpec(Growing):
    """What all policies share whose times and places are given.

    Attributes:
      convolves: whether it serves networks with convolutions.
      curved: whether it needs activations that have a second derivative.
      prune: that it takes nothing out.
    """

    convolves: ClassVar[bool] = True
    curved: ClassVar[bool] = False
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


class SplittingSpec(FlatSpec):
    """Splitting steepest descent (Wu et al. 2019)."""

    convolves = False
    curved = True

    policy: Literal["splitting"] = Field(
        description="What decides: `splitting` (where the loss no longer falls, the neurons whose "
        "splitting in two lowers it most are split)."
    )
    step: Positive = Field(
        default=1e-2, description="How far the two halves of a neuron are moved apart, each."
    )


class Net2NetSpec(GivenSpec):
    """Copies of neurons, and layers at the identity (Chen et al. 2016)."""

    policy: Literal["net2net"] = Field(
        description="What decides: `net2net` (neurons drawn by chance are copied, and their output "
        "weights shared; layers come at the identity)."
    )
    jitter: NotNegative = Field(
        default=1e-2,
        description="Noise on the input weights of copies, as a share of the root mean square of "
        "the neuron's own; 0 keeps the function, and copies alike.",
    )
    width: Annotated[WiderSpec, ON_OFF] = Field(
        default=WiderSpec(), description="Adding neurons; `false` switches it off."
    )
    depth: Annotated[GivenDepthSpec, ON_OFF] = Field(
        default=GivenDepthSpec(enabled=False),
        description="Inserting layers, one a round, before the outputs; `true` switches it on.",
    )


Given = DynamicNodeCreationSpec | SplittingSpec | Net2NetSpec
"""A policy whose times and places are given."""

GIVEN = MappingProxyType(
    {
        "dynamic_node_creation": "a neuron of small random weights when the loss no longer falls",
        "net2net": "copies of neurons, and layers at the identity, at given times",
        "splitting": "neurons split in two, where that lowers a loss that no longer falls",
        "gradmax": "neurons of the largest gradient",
        "tiny": "neurons for what a layer cannot express",
        "firefly": "the best of split and fresh neurons",
    }
)
"""Their names, each with what it does."""
