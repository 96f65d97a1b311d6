"""How large the samples are that a round searches on and decides on. No JAX."""

from __future__ import annotations

from senn_cli.nets.features import Architecture

POSITIONS = 1 << 17
"""Positions of the largest map, over all examples, that a sample has: bounds time and memory."""

LEAST = 128
"""Examples that a sample has however many positions they have: gradients of one are alike."""

PIECE = 32
"""A sample of more examples than this is a multiple of it, so that it goes in even pieces."""


def examples_of(architecture: Architecture, wanted: int, there: int, *, held_out: bool) -> int:
    """How many examples a sample has.

    Args:
      wanted: at most so many.
      there: examples to train on, of which two samples that are `held_out` have no one in common.
    """
    most = max(m.positions for m in architecture.maps)
    bound = min(wanted, max(LEAST, POSITIONS // most)) if most > 1 else wanted
    count = max(1, min(bound, there // 2 if held_out else there))
    return count - count % PIECE if most > 1 and count > PIECE else count
