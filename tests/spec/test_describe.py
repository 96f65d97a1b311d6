"""How values are shown in messages."""

from __future__ import annotations

import pytest

from senn_cli.spec.describe import alternatives, describe, dotted, printable


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing (null)"),
        (True, "true"),
        (float("nan"), ".nan"),
        (float("-inf"), "-.inf"),
        (3, "3"),
        (2.5, "2.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (10**30, "an integer of more than 20 digits"),
        ("fast", 'the text "fast"'),
        ("x" * 99, 'the text "' + "x" * 37 + '..."'),
        ([1, 2], "a list of 2"),
        ([], "an empty list"),
        ({}, "an empty mapping"),
        ({"a": 1, "b": 2}, "a mapping with a, b"),
        (dict.fromkeys("abcde"), "a mapping with a, b, c, d, ..."),
    ],
)
def test_describe(value: object, words: str) -> None:
    assert describe(value) == words


def test_nothing_can_steer_a_terminal() -> None:
    assert printable("a\x1b[31m\nb") == "a\\x1b[31m\\nb"
    assert "\x1b" not in describe("\x1b]0;title\x07") + dotted(["a\x1b"])


def test_alternatives() -> None:
    assert alternatives(["a"]) == "a"
    assert alternatives(["a", "b", "c"]) == "a, b or c"
