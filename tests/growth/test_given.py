from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from senn_cli.growth.policies.given import Places, flatness, fresh
from senn_cli.growth.settings import Limits
from tests.densenets import architecture
from tests.views import bare


def test_the_narrowest_layer_is_next_and_the_last_is_told_first(nets: Any) -> None:
    shape = nets.architecture(5, [(3, 4, "tanh"), (1, 3, "tanh"), (3, 3, "tanh")], 2)
    for limits, layers, wanted in (
        (Limits(per_round=1), None, [(1, 1)]),
        (Limits(per_round=3), None, [(1, 2), (0, 1)]),  # 3 1 3, 3 2 3, 3 3 3, 4 3 3
        (Limits(per_round=3), (0, 2), [(2, 1), (0, 2)]),
        (Limits(per_round=9, max_width=3), None, [(1, 2)]),
        (Limits(per_round=9, max_hidden=8), None, [(1, 1)]),
        (Limits(per_round=9, max_width=3), (0,), []),
    ):
        assert Places(limits, layers).of(shape) == wanted


def test_ashs_criterion_by_hand() -> None:
    """Losses at steps 10, 20, ...; w = 20, and 0.1 as its share of the first, 2."""
    losses = [2.0, 1.5, 1.0, 0.95, 0.85, 0.84]
    kept: Any = ()
    flat = []
    for number, loss in enumerate(losses):
        found = flatness(kept, 10 * (number + 1), loss, 20, 0.1)
        flat.append(found.flat)
        kept = found.kept
    # 30: (2 - 1) / 2; 40: (1.5 - 0.95) / 2; 50: (1 - 0.85) / 2 = 0.075; 60: (0.95 - 0.84) / 2.
    assert flat == [False, False, False, False, True, True]
    assert kept == ((10, 2.0), (40, 0.95), (50, 0.85), (60, 0.84))
    assert found.since == ((60, 0.84),)
    assert not flatness(found.since, 70, 0.84, 20, 0.1).flat, "the loss is given its time"
    assert flatness(((60, 0.84),), 80, 0.84, 20, 0.1).flat
    assert not flatness(((60, 0.0),), 80, 0.0, 20, 0.1).flat, "nothing is left"


def test_fresh_units_are_of_the_initial_size(nets: Any) -> None:
    """LeCun's variance, 1 / n, times the scale, of what they read and of their readers."""
    shape = nets.architecture(400, [(100, 120, "tanh"), (300, 300, "tanh")], 2)
    found = fresh(bare(shape, seed=1, step=20), 0, 20, 0.5, "test")
    assert found.incoming.shape == (401, 20)
    np.testing.assert_array_equal(found.incoming[0], 0)  # biases of tanh
    assert found.incoming[1:].std() == pytest.approx(0.5 / np.sqrt(400), rel=0.05)
    assert found.outgoing is not None
    (weights,) = found.outgoing.values()
    assert weights.shape == (20, 1, 300)
    assert weights.std() == pytest.approx(0.5 / np.sqrt(120), rel=0.05)
    again = fresh(bare(shape, seed=1, step=20), 0, 20, 0.5, "test")
    np.testing.assert_array_equal(found.incoming, again.incoming)


def test_fresh_channels_are_read_by_all_that_read_the_layer() -> None:
    net = architecture((6, 6, 1), 3, [[(3, 8), (2, 8), (4, 8)]], bud=0)
    found = fresh(bare(net), 0, 2, 1.0, "test")
    assert found.outgoing is not None
    shapes = {name: weights.shape for name, weights in found.outgoing.items()}
    assert shapes == {"block_0/layer_1": (2, 9, 2), "block_0/layer_2": (2, 9, 4)}
