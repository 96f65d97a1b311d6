"""The `loss` section: what training minimises."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from senn_cli.spec.base import AlsoAccepts, Model, Positive
from senn_cli.spec.under import Under

Loss = Literal["cross_entropy", "bernoulli", "squared", "huber", "mae", "poisson"]
"""The losses; what each is of one example is in `engine/objective.py`."""

NATURAL: dict[str, Loss] = {
    "classification": "cross_entropy",
    "multilabel": "bernoulli",
    "regression": "squared",
}
"""What `auto` is for every task."""

REGRESSION: tuple[Loss, ...] = ("squared", "huber", "mae", "poisson")
"""The losses of a regression."""

_CLASSES = ("data.task", ("classification",))


def _class_weight(value: Any) -> Any:
    """Names of classes are texts, also where YAML reads numbers."""
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else value


class LossSpec(Model):
    """What training minimises."""

    kind: Literal["auto", "cross_entropy", "bernoulli", "squared", "huber", "mae", "poisson"] = (
        Field(
            default="auto",
            description="`cross_entropy` of a classification, `bernoulli` (every label on its "
            "own) of several labels, of a regression `squared`, `huber` or `mae` (outliers count "
            "less), or `poisson` (targets are counts, and the network yields the logarithm of "
            "their rate); `auto` by task: cross_entropy, bernoulli or squared.",
        )
    )
    label_smoothing: Annotated[Annotated[float, Field(ge=0, lt=1)], Under(_CLASSES)] = Field(
        default=0.0,
        description="Share of every label that is spread evenly over all classes, in training "
        "alone.",
    )
    class_weight: Annotated[
        Literal["balanced"] | dict[str, Positive] | None,
        BeforeValidator(_class_weight),
        Under(_CLASSES),
    ] = Field(
        default=None,
        description="How much the examples of a class count in training: `balanced` for classes "
        "that count alike whatever their sizes, or a mapping from names of classes to numbers, 1 "
        "for those that are not named; null for examples that count alike. Evaluations count every "
        "example once.",
    )
    delta: Annotated[Positive, Under(("loss.kind", ("huber",)))] = Field(
        default=1.0,
        description="Error from which on Huber's loss grows linearly, in the units of the scaled "
        "targets: standard deviations, unless data.normalize_targets is false.",
    )


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


LossField = Annotated[
    LossSpec,
    BeforeValidator(_kind),
    AlsoAccepts(
        enum=["auto", *get_args(Loss)],
        description="The kind, with its other options as by default.",
    ),
]
