"""The `transfer` section: what `senn transfer` takes from another run, and what stays fixed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from senn_cli.spec.base import Listed, Model, fault
from senn_cli.spec.found import Found

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec

_Part = Annotated[str, StringConstraints(min_length=1)]


class TransferSpec(Model):
    """What `senn transfer --from RUN` does with the network of RUN; `senn train` has no use for it.

    The hidden layers are always those of RUN; they take the place of the network's own.
    """

    head: Literal["zero", "fresh", "keep"] = Field(
        default="zero",
        description="The map to the outputs: `zero` starts a new one at zero, `fresh` draws a new "
        "one, `keep` takes that of the origin, which must have as many outputs.",
    )
    inputs: Literal["keep", "fresh"] = Field(
        default="keep",
        description="The map from the inputs: that of the origin, which must have as many inputs, "
        "or `fresh` for one drawn anew.",
    )
    optimizer: Literal["reset", "keep"] = Field(
        default="reset",
        description="The optimizer's state, such as momentum: begun anew, or kept from the origin, "
        "which must have the same kind of optimizer.",
    )
    curvature: Literal["reset", "keep"] = Field(
        default="reset",
        description="The Kronecker factors: begun anew, or kept from the origin, which must have "
        "the same solver, kfac or ekfac.",
    )
    freeze: Annotated[tuple[_Part, ...], Listed] = Field(
        default=(),
        description="Parts that training leaves as they are: `layer 0`, ... (its map and "
        "activation), `map_0`, `activation_0`, ... or `output`. What growth adds to them is "
        "trained.",
    )

    @model_validator(mode="after")
    def _each_once(self) -> TransferSpec:
        if len(set(self.freeze)) < len(self.freeze):
            raise fault("should name every part to freeze once")
        return self


def transfer_faults(spec: Spec) -> Iterator[Found]:
    """What of the section does not go with the rest of the spec."""
    if spec.transfer.freeze and spec.growth is not None and spec.growth.depth.enabled:
        yield Found(
            ("transfer", "freeze"),
            "should be left out while expansion.depth is on: a layer that is inserted within a "
            "frozen map would replace its weights; write `depth: false` to add neurons alone",
            ("expansion.policy", "expansion.depth.enabled"),
        )
