"""What the steps of a run's training have cost, counted in floating-point operations."""

from __future__ import annotations

from senn_cli.nets.features import Architecture
from senn_cli.report.record import Record

PASSES = 3
"""A step's gradient costs a forward pass and about two more."""


def forward(architecture: Architecture) -> int:
    """Operations of one example's forward pass: a product and a sum a weight and position.

    Only units in use count; activations, norms and pooling do not.
    """
    return sum(2 * m.positions * m.parameters for m in architecture.maps)


def training(record: Record) -> float | None:
    """Operations of all steps of a run, for one example a step: of gradients alone.

    What natural gradients, looks at the curvature and growth rounds cost beside them is not in it;
    seconds have it all. Between two evaluations the network counts as it was at the later one.
    Earlier networks count by their parameters, which is exact for fully connected ones.

    Returns:
      the sum over steps, to be multiplied by the batch size; None where the run does not tell.
    """
    architecture = record.architecture
    rows = [row for row in record.metrics if row.get("parameters") is not None]
    if architecture is None or not rows:
        return None
    final = rows[-1]["parameters"] or 1
    total, before = 0.0, 0
    for row in rows:
        total += (row["step"] - before) * row["parameters"] / final
        before = row["step"]
    return PASSES * forward(architecture) * total
