from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from senn_cli.growth import told
from senn_cli.growth.edits import Activate, AddUnits, InsertLayer, RemoveUnit
from senn_cli.growth.policy import Decision, Round
from senn_cli.growth.told import packed, unpacked

ROUND = Round(
    (
        Decision(
            AddUnits(
                0,
                np.arange(6, dtype=np.float32).reshape(3, 2),
                None,
                outgoing={"map_1": np.ones((2, 1, 4))},
            ),
            "it pays",
            threshold=7e-3,
            loss=0.5,
        ),
        Decision(InsertLayer(1, "inputs", np.eye(3)[[0, 1, 2, 2]][:, :3]), "deeper"),
        Decision(Activate(0, (4, 5)), "dormant"),
        Decision(RemoveUnit(0, 2, {"map_1": np.zeros((3, 1))}), "useless", change=1e-3),
    ),
    finished=False,
    ended=True,
)


def same(one: Any, other: Any) -> None:
    """Equal in types and values, arrays bit for bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif hasattr(one, "__dataclass_fields__"):
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    else:
        assert one == other


def test_a_round_comes_back_as_it_was() -> None:
    same(unpacked(packed(ROUND)), ROUND)


class Process:
    """One of two, of which process 0 says what was recorded."""

    count = 2

    def __init__(self, answers: list[Any] | None) -> None:
        self.answers, self.said = answers, list[Any]()

    def agreed(self, label: str, value: Any) -> Any:
        """What process 0 gives."""
        self.said.append(value)
        return value if self.answers is None else self.answers.pop(0)


def test_all_processes_do_what_process_0_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "PIECE", 100)
    first = Process(None)
    monkeypatch.setattr(told, "here", lambda: first)
    same(told.told(ROUND), ROUND)
    assert len(first.said) > 3  # in pieces
    monkeypatch.setattr(told, "here", lambda: Process(first.said))
    same(told.told(Round((Decision(None, "nothing pays"),))), ROUND)
