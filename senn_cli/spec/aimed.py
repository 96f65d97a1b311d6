"""Policies of `expansion` at given times that aim new neurons by the loss's gradient.

Each is a member as in `given.py`, where their names are.
"""

from typing import ClassVar, Literal

from pydantic import Field

from senn_cli.spec.base import Count, Positive, Probability
from senn_cli.spec.given import WidensSpec


class AimedSpec(WidensSpec):
    """What they share.

    Attributes:
      smooth: whether it serves only activations that are 0 at 0 and smooth there.
      programs: how many are compiled for every layer.
    """

    convolves: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    programs: ClassVar[int] = 1

    samples: Count = Field(
        default=8192, description="Training examples that a round's choice is computed from."
    )


class GradMaxSpec(AimedSpec):
    """Neurons whose gradient is largest (Evci et al., 2022)."""

    policy: Literal["gradmax"] = Field(
        description="What decides: `gradmax` (neurons that read nothing yet and whose gradient is "
        "the largest that output weights of their length can give)."
    )
    outgoing: Positive = Field(
        default=0.5,
        description="Length of a new neuron's output weights, as a share of the mean length in its "
        "layer.",
    )


class TinySpec(AimedSpec):
    """Neurons for what the layer cannot express (Verbockhaven et al., 2024)."""

    programs: ClassVar[int] = 2

    policy: Literal["tiny"] = Field(
        description="What decides: `tiny` (neurons along the best linear map to what the layer "
        "cannot express, of the size that lowers the loss most)."
    )
    least: Probability = Field(
        default=0.1,
        description="Neurons whose singular value is below this share of the largest are left out.",
    )


class FireflySpec(AimedSpec):
    """The best of split and fresh neurons (Wu et al., 2020)."""

    smooth: ClassVar[bool] = False

    policy: Literal["firefly"] = Field(
        description="What decides: `firefly` (those of split and fresh neurons that lower the loss "
        "most, over all layers)."
    )
    candidates: Count = Field(
        default=32, description="Fresh neurons that are candidates, a layer; every old one is."
    )
    steps: Count = Field(default=20, description="Steps that optimise the candidates' directions.")
    size: Positive = Field(
        default=0.1,
        description="Size of the change by one candidate, as a share of the mean weights in its "
        "layer.",
    )


Aimed = GradMaxSpec | TinySpec | FireflySpec
"""One of them."""
