"""The `curvature` section: Kronecker factors that are tracked beside the steps of training."""

from typing import Annotated, Literal

from pydantic import Field

from senn_cli.spec.base import Count, Fraction, Integral, Model, Positive, Width
from senn_cli.spec.duration import Duration, DurationField
from senn_cli.spec.under import Under, under

_Few = Annotated[int, Field(ge=1, le=4096), Integral]


class CurvatureSpec(Model):
    """How curvature is tracked beside the steps: for scores, and a densenet's natural gradient."""

    every: DurationField = Field(
        default=Duration(steps=10), description="Time between two looks at a batch."
    )
    method: Literal["ema", "rank_one"] = Field(
        default="ema",
        description="`ema` averages the factors and inverts them by Cholesky, `rank_one` tracks "
        "inverse roots by the paper's rank-one updates.",
    )
    moving_average: Fraction = Field(
        default=0.95, description="Share of the old Kronecker factors kept at every look."
    )
    invert_every: Count = Field(
        default=1, description="Looks between two inversions, or checks of the inverse roots."
    )
    damping: Positive | None = Field(
        default=None,
        description="Multiple of the identity that is added to the curvature; null for "
        "optimizer.damping under the natural gradient, else 1e-3.",
    )
    samples: Width | None = Field(
        default=None, description="Training examples looked at each time; null for a batch."
    )
    stride: Annotated[_Few, Under(("network.kind", ("densenet",)))] = Field(
        default=2,
        description="One position of an image in stride^2 counts for the input factors, on a grid "
        "at a random offset; 1 takes all of them.",
    )
    vectors: Annotated[_Few, under(method="rank_one")] = Field(
        default=4, description="Rank-one updates of every factor at a look (`rank_one`)."
    )
