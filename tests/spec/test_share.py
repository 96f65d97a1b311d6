"""Shares as fractions, percentages and counts."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from senn_cli.spec.share import Part, Some, UpToAll


def read(kind: Any, value: object) -> Any:
    return TypeAdapter(kind).validate_python(value)


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        (0.1, 0.1),
        ("10%", 0.1),
        (" 33.3 %", 0.333),
        (10000, 10000),
        (1e4, 10000),
        (1, 1),
        ("0.5%", 0.005),
    ],
)
def test_shares(written: object, read_as: float) -> None:
    for kind in (Part, Some, UpToAll):
        found = read(kind, written)
        assert found == read_as
        assert type(found) is type(read_as)  # an int is a count, a float a fraction


def test_nothing_and_everything() -> None:
    for nothing in (0, 0.0, "0%"):
        assert read(Part, nothing) == 0
        assert isinstance(read(Part, nothing), float)
        for kind in (Some, UpToAll):
            with pytest.raises(ValidationError, match="more than 0"):
                read(kind, nothing)
    for everything in (1.0, "100%"):
        assert read(UpToAll, everything) == 1.0
        assert isinstance(read(UpToAll, everything), float)
        for kind in (Part, Some):
            with pytest.raises(ValidationError, match="below 1"):
                read(kind, everything)


@pytest.mark.parametrize(
    "value",
    [-0.1, -3, 2.5, True, None, "0.1", "10", "ten%", "101%", "-1%", float("nan"), float("inf"), []],
)
def test_no_shares(value: object) -> None:
    for kind in (Part, Some, UpToAll):
        with pytest.raises(ValidationError, match="should be a fraction"):
            read(kind, value)
