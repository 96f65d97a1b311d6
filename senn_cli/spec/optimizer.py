"""The `optimizer` section: natural gradient, Adam or plain gradient descent."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from senn_cli.spec.base import AlsoAccepts, Count, Fraction, Integral, Model, NotNegative, Positive
from senn_cli.spec.schedule import ScheduleField, ScheduleSpec

_Iterations = Annotated[int, Field(ge=1, le=1_000_000), Integral]

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "fast": {
            "solver": "kfac",
            "learning_rate": 0.3,
            "damping": 0.01,
            "momentum": 0.0,
            "weight_decay": 0.1,
            "metric": "auto",
            "kl_clip": 0.01,
            "moving_average": 0.95,
            "invert_every": 10,
            "schedule": "cosine",
        },
        "paper": {
            "solver": "cg",
            "learning_rate": 0.1,
            "damping": 0.1,
            "momentum": 0.0,
            "weight_decay": 0.0,
            "metric": "euclidean",
            "kl_clip": None,
            "moving_average": 0.95,
            "invert_every": 10,
            "cg_iterations": 100,
            "cg_tolerance": 1e-5,
            "schedule": "constant",
        },
    }
)
"""What each preset of the natural gradient fills in; the fields' defaults are those of `fast`."""


class NaturalGradientSpec(Model):
    """Natural gradient descent: the gradient times the inverse of a curvature matrix."""

    kind: Literal["natural_gradient"] = Field(
        default="natural_gradient", description="Natural gradient descent."
    )
    preset: Literal["fast", "paper"] | None = Field(
        default="fast",
        description="Fills in what is not written: `fast` (Kronecker factors, 0.3 as learning "
        "rate, 0.01 as damping, KL clip, cosine) or `paper` (conjugate gradients, 0.1 and 0.1, "
        "Euclidean metric, no clip, constant); null is like `fast`.",
    )
    solver: Literal["kfac", "cg"] = Field(
        default="kfac",
        description="`kfac` approximates the curvature by Kronecker factors, `cg` solves with the "
        "full matrix by conjugate gradients.",
    )
    learning_rate: Positive = Field(default=0.3, description="Peak learning rate.")
    damping: Positive = Field(
        default=0.01, description="Multiple of the identity that is added to the curvature."
    )
    momentum: Fraction = Field(default=0.0, description="Share of the last step that is repeated.")
    weight_decay: NotNegative = Field(
        default=0.1,
        description="Decoupled weight decay: what the weights are pulled towards zero by, beside "
        "the natural gradient. A fitted output shrinks by about this share, so 0 for targets "
        "without noise.",
    )
    metric: Literal["auto", "euclidean", "softmax", "gaussian"] = Field(
        default="auto",
        description="Metric of the output space: `softmax` (Fisher information of a "
        "classification), `gaussian` (of a regression), `euclidean`, or `auto` by task.",
    )
    kl_clip: Positive | None = Field(
        default=0.01,
        description="Largest step, measured by the curvature; null for no limit.",
    )
    moving_average: Fraction = Field(
        default=0.95, description="Share of the old Kronecker factors kept at every update."
    )
    invert_every: Count = Field(
        default=10, description="Steps between two inversions of the Kronecker factors."
    )
    fixed_input_factor: bool = Field(
        default=True,
        description="Compute the first layer's input factor once from the whole training set "
        "(exact as long as inputs don't change).",
    )
    cg_iterations: _Iterations = Field(
        default=100, description="Most iterations of conjugate gradients in one step."
    )
    cg_tolerance: Positive = Field(
        default=1e-5, description="Relative residual at which conjugate gradients stop."
    )
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="cosine"), description="How the learning rate changes."
    )

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        preset = value.get("preset")
        # Anything but a known name is reported by the field itself.
        return {**PRESETS[preset], **value} if preset in ("fast", "paper") else value


class AdamSpec(Model):
    """Adam, with decoupled weight decay."""

    kind: Literal["adam"] = Field(description="Adam.")
    learning_rate: Positive = Field(default=1e-3, description="Peak learning rate.")
    b1: Fraction = Field(default=0.9, description="Decay of the first moment.")
    b2: Fraction = Field(default=0.999, description="Decay of the second moment.")
    eps: Positive = Field(default=1e-8, description="Added to the root of the second moment.")
    weight_decay: NotNegative = Field(default=0.0, description="Decoupled weight decay.")
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="constant"), description="How the learning rate changes."
    )


class SgdSpec(Model):
    """Stochastic gradient descent."""

    kind: Literal["sgd"] = Field(description="Stochastic gradient descent.")
    learning_rate: Positive = Field(default=0.1, description="Peak learning rate.")
    momentum: Fraction = Field(default=0.0, description="Share of the last step that is repeated.")
    nesterov: bool = Field(default=False, description="Look ahead along the momentum.")
    weight_decay: NotNegative = Field(default=0.0, description="L2 regularisation of the weights.")
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="constant"), description="How the learning rate changes."
    )


def _kind(value: Any) -> Any:
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, dict) and "kind" not in value:
        return {"kind": "natural_gradient", **value}
    return value


OptimizerSpec = Annotated[
    NaturalGradientSpec | AdamSpec | SgdSpec,
    Field(discriminator="kind"),
    BeforeValidator(_kind),
    AlsoAccepts(
        enum=["natural_gradient", "adam", "sgd"],
        description="The kind of optimizer, its options as by default.",
    ),
]
"""The `optimizer` section; without a `kind` it is the natural gradient."""
