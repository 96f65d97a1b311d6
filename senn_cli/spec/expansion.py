"""The `expansion` section: when, where and by what the network grows."""

from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.base import (
    AlsoAccepts,
    Count,
    Integral,
    Model,
    NotNegative,
    Positive,
    Probability,
    Width,
    fault,
)
from senn_cli.spec.describe import alternatives, describe
from senn_cli.spec.duration import Duration, DurationField
from senn_cli.spec.suggest import closest

_Steps = Annotated[int, Field(ge=1, le=1_000_000), Integral]
_OnOff = AlsoAccepts(type="boolean", description="On or off, the options as by default.")

POLICIES = MappingProxyType(
    {
        "senn": "grow where the natural expansion score says so",
        "random": "control: the same times and sites, weights from the initial distribution",
        "none": "a fixed architecture",
    }
)
"""The policies that a spec can name, each with what it does."""


def _policy(value: Any) -> Any:
    if isinstance(value, str) and value in POLICIES:
        return value
    found = f"should be one of {alternatives(POLICIES)}, found {describe(value)}"
    near = closest(value, POLICIES) if isinstance(value, str) else None
    raise fault(f"{found}; did you mean {near}?" if near else found)


class _Switched(Model):
    """A section that `true` and `false` switch on and off."""

    @model_validator(mode="before")
    @classmethod
    def _from_bool(cls, value: Any) -> Any:
        return {"enabled": value} if isinstance(value, bool) else value


class WidthSpec(_Switched):
    """Adding neurons to hidden layers."""

    enabled: bool = Field(default=True, description="Whether neurons are added.")
    method: Literal["closed_form", "gradient_ascent", "mala"] = Field(
        default="closed_form",
        description="How proposals are found: `closed_form` solves for the activation's "
        "coefficients and searches input weights alone, `gradient_ascent` climbs the score, `mala` "
        "samples by Langevin steps.",
    )
    proposals: Width = Field(default=256, description="Candidate neurons drawn a site.")
    polished: Width = Field(
        default=16, description="How many of the best candidates are optimised further."
    )
    steps: _Steps = Field(
        default=10,
        description="Steps of that optimisation. What scores best today need not learn best "
        "tomorrow: on MNIST few steps give better networks in the end.",
    )
    rank: Width = Field(
        default=24,
        description="Principal directions of the inputs that the search is confined to; more fit "
        "noise.",
    )
    learning_rate: Positive = Field(default=0.1, description="First step of that optimisation.")
    temperature: Positive = Field(default=10.0, description="Temperature of `mala`.")
    coefficients: Literal["closed_form", "initial"] = Field(
        default="closed_form",
        description="The activation's coefficients of a new neuron: the best ones, or the initial.",
    )
    per_round: Count | None = Field(
        default=None, description="Most neurons added in one round; null for no limit."
    )
    max_width: Count | None = Field(
        default=None, description="Largest width of a layer; null for any."
    )


class DepthSpec(_Switched):
    """Inserting layers."""

    enabled: bool = Field(default=True, description="Whether layers are inserted.")
    method: Literal["closed_form", "gradient_ascent", "mala"] = Field(
        default="closed_form", description="How proposals are found; see the width's method."
    )
    proposals: Width = Field(default=16, description="Candidate layers drawn a site.")
    polished: Width = Field(
        default=4, description="How many of the best candidates are optimised further."
    )
    steps: _Steps = Field(default=60, description="Steps of that optimisation.")
    learning_rate: Positive = Field(default=0.1, description="First step of that optimisation.")
    temperature: Positive = Field(default=10.0, description="Temperature of `mala`.")
    layer_cost: Positive = Field(
        default=60.0,
        description="A layer's score is divided by this before it competes with neurons, "
        "and before it pays for its parameters.",
    )
    every: DurationField | None = Field(
        default=None, description="Least time between two insertions; null for none."
    )
    max_layers: Count | None = Field(
        default=None, description="Most hidden layers; null for no limit."
    )
    per_block: Count | None = Field(
        default=4, description="Most layers in a block of a densenet; null for no limit."
    )
    log_determinant: NotNegative = Field(
        default=0.01,
        description="Weight of the log-determinant that keeps a layer's matrix invertible.",
    )
    singular_floor: NotNegative = Field(
        default=0.05,
        description="Smallest singular value of a new layer's matrix as a share of their mean; the "
        "paper has 1e-3, with which single precision does not keep the function to 1e-5.",
    )


class PruneSpec(_Switched):
    """Taking neurons out again: section 3.5, pruning is reversed addition."""

    enabled: bool = Field(default=True, description="Whether neurons are pruned.")
    min_width: Width = Field(default=1, description="No layer gets narrower than this.")
    per_round: Count | None = Field(
        default=None, description="Most neurons pruned in one round; null for no limit."
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
    bud_factor: Positive = Field(
        default=3.0,
        description="A bud becomes a layer where its neurons' mean score passes this many times "
        "the threshold.",
    )
    slow: Annotated[float, Field(gt=0, le=1)] = Field(
        default=1e-3,
        description="Rate a step of the moving average of gradients that scores are made of.",
    )
    neurons: Width = Field(default=64, description="Standing proposals for every layer of an mlp.")


DORMANT = MappingProxyType({"threshold": 3e-4, "stop": 0.0, "every": {"steps": 20}})
"""Defaults for `proposals: dormant`: the paper's, and rounds that stand for 20 steps each."""


class ExpansionSpec(Model):
    """When, where and by what the network grows; a text stands for the policy of that name."""

    policy: Annotated[str, BeforeValidator(_policy)] = Field(
        default="senn",
        description="What decides: `senn` (the expansion score), `random` (a control) or `none` "
        "(a fixed architecture).",
        json_schema_extra={"enum": list(POLICIES)},
    )
    proposals: Literal["search", "dormant"] | None = Field(
        default=None,
        description="Where proposals come from: `search` draws and optimises candidates in every "
        "round, `dormant` scores standing ones: unused neurons and buds. A densenet grows by "
        "`dormant` alone; null is what the network's kind grows by.",
    )
    threshold: NotNegative = Field(
        default=7e-3,
        description="tau: a proposal must raise the score by this share of it; 3e-4 by default for "
        "dormant proposals.",
    )
    stop: NotNegative = Field(
        default=2.5e-3,
        description="alpha: a proposal must raise the score by this much; 0 by default for dormant "
        "proposals.",
    )
    noise: NotNegative = Field(
        default=1.0,
        description="A proposal must also raise the score by more than this many times the upward "
        "bias of the sample (of dormant proposals: the standard error of their score): what is "
        "below may be chance. 0 to rely on tau and alpha alone.",
    )
    price: NotNegative = Field(
        default=1.0,
        description="What every parameter of a searched addition must bring in: its gain over all "
        "N training examples (N Delta eta / 2, and no more than is left of the loss), in nats of "
        "their likelihood, must reach this many a parameter. 1 is Akaike's criterion, log(N) / 2 "
        "the Bayesian one; less grows larger networks, and 0 asks for nothing, as the paper does.",
    )
    every: DurationField = Field(
        default=Duration(epochs=1),
        description="Time between two rounds, in steps or epochs; 20 steps by default for dormant "
        "proposals.",
    )
    start: DurationField | None = Field(
        default=None, description="No round before; null to begin with the first one due."
    )
    until: DurationField | None = Field(
        default=None, description="No round after; null to grow until the end."
    )
    samples: Count = Field(
        default=8192, description="Training examples that a round's scores are computed from."
    )
    score_on: Literal["held_out", "searched"] = Field(
        default="held_out",
        description="Whether the deciding score uses other examples than the search did.",
    )
    bias_removed: bool = Field(
        default=True, description="Remove the upward bias of a score from a small sample."
    )
    score_damping: Positive = Field(default=1e-3, description="Damping of the curvature in scores.")
    max_hidden: Count | None = Field(
        default=None, description="Most hidden neurons in all layers together; null for any."
    )
    max_parameters: Count | None = Field(
        default=None, description="Most parameters in use; null for any number."
    )
    width: Annotated[WidthSpec, _OnOff] = Field(
        default=WidthSpec(), description="Adding neurons; `false` switches it off."
    )
    depth: Annotated[DepthSpec, _OnOff] = Field(
        default=DepthSpec(), description="Inserting layers; `false` switches it off."
    )
    prune: Annotated[PruneSpec, _OnOff] = Field(
        default=PruneSpec(enabled=False), description="Taking neurons out; `true` switches it on."
    )
    dormant: DormantSpec = Field(
        default=DormantSpec(), description="Options of `proposals: dormant`."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"policy": value} if isinstance(value, str) else value


ExpansionField = Annotated[
    ExpansionSpec,
    AlsoAccepts(enum=list(POLICIES), description="The policy, its options as by default."),
]
"""The `expansion` section, whose JSON schema also allows the text."""
