"""Which units are new after an edit, and that they are found again after others."""

from __future__ import annotations

import numpy as np
import pytest

from senn_cli.growth.edits import (
    Activate,
    AddUnits,
    Edit,
    Enlarge,
    InsertLayer,
    PromoteBud,
    RemoveUnit,
    SplitUnit,
)
from senn_cli.growth.newborn import Units, followed, newborn
from senn_cli.nets.architecture import Layer
from senn_cli.nets.features import Architecture, hidden_feature
from senn_cli.nets.mlp import MlpArchitecture
from tests.densenets import architecture as densenet

EMPTY = MlpArchitecture(3, 2, (Layer(2, 6, "tanh"), Layer(3, 4, "tanh")))
DENSE = densenet((6, 6, 2), 3, [[(3, 5), (2, 4)]], bud=2)


def places(shape: Architecture, units: Units) -> list[list[int]]:
    """The numbers of the units, a hidden layer each."""
    names = [hidden_feature(shape, index).name for index in range(len(shape.hidden))]
    return [np.flatnonzero(units[name]).tolist() for name in names]


ADD = AddUnits(0, np.zeros((4, 2)), None)
SPLIT = SplitUnit(1, 0, (0.5, 0.5))
INSERT = InsertLayer(0, "outputs", np.zeros((4, 2)), 3)


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        (ADD, [[2, 3], []]),
        (SPLIT, [[], [3]]),
        (Enlarge(0, 7), [[], []]),
        (RemoveUnit(1, 0), [[], []]),
    ],
)
def test_of_a_fully_connected_network(edit: Edit, wanted: list[list[int]]) -> None:
    assert places(EMPTY, newborn(EMPTY, edit)) == wanted


def test_dormant_units_are_new_where_they_are_woken() -> None:
    """They were there before, but not in use."""
    assert places(DENSE, newborn(DENSE, Activate(0, (4,)))) == [[3], []]


def test_a_layer_is_new_as_a_whole() -> None:
    after = EMPTY.with_inserted(0, Layer(2, 3, "tanh"))
    assert places(after, newborn(EMPTY, INSERT)) == [[0, 1], [], []]
    more = DENSE.with_inserted(1, Layer(2, 4, "relu"))
    assert places(more, newborn(DENSE, PromoteBud(1, 0, 0, 4))) == [[], [0, 1], []]


def test_they_are_found_again_after_other_edits() -> None:
    units = newborn(EMPTY, ADD)
    four = EMPTY.with_layer(0, width=4)
    # The last unit in use takes the place of the one that goes.
    assert places(four, followed(units, four, RemoveUnit(0, 0))) == [[0, 2], []]
    assert places(four, followed(units, four, ADD)) == [[2, 3], []]
    # The layer gets another number.
    inserted = four.with_inserted(0, Layer(2, 3, "tanh"))
    assert places(inserted, followed(units, four, INSERT)) == [[], [2, 3], []]
