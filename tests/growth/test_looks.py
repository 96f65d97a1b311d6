from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from senn_cli.growth.looks import LOOKS, look
from senn_cli.growth.policy import View
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import initial_parameters
from tests.views import view_of


@pytest.fixture(scope="module")
def view() -> View:
    """A view of a network that no look reads."""
    network = MlpArchitecture(2, 1, (Layer(2, 2, "silu"),))
    data = np.zeros((4, 2)), np.zeros((4, 1))
    return view_of(network, initial_parameters(network, 0), *data)


def reasons(
    view: View, losses: list[float], patience: int | None = 3, *, validated: bool = True
) -> list[str | None]:
    """What the look of every tenth step finds, each given what those before it have kept."""
    found, kept = list[str | None](), view.kept
    for number, loss in enumerate(losses, start=1):
        measured: Any = {"reference": lambda loss=loss: loss, "validated": validated}
        result = look(replace(view, step=10 * number, kept=kept, **measured), patience)
        found.append(result.reason)
        kept = result.kept
        assert len(kept) <= 1 + max(patience or 0, LOOKS)
    return found


def test_growth_ends_where_the_validation_loss_contradicts(view: View) -> None:
    """It ends at the third look in a row above the lowest, for good, and says which that was."""
    found = reasons(view, [2.0, 1.0, 1.2, 0.5, 0.6, 0.7, 0.6, 0.1, 0.05])
    assert found[:6] == [None] * 6
    assert found[6] is not None
    assert "up to step 70" in found[6] and "above the 0.5 of step 40" in found[6]
    assert found[7:] == [found[6]] * 2


def test_a_new_lowest_begins_the_patience_anew(view: View) -> None:
    """Equal losses are no progress."""
    assert reasons(view, [1.0, 1.1, 1.2, 0.9, 1.0, 1.0, 0.8, 0.9, 0.9]) == [None] * 9
    assert reasons(view, [1.0, 1.0, 1.0, 1.0])[3] is not None


def test_the_training_loss_contradicts_nothing(view: View) -> None:
    """Without validation data a loss that rises ends no growth."""
    assert reasons(view, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], validated=False) == [None] * 6


@pytest.mark.parametrize("validated", [True, False])
def test_nothing_is_added_within_a_jump(view: View, validated: bool) -> None:
    """Above three times the median of five looks, its own among them; then growth goes on."""
    found = reasons(view, [0.9, 1.0, 0.8, 0.7, 3.0, 0.6, 2.1], 9, validated=validated)
    assert [reason is not None for reason in found] == [False] * 4 + [True, False, False]
    assert found[4] == "the loss has jumped: 3, above 3 times its median of 0.9"


def test_growth_ends_after_idle_rounds(view: View) -> None:
    """The loss is not even measured then."""
    assert look(replace(view, reference=lambda: 1.0, idle=2), 3).reason is None
    found = look(replace(view, reference=lambda: 1 / 0, idle=3, kept=((5, 1.0),)), 3)
    assert found.reason == "growth has ended: 3 rounds in a row added nothing" and found.ended
    assert found.kept == ((5, 1.0),)


def test_nothing_is_asked_for_without_patience(view: View) -> None:
    """Nor in a round that goes on: it has been looked at."""
    seen = replace(view, reference=lambda: 1 / 0, kept=((5, 1.0),), idle=99)
    assert look(seen, None) == look(replace(seen, asked=1), 3) == (None, ((5, 1.0),), False)
