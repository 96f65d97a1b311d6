"""What `expansion` says of the single ways to change a network: width, depth, pruning."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from senn_cli.spec.base import (
    AlsoAccepts,
    Count,
    Integral,
    Model,
    NotNegative,
    Positive,
    Probability,
    Width,
)
from senn_cli.spec.duration import DurationField
from senn_cli.spec.under import Under, under

ON_OFF = AlsoAccepts(type="boolean", description="On or off, the options as by default.")
"""Annotation of a section that `true` and `false` switch on and off."""

_Steps = Annotated[int, Field(ge=1, le=1_000_000), Integral]
_CLIMBS = under(method=("closed_form", "gradient_ascent"))
_MLP = Under(("network.kind", ("mlp",)))
_BUDS = Under(("network.kind", ("densenet",)))
_PerBlock = Annotated[
    Count | None,
    Field(description="Most layers in a block of a densenet; null for no limit."),
]


class Switched(Model):
    """A section that `true` and `false` switch on and off; one that is off keeps its options."""

    @model_validator(mode="before")
    @classmethod
    def _from_bool(cls, value: Any) -> Any:
        return {"enabled": value} if isinstance(value, bool) else value


class WidthSpec(Switched):
    """Adding neurons to hidden layers."""

    enabled: bool = Field(default=True, description="Whether neurons are added.")
    per_round: Count | None = Field(
        default=None, description="Most neurons added in one round; null for no limit."
    )
    max_width: Count | None = Field(
        default=None, description="Largest width of a layer; null for any."
    )


class WidthSearchSpec(WidthSpec):
    """Adding neurons that are searched for."""

    method: Literal["closed_form", "gradient_ascent", "mala"] = Field(
        default="closed_form",
        description="How proposals are found: `closed_form` solves for the activation's "
        "coefficients and searches input weights alone, `gradient_ascent` climbs the score, `mala` "
        "samples by Langevin steps.",
    )
    proposals: Width = Field(default=256, description="Candidate neurons drawn a site.")
    polished: Annotated[Width, _CLIMBS] = Field(
        default=16, description="How many of the best candidates are optimised further."
    )
    steps: _Steps = Field(
        default=10,
        description="Steps of that optimisation. What scores best today need not learn best "
        "tomorrow: on MNIST few steps give better networks in the end.",
    )
    rank: Annotated[Width, under(method="closed_form")] = Field(
        default=24,
        description="Principal directions of the inputs that the search is confined to; more fit "
        "noise.",
    )
    learning_rate: Annotated[Positive, _CLIMBS] = Field(
        default=0.1, description="First step of that optimisation."
    )
    temperature: Annotated[Positive, under(method="mala")] = Field(
        default=10.0, description="Temperature of `mala`."
    )
    coefficients: Annotated[
        Literal["closed_form", "initial"], Under(("expansion.policy", ("senn",)))
    ] = Field(
        default="closed_form",
        description="The activation's coefficients of a new neuron: the best ones, or the initial.",
    )


class DepthSpec(Switched):
    """Inserting layers."""

    enabled: bool = Field(default=True, description="Whether layers are inserted.")
    every: DurationField | None = Field(
        default=None, description="Least time between two insertions; null for none."
    )
    max_layers: Count | None = Field(
        default=None, description="Most hidden layers; null for no limit."
    )


class DepthSearchSpec(DepthSpec):
    """Inserting layers where neurons are searched for: found so in an mlp, buds in a densenet."""

    method: Annotated[Literal["closed_form", "gradient_ascent", "mala"], _MLP] = Field(
        default="closed_form", description="How proposals are found; see the width's method."
    )
    proposals: Annotated[Width, _MLP] = Field(
        default=16, description="Candidate layers drawn a site."
    )
    polished: Annotated[Width, _MLP, _CLIMBS] = Field(
        default=4, description="How many of the best candidates are optimised further."
    )
    steps: Annotated[_Steps, _MLP] = Field(default=60, description="Steps of that optimisation.")
    learning_rate: Annotated[Positive, _MLP, _CLIMBS] = Field(
        default=0.1, description="First step of that optimisation."
    )
    temperature: Annotated[Positive, _MLP, under(method="mala")] = Field(
        default=10.0, description="Temperature of `mala`."
    )
    layer_cost: Positive = Field(
        default=60.0,
        description="A layer's score is divided by this before it competes with neurons, and "
        "its gain, at most what is left of the loss, before it pays for its parameters.",
    )
    per_block: Annotated[_PerBlock, _BUDS] = None
    log_determinant: Annotated[NotNegative, _MLP] = Field(
        default=0.01,
        description="Weight of the log-determinant that keeps a layer's matrix invertible.",
    )
    singular_floor: Annotated[NotNegative, _MLP] = Field(
        default=0.05,
        description="Smallest singular value of a new layer's matrix as a share of their mean; the "
        "paper has 1e-3, with which single precision does not keep the function to 1e-5.",
    )


class BudSpec(DepthSpec):
    """Inserting layers that stand as buds."""

    per_block: _PerBlock = 4


class PruneSpec(Switched):
    """Taking neurons out again: pruning is reversed addition."""

    enabled: bool = Field(default=True, description="Whether neurons are pruned.")
    min_width: Width = Field(default=1, description="No layer gets narrower than this.")
    per_round: Count | None = Field(
        default=None, description="Most neurons pruned in one round; null for no limit."
    )


class Growing(Model):
    """What every policy that grows has, wherever its proposals come from."""

    start: DurationField | None = Field(
        default=None, description="No round before; null to begin with the first one due."
    )
    until: DurationField | None = Field(
        default=None, description="No round after; null to grow until the end."
    )
    max_hidden: Count | None = Field(
        default=None, description="Most hidden neurons in all layers together; null for any."
    )
    max_parameters: Count | None = Field(
        default=None, description="Most parameters in use; null for any number."
    )


class DormantSpec(Model):
    """Standing proposals: neurons that are allocated but not in use, and buds."""

    activate: Probability = Field(
        default=1e-3,
        description="Probability a step that an unused neuron which passes the threshold is taken "
        "into use.",
    )
    prune: Probability = Field(
        default=1e-3,
        description="Probability a step that a neuron whose removal costs less than the threshold "
        "is taken out.",
    )
    redraw: Probability = Field(
        default=0.1, description="Probability an epoch that an unused neuron gets new weights."
    )
    bud_factor: Annotated[Positive, _BUDS] = Field(
        default=3.0,
        description="A bud becomes a layer where its neurons' mean score passes this many times "
        "the threshold.",
    )
    slow: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1e-3,
        description="Rate a step of the moving average of gradients that scores are made of.",
    )
    neurons: Annotated[Width, _MLP] = Field(
        default=64,
        description="Standing proposals for every layer of an mlp at the start, where "
        "network.capacity.initial does not say how much room there is.",
    )
