"""The `optimizer` section: the natural gradient, and optimizers of plain gradients."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, model_validator

from senn_cli.spec.base import AlsoAccepts, Count, Fraction, Integral, Model, NotNegative, Positive
from senn_cli.spec.schedule import ScheduleField, ScheduleSpec
from senn_cli.spec.under import Under, under

_Iterations = Annotated[int, Field(ge=1, le=1_000_000), Integral]
_CG = under(solver="cg")
_EKFAC = under(solver="ekfac")
# The factors of a densenet are those of its section `curvature`.
_DAMPS = Under(("curvature.damping", (None,)), ("optimizer.solver", ("cg", "rows")))
_FACTORS = (under(solver=("kfac", "ekfac")), Under(("network.kind", ("mlp",))))

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "fast": {
            "solver": "kfac",
            "learning_rate": 0.3,
            "damping": 0.01,
            "momentum": 0.0,
            "weight_decay": 0.1,
            "metric": "auto",
            "kl_clip": 0.1,
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
    solver: Literal["kfac", "ekfac", "cg", "rows"] = Field(
        default="kfac",
        description="`kfac` approximates the curvature by Kronecker factors, `ekfac` corrects "
        "their eigenvalues, `cg` solves with the full matrix by conjugate gradients, `rows` solves "
        "it exactly by a system of batch times outputs, at most 2,000.",
    )
    learning_rate: Positive = Field(default=0.3, description="Peak learning rate.")
    damping: Annotated[Positive, _DAMPS] = Field(
        default=0.01, description="Multiple of the identity that is added to the curvature."
    )
    momentum: Fraction = Field(
        default=0.0,
        description="Share of the last step that is repeated, within `kl_clip`; of `rows`, the "
        "share of it that the solution is regularised towards (SPRING).",
    )
    weight_decay: NotNegative = Field(
        default=0.1,
        description="Decoupled weight decay: what the weights are pulled towards zero by, beside "
        "the natural gradient, and as much less as `kl_clip` shortens it. A fitted output shrinks "
        "by about this share, so 0 for targets without noise.",
    )
    metric: Literal["auto", "euclidean", "softmax", "gaussian"] = Field(
        default="auto",
        description="Metric of the output space: `softmax` (Fisher information of a "
        "classification), `gaussian` (of a regression), `euclidean`, or `auto` by task.",
    )
    kl_clip: Positive | None = Field(
        default=0.1,
        description="Largest step, measured by the curvature; null for no limit.",
    )
    adapt_damping: Annotated[bool, Under(("network.kind", ("mlp",)))] = Field(
        default=False,
        description="Let the damping follow how well the curvature foretells what steps do to the "
        "loss (Levenberg and Marquardt); `damping` is where it starts.",
    )
    moving_average: Annotated[Fraction, *_FACTORS] = Field(
        default=0.95, description="Share of the old Kronecker factors kept at every update."
    )
    invert_every: Annotated[Count, *_FACTORS] = Field(
        default=10,
        description="Steps between two inversions of the Kronecker factors; of `ekfac`, between "
        "two checks of their eigenbasis.",
    )
    basis_tolerance: Annotated[Positive, _EKFAC] = Field(
        default=0.1,
        description="Share of a factor off the diagonal in its eigenbasis above which a check "
        "makes that anew.",
    )
    fixed_input_factor: Annotated[bool, *_FACTORS] = Field(
        default=True,
        description="Compute the first layer's input factor once from the whole training set "
        "(exact as long as inputs don't change).",
    )
    cg_iterations: Annotated[_Iterations, _CG] = Field(
        default=100, description="Most iterations of conjugate gradients in one step."
    )
    cg_tolerance: Annotated[Positive, _CG] = Field(
        default=1e-5, description="Relative residual at which conjugate gradients stop."
    )
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="cosine"), description="How the learning rate changes."
    )

    @property
    def factored(self) -> bool:
        """Whether the solver is by Kronecker factors."""
        return self.solver in ("kfac", "ekfac")

    @model_validator(mode="wrap")
    @classmethod
    def _with_preset(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        # Anything but a known name is reported by the field itself.
        if not isinstance(value, dict) or value.get("preset") not in ("fast", "paper"):
            return handler(value)
        found = handler({**PRESETS[value["preset"]], **value})
        # What a preset fills in was not written: `under.unread` tells them apart.
        found.model_fields_set.intersection_update(value)
        return found


class _AdamSpec(Model):
    """What `adam` and `adamw` have."""

    kind: str
    learning_rate: Positive = Field(default=1e-3, description="Peak learning rate.")
    b1: Fraction = Field(default=0.9, description="Decay of the first moment.")
    b2: Fraction = Field(default=0.999, description="Decay of the second moment.")
    eps: Positive = Field(default=1e-8, description="Added to the root of the second moment.")
    weight_decay: NotNegative = Field(default=0.0, description="Decoupled weight decay.")
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="constant"), description="How the learning rate changes."
    )


class AdamSpec(_AdamSpec):
    """Adam, with decoupled weight decay."""

    kind: Literal["adam"] = Field(description="Adam.")


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


class AdamWSpec(_AdamSpec):
    """Adam as `adam` has it, with weight decay by default."""

    kind: Literal["adamw"] = Field(description="Adam with weight decay.")
    weight_decay: NotNegative = Field(default=0.01, description="Decoupled weight decay.")
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="constant"), description="How the learning rate changes."
    )


class RmsPropSpec(Model):
    """Gradients over the root of their mean squares."""

    kind: Literal["rmsprop"] = Field(description="RMSProp.")
    learning_rate: Positive = Field(default=1e-3, description="Peak learning rate.")
    decay: Fraction = Field(default=0.9, description="Decay of the mean squares.")
    eps: Positive = Field(default=1e-8, description="Added to the mean squares.")
    momentum: Fraction = Field(default=0.0, description="Share of the last step that is repeated.")
    weight_decay: NotNegative = Field(default=0.0, description="Decoupled weight decay.")
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="constant"), description="How the learning rate changes."
    )


class LionSpec(Model):
    """The sign of averaged gradients; every weight moves by the learning rate."""

    kind: Literal["lion"] = Field(description="Lion: the sign of averaged gradients.")
    learning_rate: Positive = Field(default=1e-4, description="Peak learning rate.")
    b1: Fraction = Field(
        default=0.9, description="Share of the average in what the sign is taken of."
    )
    b2: Fraction = Field(default=0.99, description="Decay of the average of gradients.")
    weight_decay: NotNegative = Field(default=0.1, description="Decoupled weight decay.")
    schedule: ScheduleField = Field(
        default=ScheduleSpec(kind="constant"), description="How the learning rate changes."
    )


class MuonSpec(Model):
    """Orthogonalised momentum for kernels; biases and coefficients of activations have Adam."""

    kind: Literal["muon"] = Field(description="Muon: orthogonalised momentum.")
    learning_rate: Positive = Field(default=0.02, description="Peak learning rate of kernels.")
    beta: Fraction = Field(default=0.95, description="Decay of the momentum.")
    nesterov: bool = Field(default=True, description="Look ahead along the momentum.")
    iterations: Annotated[int, Field(ge=1, le=100), Integral] = Field(
        default=5, description="Newton-Schulz iterations that orthogonalise the momentum."
    )
    adam_share: Positive = Field(
        default=0.05, description="Learning rate of all but kernels, as a share of that of kernels."
    )
    b1: Fraction = Field(default=0.9, description="Adam's decay of the first moment.")
    b2: Fraction = Field(default=0.999, description="Adam's decay of the second moment.")
    eps: Positive = Field(default=1e-8, description="Added to the root of Adam's second moment.")
    weight_decay: NotNegative = Field(default=0.0, description="Decoupled weight decay.")
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
    NaturalGradientSpec | AdamSpec | AdamWSpec | SgdSpec | RmsPropSpec | LionSpec | MuonSpec,
    Field(discriminator="kind"),
    BeforeValidator(_kind),
    AlsoAccepts(
        enum=["natural_gradient", "adam", "adamw", "sgd", "rmsprop", "lion", "muon"],
        description="The kind of optimizer, its options as by default.",
    ),
]
"""The `optimizer` section; without a `kind` it is the natural gradient."""
