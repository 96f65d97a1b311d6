"""The sources that a spec can name, in a line each, for `senn data list`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from senn_cli.data.mnist import cached, find
from senn_cli.data.published import PUBLISHED
from senn_cli.errors import DataError


@dataclass(frozen=True)
class Entry:
    """One source.

    Attributes:
      name: `data.source` in a spec.
      task: "classification", "regression", or both.
      size: training and test examples, in words.
      description: what it is.
      available: whether it can be used without a download.
      where: where it comes from on this machine.
    """

    name: str
    task: str
    size: str
    description: str
    available: bool
    where: str


def entries() -> tuple[Entry, ...]:
    """All sources, those that need nothing first."""
    both = "classification or regression"
    return (
        Entry(
            "digits",
            "classification",
            "1797",
            "8x8 handwritten digits of scikit-learn",
            True,
            "installed",
        ),
        Entry(
            "moons",
            "classification",
            "200 + 500 test (settable)",
            "two noisy half circles",
            True,
            "drawn from the seed",
        ),
        Entry(
            "regression",
            "regression",
            "50 + 1000 test (settable)",
            "a curve from a random rational network, one input",
            True,
            "drawn from the seed",
        ),
        *(
            Entry(name, "classification", "60000 + 10000 test", what, *_whereabouts(name))
            for name, what in (
                ("mnist", "28x28 handwritten digits"),
                ("fashion_mnist", "28x28 pictures of clothing"),
            )
        ),
        Entry("npz", both, "yours", "arrays in a NumPy archive: data.path", True, "your file"),
        Entry("csv", both, "yours", "a table: data.path and data.target", True, "your file"),
    )


def _whereabouts(name: str) -> tuple[bool, str]:
    """Whether a published data set is on this machine, and where it would come from."""
    published = PUBLISHED[name]
    try:
        if find(published, None) is not None:
            return True, f"SENN_DATA={os.environ['SENN_DATA']}"
    except DataError as error:
        return False, error.message
    if cached(published):
        return True, "downloaded"
    return False, f"to be downloaded, {published.megabytes} MB"
