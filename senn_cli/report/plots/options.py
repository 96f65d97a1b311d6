"""What a person may choose about a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from senn_cli.report.record import Record

SINGLE, DOUBLE = 3.3, 6.8
"""Widths in inches of a figure over one column of a paper, and over two."""


@dataclass(frozen=True)
class Options:
    """The choices for one figure.

    Attributes:
      width: of the figure, in inches.
      title: above all; none where it is empty.
      steps: the recorded steps to show; empty for those that the kind chooses itself.
      baseline: the runs that others are compared with.
    """

    width: float = SINGLE
    title: str = ""
    steps: tuple[int, ...] = ()
    baseline: tuple[Record, ...] = ()

    @property
    def narrow(self) -> bool:
        """Whether the figure has room for one panel beside another only if both are small."""
        return self.width < 5.0
