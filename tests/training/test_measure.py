from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from senn_cli.data.dataset import Dataset, Part
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.evaluate import make_add, make_evaluate
from senn_cli.engine.feed import Feed, placed
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import Ledger, Program
from senn_cli.training.measure import Measure
from senn_cli.training.network import Network, TrainState, on_device
from tests.densenets import architecture, initial_masks, random_parameters, run

RNG = np.random.default_rng(0)
NET = architecture((4, 4, 1), 3, [[(2, 3)]])
MASKS = initial_masks(NET)
PARAMS = random_parameters(RNG, NET, MASKS)
NONE, ALL = np.zeros(1, np.float32), np.ones(1, np.float32)


def part(n: int) -> Part:
    x = RNG.standard_normal((n, 4, 4, 1)).astype(np.float32)
    return Part(x, RNG.integers(0, 3, n).astype(np.int32), np.arange(n))


DATA = Dataset(
    "images", "classification", part(7), part(3), part(16), ("a", "b", "c"), NONE, ALL, NONE, ALL
)


@pytest.fixture
def network() -> Network:
    single = {k: {leaf: np.float32(v) for leaf, v in tree.items()} for k, tree in PARAMS.items()}
    state: Any = (np.int32(0), single, {}, None)
    return on_device(NET, TrainState(*state))


def measure(ledger: Ledger) -> Measure:
    whole = Program("evaluate", make_evaluate(CLASSIFICATION), ledger, static=(0,))
    return Measure(
        DATA, whole, Program("evaluate", make_add(CLASSIFICATION), ledger, static=(0, 4)), ledger
    )


def expected(data: Part) -> tuple[float, float]:
    """Cross-entropy and accuracy by the definition, in NumPy."""
    y, labels = run(NET, PARAMS, MASKS, data.x.astype(float))[0], np.asarray(data.y)
    log_p = y - np.log(np.exp(y).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(y)), labels].mean(), (y.argmax(axis=1) == labels).mean()


def test_one_program_measures_all_parts_of_images(network: Network) -> None:
    ledger = Ledger()
    measured = measure(ledger)
    whole = placed(DATA, DATA.train)
    assert isinstance(whole, Arrays)
    # Compiled beforehand, as for a capacity to come; then used for parts of any size.
    measured.expect(whole, network)()
    assert DATA.validation is not None
    for data in (DATA.train, DATA.validation, DATA.test):
        found = measured(placed(DATA, data), network)
        np.testing.assert_allclose(found, expected(data), rtol=1e-5)
    assert ledger.compiled == {"evaluate": 1}


def test_what_the_host_hands_out_is_measured_alike(network: Network) -> None:
    found = measure(Ledger())(Feed(DATA, DATA.test), network)
    np.testing.assert_allclose(found, expected(DATA.test), rtol=1e-5)
