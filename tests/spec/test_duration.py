"""Durations in three units, written as mappings and as texts."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from senn_cli.spec import Duration


def made(value: object) -> Duration:
    return Duration.model_validate(value)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("10 epochs", "epochs", 10),
        ("1 epoch", "epochs", 1),
        ("0.5 epochs", "epochs", 0.5),
        ("300 steps", "steps", 300),
        ("1e3 steps", "steps", 1000),
        ("5 minutes", "minutes", 5),
        ("5m", "minutes", 5),
        (" 2.5min ", "minutes", 2.5),
        ("7 Epochs", "epochs", 7),
    ],
)
def test_texts(text: str, unit: str, value: float) -> None:
    assert made(text) == made({unit: value})
    assert (made(text).unit, made(text).value) == (unit, value)


@pytest.mark.parametrize(
    "value",
    [10, 2.5, True, None, [1], "10", "epochs", "10 parsecs", "-1 epochs", "1.5 steps", "0 epochs"],
)
def test_no_durations(value: object) -> None:
    with pytest.raises(ValidationError):
        made(value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "should give one of steps, epochs or minutes"),
        ({"epochs": 1, "steps": 2}, "is given beside steps"),
        ({"steps": None}, "should give one of"),
        ({"epochs": 0}, "greater than 0"),
        ({"steps": 1.5}, "valid integer"),
        ({"epochs": float("nan")}, "finite"),
        ({"epochs": float("inf")}, "finite"),
        ({"steps": True}, "valid integer"),
        ({"epoch": 1}, "Extra inputs"),
    ],
)
def test_faulty_mappings(value: object, message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        made(value)


def test_in_steps() -> None:
    assert Duration(steps=7).in_steps(100) == 7
    assert Duration(epochs=2.5).in_steps(100) == 250
    assert Duration(epochs=0.001).in_steps(100) == 1  # at least one step
    with pytest.raises(ValueError, match="5 minutes has no length in steps"):
        Duration(minutes=5).in_steps(100)


def test_written_form_is_the_mapping() -> None:
    assert made("10 epochs").model_dump() == {"epochs": 10}
    assert made("0.5 epochs").model_dump() == {"epochs": 0.5}
    assert made("1e9 epochs").model_dump() == {"epochs": 10**9}
    assert str(made("1 epoch")) == "1 epoch"
    assert str(made("300 steps")) == "300 steps"
