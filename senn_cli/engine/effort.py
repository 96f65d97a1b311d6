"""How hard XLA works at a program for the CPU: optimising it may take longer than running it.

Measured with the quickstart: what `QUICK` compiles takes a tenth of the time to compile, and small
steps are no slower for it. With 784 inputs steps take twice as long, convolutions seven times. So
the effort follows the size of the data, never a clock: a run that is resumed rounds as it did.

With more data growth rounds are `BRISK`, which takes half the time to compile and as long to run:
for MNIST's first round 2.5 s in place of 4.9, and a search for layers 0.35 s, 1.0 if quick. So are
steps on data of MNIST's size: 1.0 s in place of 2.5, which some 7,000 steps make up for, as each
is 0 to 4% slower. And those of convolutions, which are compiled again for every capacity: 1.2 s in
place of 2.6, and 72.8 ms in place of 71.0 for 64 images at 32 x 32.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Effort = Literal["full", "brisk", "quick"]
"""`full` is XLA's own."""

QUICK: Mapping[str, bool | int] = MappingProxyType(
    {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
)
"""XLA's options of `quick`: nothing optimised, fused operations by the older emitters."""

BRISK: Mapping[str, bool | int] = MappingProxyType({**QUICK, "xla_backend_optimization_level": 1})
"""XLA's options of `brisk`."""

SMALL = 1 << 19
"""Numbers in the training inputs up to which all programs of a fully connected network are quick:
beyond, a round's matrices are what takes its time."""

MIDDLING = 1 << 26
"""Numbers in the training inputs up to which steps are brisk: runs on more take more of them."""

FEW = 1 << 10
"""Inputs of a network of convolutions up to which looks at its curvature, and scores, are quick."""

LOOKS = ("track", "score", "order")
"""Programs that a network of convolutions runs now and then, between its steps."""

ROUNDS = (
    *("observe", "target", "search_width", "search_depth"),
    *("activate", "score_width", "score_depth", "append", "realise"),
)
"""Programs of growth rounds that search for proposals."""


class Efforts(NamedTuple):
    """The efforts of a run.

    Attributes:
      steps: for steps and whatever is not named in `LOOKS` or `ROUNDS`.
      looks, rounds: for the programs named there.
    """

    steps: Effort = "full"
    looks: Effort = "full"
    rounds: Effort = "full"

    def of(self, program: str) -> Effort:
        """The effort for a program, by its name."""
        if program in ROUNDS:
            return self.rounds
        return self.looks if program in LOOKS else self.steps


def efforts_of(examples: int, inputs: int, *, convolves: bool, platform: str) -> Efforts:
    """The efforts of a run.

    Args:
      examples: of the training part; inputs: numbers an example.
      convolves: whether the network's steps are convolutions.
      platform: of JAX; only the CPU's programs are ever brisk or quick.
    """
    if platform != "cpu":
        return Efforts()
    if convolves:
        return Efforts("brisk", "quick" if inputs <= FEW else "brisk", "brisk")
    if examples * inputs <= SMALL:
        return Efforts("quick", "quick", "quick")
    middling: Effort = "brisk" if examples * inputs <= MIDDLING else "full"
    return Efforts(middling, middling, "brisk")


def options(effort: Effort) -> dict[str, bool | int] | None:
    """XLA's options of an effort; None for none."""
    return {"full": None, "brisk": dict(BRISK), "quick": dict(QUICK)}[effort]
