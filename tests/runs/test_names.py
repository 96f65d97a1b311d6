from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.runs.names import MAX_BYTES, slug


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mnist", "mnist"),
        ("lr_1e-3.v2", "lr_1e-3.v2"),
        ("My run: 3/4", "My-run-3-4"),
        ("../../etc/passwd", "etc-passwd"),
        ("--force", "force"),
        (".hidden", "hidden"),
        ("größe", "größe"),
        ("手書き数字", "手書き数字"),
        ("nul\x00\n", "nul"),
        ("", "run"),
        ("///", "run"),
        ("a" * 300, "a" * 80),
        ("ü" * 300, "ü" * 40),
    ],
)
def test_slug_of(name: str, expected: str) -> None:
    assert slug(name) == expected


@given(st.text())
def test_a_slug_is_always_one_harmless_part_of_a_path(name: str) -> None:
    part = slug(name)
    assert part
    assert len(part.encode()) <= MAX_BYTES
    assert not part.startswith((".", "-"))
    assert not set(part) & set("/\\\x00\n \t:*?")
    assert slug(part) == part
