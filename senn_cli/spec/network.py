"""The `network` section: the architecture that training starts from."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from senn_cli.spec.activation import Activation, Plain
from senn_cli.spec.base import (
    DEEPEST,
    WIDEST,
    AlsoAccepts,
    Fraction,
    Integral,
    Listed,
    Model,
    Width,
    fault,
)
from senn_cli.spec.describe import describe
from senn_cli.spec.given import GIVEN
from senn_cli.spec.under import Under

_Room = Annotated[float, Field(ge=1e-3, le=100)]  # of what is there already
_Widths = Annotated[tuple[Width, ...], Field(max_length=DEEPEST), Listed]
_Block = Annotated[tuple[Width, ...], Field(min_length=1, max_length=DEEPEST), Listed]

_SCORED = Under(("expansion.policy", ("senn", "random")))
_GROWS = Under(("expansion.policy", ("senn", "random", *GIVEN)))


def _multiple(value: Any) -> Any:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if whole == "auto" or (type(whole) is int and 1 <= whole <= WIDEST):
        return whole
    raise fault(f"should be `auto` or a whole number from 1 to {WIDEST}, found {describe(value)}")


class CapacitySpec(Model):
    """How many neurons are allocated beyond those in use; within capacity nothing is recompiled."""

    multiple: Annotated[
        Literal["auto"] | Annotated[int, Field(ge=1, le=WIDEST)], BeforeValidator(_multiple)
    ] = Field(
        default="auto",
        description="Capacities are rounded up to a multiple of this; `auto` is 64 on a GPU, "
        "and on a CPU 32 where growth by `search` has at most 2^19 numbers to learn from, else 8.",
    )
    growth: Annotated[_Room, _GROWS] = Field(
        default=0.5,
        description="When a layer is full, its capacity grows by this share.",
    )
    initial: _Widths | None = Field(
        default=None,
        description="Capacities at the start, one a hidden layer and none below its width; null to "
        "derive them from the widths.",
    )


class NetworkModel(Model):
    """The section `network` of any kind, and what it says of its kind.

    Attributes:
      proposals: where proposals come from where a spec does not say it.
      images: whether examples have to be images.
      convolves: whether it has convolutions.
      buds: whether layers stand as buds, so that dormant proposals can insert one.
      solvers: those of the natural gradient that serve it.
    """

    proposals: ClassVar[Literal["search", "dormant"]] = "search"
    images: ClassVar[bool] = False
    convolves: ClassVar[bool] = False
    buds: ClassVar[bool] = False
    solvers: ClassVar[tuple[str, ...]] = ("kfac", "ekfac", "cg", "rows")


Precision = Literal["float32", "tf32", "bfloat16"]
"""Precisions of the forward pass in training."""


class NetworkSpec(NetworkModel):
    """A fully connected network."""

    kind: Literal["mlp"] = Field(description="The kind of network: fully connected.")
    hidden: _Widths = Field(
        default=(10,),
        description="Widths of the hidden layers at the start; [] is a linear model.",
    )
    activation: Activation = Field(
        default="rational",
        description="Activation of hidden neurons; `rational` is a x + (b + c x) / (1 + x^2) with "
        "coefficients that are learned, the identity among its values. Layers that growth inserts "
        "are rational whatever this is: they begin as the identity.",
    )
    dropout: Fraction = Field(
        default=0.0,
        description="Share of the hidden neurons that a step of training leaves out, drawn anew "
        "for every example; what is left counts for as much more. Evaluations and searches for "
        "growth have all neurons.",
    )
    capacity: CapacitySpec = Field(
        default=CapacitySpec(), description="Neurons allocated beyond those in use."
    )
    compute: Precision = Field(
        default="float32",
        description="Precision of all products but the last in training; parameters, optimizer and "
        "curvature are float32 always.",
    )


class ChannelsSpec(Model):
    """How many channels of a layer are allocated; those not in use are proposals."""

    initial: Width | None = Field(
        default=None,
        description="Channels of every layer at the start, at least as many as in use; null for "
        "four times those in use.",
    )
    in_use: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.5,
        description="A layer with more than this share of its channels in use is enlarged.",
    )
    growth: _Room = Field(default=0.5, description="The share that is added then.")


class DenseNetSpec(NetworkModel):
    """A convolutional network of densely connected blocks, for images."""

    proposals = "dormant"
    images = True
    convolves = True
    buds = True
    solvers = ("kfac",)

    kind: Literal["densenet"] = Field(description="The kind of network: densely connected blocks.")
    blocks: Annotated[tuple[_Block, ...], Field(min_length=1, max_length=DEEPEST), Listed] = Field(
        default=((8,), (8,), (8,)),
        description="Channels of every layer in every block at the start, such as "
        "`[[8], [8, 16]]`. A layer reads the block's input and all layers before it in the block.",
    )
    activation: Plain = Field(
        default="silu",
        description="Activation of all channels; silu is swish, gelu x Phi(x) itself, and "
        "leaky_relu leaves 0.01 of what is negative.",
    )
    dropout: Fraction = Field(
        default=0.0,
        description="Share of the channels that a step of training leaves out, drawn anew for "
        "every image; what is left counts for as much more. Evaluations and looks at the "
        "curvature have all channels.",
    )
    pool: Literal["max3s2", "max2s2", "mean2s2"] = Field(
        default="max3s2",
        description="Pooling after every block: maximum or mean, over 3x3 or 2x2, stride 2.",
    )
    bud: Annotated[Annotated[int, Field(ge=0, le=WIDEST), Integral] | None, _SCORED] = Field(
        default=None,
        description="Channels of the unused layer before every layer, a proposal for one more "
        "layer; 0 for none, null for half of the first layer's channels where layers may be "
        "inserted.",
    )
    capacity: Annotated[ChannelsSpec, _GROWS] = Field(
        default=ChannelsSpec(), description="Channels allocated beyond those in use."
    )
    compute: Precision = Field(
        default="float32",
        description="Precision of convolutions in training; parameters, optimizer and curvature "
        "are float32 always.",
    )
    recompute: bool = Field(
        default=False,
        description="Whether a step's way back puts together anew what a convolution read, and "
        "keeps its layers alone: memory in proportion to the layers of a block, not to their "
        "square.",
    )

    @property
    def hidden(self) -> tuple[int, ...]:
        """Channels of all layers at the start, block after block."""
        return tuple(width for block in self.blocks for width in block)


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


NetworkField = Annotated[
    NetworkSpec | DenseNetSpec,
    Field(discriminator="kind"),
    BeforeValidator(_kind),
    AlsoAccepts(
        enum=["mlp", "densenet"], description="The kind of network, its options as by default."
    ),
]
"""The `network` section, whose JSON schema also allows the text."""
