"""The `expansion` section: when, where and by what the network grows.

It is a union by `policy` and `proposals`: a fixed architecture, proposals that are searched for,
standing ones, and the policies of `given.py` and `aimed.py`. An option of another member is
refused, with the choice that it belongs to.
"""

from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from senn_cli.spec.aimed import Aimed, FireflySpec, GradMaxSpec, TinySpec
from senn_cli.spec.base import AlsoAccepts, Count, Model, NotNegative, Positive, fault
from senn_cli.spec.describe import alternatives, describe
from senn_cli.spec.duration import Duration, DurationField
from senn_cli.spec.given import GIVEN, DynamicNodeCreationSpec, Given, Net2NetSpec, SplittingSpec
from senn_cli.spec.growth import (
    ON_OFF,
    BudSpec,
    DepthSearchSpec,
    DormantSpec,
    Growing,
    PruneSpec,
    WidthSearchSpec,
    WidthSpec,
)
from senn_cli.spec.suggest import closest
from senn_cli.spec.under import Under, under

POLICIES = MappingProxyType(
    {
        "senn": "grow where the natural expansion score says so",
        "random": "control: the same times and sites, weights from the initial distribution",
        "none": "a fixed architecture",
        **GIVEN,
    }
)
"""The policies that a spec can name, each with what it does."""

_UNPROPOSED = ("none", *GIVEN)

PROPOSALS = ("search", "dormant")
"""Where proposals can come from."""


def _one_of(value: Any, names: Any) -> Any:
    if isinstance(value, str) and value in names:
        return value
    found = f"should be one of {alternatives(names)}, found {describe(value)}"
    near = closest(value, names) if isinstance(value, str) else None
    raise fault(f"{found}; did you mean {near}?" if near else found)


def _no_control(value: Any) -> Any:
    if value == "random":
        raise fault(
            "should be senn for dormant proposals, which are random draws already, found random"
        )
    return value


_Policy = BeforeValidator(lambda value: _one_of(value, POLICIES))
_Accept = Literal["paid", "paper"]
_Proposals = BeforeValidator(lambda value: _one_of(value, PROPOSALS))


class FixedSpec(Model):
    """No growth."""

    policy: Annotated[Literal["none"], _Policy] = Field(description="A fixed architecture.")


class _Scored(Growing):
    """What both ways to decide by the expansion score have."""

    prune: Annotated[PruneSpec, ON_OFF] = Field(
        default=PruneSpec(enabled=False), description="Taking neurons out; `true` switches it on."
    )


_PAID = under(accept="paid")


class SearchSpec(_Scored):
    """Growth by candidates that every round draws and optimises."""

    policy: Annotated[Literal["senn", "random"], _Policy] = Field(
        default="senn",
        description="What decides: `senn` (the expansion score) or `random` (a control: the same "
        "times and sites, weights from the initial distribution).",
    )
    proposals: Annotated[Literal["search"], _Proposals] = Field(
        default="search",
        description="Where proposals come from: `search` draws and optimises candidates in every "
        "round. What a fully connected network grows by where nothing is said.",
    )
    threshold: NotNegative = Field(
        default=7e-3, description="tau: a proposal must raise the score by this share of it."
    )
    stop: NotNegative = Field(
        default=2.5e-3, description="alpha: a proposal must raise the score by this much."
    )
    noise: NotNegative = Field(
        default=1.0,
        description="A proposal must also raise the score by more than this many times the upward "
        "bias of the sample: what is below may be chance. 0 to rely on tau and alpha alone.",
    )
    accept: _Accept = Field(
        default="paid",
        description="What is asked beyond that: with `paid` an addition must pay for its "
        "parameters (`price`), and growth ends where it no longer gets anywhere (`patience`); "
        "`paper` keeps tau and alpha alone.",
    )
    price: Annotated[NotNegative, _PAID] = Field(
        default=0.2,
        description="What every parameter of an addition must bring in: its gain over all "
        "N training examples (N Delta eta / 2, and no more than is left of the loss), in nats of "
        "their likelihood, must reach this many a parameter. 1 is Akaike's criterion, log(N) / 2 "
        "the Bayesian one; less grows larger networks, and 0 asks for nothing. Of an mlp's input "
        "weights those count that the data determine, tr A (A + lambda)^-1 a neuron.",
    )
    patience: Annotated[Count | None, _PAID] = Field(
        default=5,
        description="Growth ends for good where so many rounds in a row have added nothing, or "
        "have found the validation loss, if there is one, above its lowest; null for never. Nor is "
        "anything added while the loss is above three times its median over five rounds.",
    )
    every: DurationField = Field(
        default=Duration(epochs=1), description="Time between two rounds, in steps or epochs."
    )
    thin_to: DurationField | None = Field(
        default=None,
        description="Every round that adds nothing doubles the time to the next, up to this; after "
        "one that adds something it is `every` again. null: it is always `every`.",
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
    realise: Annotated[bool, Under(("network.kind", ("mlp",)))] = Field(
        default=False,
        description="Whether new neurons gain at once: their output weights are those of the "
        "natural-gradient step that the score predicts, at the size that lowers the loss of the "
        "deciding sample most, which changes the function; else they are 0, which keeps it.",
    )
    width: Annotated[WidthSearchSpec, ON_OFF] = Field(
        default=WidthSearchSpec(), description="Adding neurons; `false` switches it off."
    )
    depth: Annotated[DepthSearchSpec, ON_OFF] = Field(
        default=DepthSearchSpec(), description="Inserting layers; `false` switches it off."
    )


class StandingSpec(_Scored):
    """Growth by standing proposals, with the paper's thresholds and rounds of 20 steps each."""

    policy: Annotated[Literal["senn"], BeforeValidator(_no_control), _Policy] = Field(
        default="senn", description="What decides: `senn`, the expansion score."
    )
    proposals: Annotated[Literal["dormant"], _Proposals] = Field(
        default="dormant",
        description="Where proposals come from: `dormant` scores standing ones, unused neurons and "
        "buds. What a densenet grows by where nothing is said.",
    )
    threshold: NotNegative = Field(
        default=3e-4, description="tau: a proposal must raise the score by this share of it."
    )
    stop: NotNegative = Field(
        default=0.0, description="alpha: a proposal must raise the score by this much."
    )
    noise: NotNegative = Field(
        default=1.0,
        description="A proposal must also raise the score by more than this many times the "
        "standard error of its score: what is below may be chance. 0 to rely on tau and alpha "
        "alone.",
    )
    accept: _Accept = Field(
        default="paper",
        description="What is asked beyond that: `paper` keeps tau and alpha alone; with `paid`, "
        "and where a price is given, an addition must pay for its parameters.",
    )
    price: Annotated[NotNegative, _PAID] = Field(
        default=0.1,
        description="What every parameter of an addition must bring in, as where proposals are "
        "searched for: its gain over all N training examples, in nats of their likelihood, must "
        "reach this many a parameter.",
    )

    @model_validator(mode="before")
    @classmethod
    def _priced(cls, value: Any) -> Any:
        priced = isinstance(value, dict) and "price" in value and "accept" not in value
        return {**value, "accept": "paid"} if priced else value

    every: DurationField = Field(
        default=Duration(steps=20), description="Time between two rounds, in steps or epochs."
    )
    width: Annotated[WidthSpec, ON_OFF] = Field(
        default=WidthSpec(), description="Adding neurons; `false` switches it off."
    )
    depth: Annotated[BudSpec, ON_OFF] = Field(
        default=BudSpec(), description="Inserting layers; `false` switches it off."
    )
    dormant: DormantSpec = Field(
        default=DormantSpec(), description="Options of standing proposals."
    )


ScoredSpec = SearchSpec | StandingSpec
"""One that decides by the expansion score, or is a control of it."""

GrowingSpec = ScoredSpec | Given | Aimed
"""One under which something may change."""

ExpansionSpec = FixedSpec | GrowingSpec
"""The section as it was read."""


def member(value: Any) -> str:
    """Which member of the union a section is meant to be.

    `search` or `dormant`, or the name of a policy that has no proposals.
    """
    if isinstance(value, Model):
        value = {name: getattr(value, name, None) for name in ("policy", "proposals")}
    if not isinstance(value, dict):
        return "search"
    if (policy := value.get("policy")) in _UNPROPOSED:
        return str(policy)
    return "dormant" if value.get("proposals") == "dormant" else "search"


class _AnyOf:
    """Annotation: where proposals are left to the network's kind, two members may fit."""

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The union's schema with `anyOf` in place of `oneOf`."""
        schema = handler(core_schema)
        return {"anyOf": schema["oneOf"]}


def _from_text(value: Any) -> Any:
    return {"policy": value} if isinstance(value, str) else value


ExpansionField = Annotated[
    Annotated[FixedSpec, Tag("none")]
    | Annotated[SearchSpec, Tag("search")]
    | Annotated[StandingSpec, Tag("dormant")]
    | Annotated[DynamicNodeCreationSpec, Tag("dynamic_node_creation")]
    | Annotated[Net2NetSpec, Tag("net2net")]
    | Annotated[SplittingSpec, Tag("splitting")]
    | Annotated[GradMaxSpec, Tag("gradmax")]
    | Annotated[TinySpec, Tag("tiny")]
    | Annotated[FireflySpec, Tag("firefly")],
    Discriminator(member),
    BeforeValidator(_from_text),
    _AnyOf(),
    AlsoAccepts(enum=list(POLICIES), description="The policy, its options as by default."),
]
"""The `expansion` section, whose JSON schema also allows the text."""


def with_proposals(value: Any, proposals: str) -> Any:
    """The section with `proposals` where it leaves them to the kind of the network."""
    value = _from_text(value)
    if not isinstance(value, dict) or value.get("policy") in _UNPROPOSED:
        return value
    if value.get("proposals") is not None:
        return value
    return {**value, "proposals": proposals}
