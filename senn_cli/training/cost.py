"""How many programs a run compiles, roughly: on small data that is most of what it costs."""

from __future__ import annotations

from senn_cli.nets.conv_architecture import DenseArchitecture
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.spec import Spec


def compilations(spec: Spec, architecture: AnyArchitecture, parts: int) -> tuple[int, int]:
    """Programs that are compiled up to the first rounds of growth, and for every new shape after.

    Args:
      architecture: that training starts from.
      parts: of the data; each has a program that evaluates it.

    Returns:
      Both numbers; the second is 0 where nothing grows. A new shape is an inserted layer or an
      enlarged capacity; neurons within a capacity compile nothing.
    """
    steps = 2  # training; the spectrum of the inputs, or the order of the batches
    if isinstance(architecture, DenseArchitecture):
        looks = 2 if spec.grows else 0  # the tracked curvature and the scores
        return steps + parts + looks, (1 + parts + looks if spec.grows else 0)
    if not spec.grows:
        return steps + parts, 0
    layers, maps = len(architecture.hidden), architecture.maps
    if spec.proposals == "dormant":
        return steps + parts + 2 + layers, 1 + parts + 2
    width, depth = spec.expansion.width.enabled, spec.expansion.depth.enabled
    # A look at the sample, a target for every map, and at every site a search and a score.
    first = 1 + (maps if depth else layers) + 2 * layers * width + 2 * maps * depth + width
    return steps + parts + first, 1 + parts + 2 * width + 2 * depth


def told(spec: Spec, architecture: AnyArchitecture, parts: int) -> str:
    """The numbers in words."""
    first, more = compilations(spec, architecture, parts)
    if not more:
        return f"about {first}"
    return f"about {first} at first, about {more} for every inserted layer and enlarged capacity"
