from __future__ import annotations

import shlex

import pytest

from senn_cli.words import hidden_units, plural, quoted


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 epoch"),
        (1.0, "1 epoch"),
        (0, "no epochs"),
        (2, "2 epochs"),
        (0.5, "0.5 epochs"),
        (2.0, "2 epochs"),
        (12345, "12,345 epochs"),
    ],
)
def test_a_number_and_its_noun(count: float, text: str) -> None:
    assert plural(count, "epoch") == text


def test_other_plurals() -> None:
    assert [plural(n, "class", "classes") for n in (1, 3)] == ["1 class", "3 classes"]
    assert plural(2, "round has", "rounds have") == "2 rounds have"
    assert plural(1, "round has", "rounds have") == "1 round has"


@pytest.mark.parametrize(
    ("widths", "text"),
    [
        ([], "no hidden neurons"),
        ([1], "1 hidden neuron"),
        ([1600], "1,600 hidden neurons"),
        ([16, 1], "16-1 hidden neurons"),
    ],
)
def test_no_network_has_none_hidden_neurons(widths: list[int], text: str) -> None:
    assert hidden_units(widths, "neuron") == text


@pytest.mark.parametrize(
    ("word", "text"),
    [("runs/a-1", "runs/a-1"), ("größe", "größe"), ("a b", "'a b'"), ("$x", "'$x'"), ("", "''")],
)
def test_quoted(word: str, text: str) -> None:
    assert quoted(word) == text
    assert shlex.split(quoted(word)) == [word]
