"""The arithmetic of a dry run, against counts by hand and against the arrays of a real trainer."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.spec import parse_spec
from senn_cli.training import assemble
from senn_cli.training.plan import Plan, make_plan

BASE = """
data: {source: moons, train: 100, test: 50, validation: 20}
network: {kind: mlp, hidden: [3, 5]}
training: {epochs: 2.5, batch_size: 30}
"""


def plan(*overrides: str) -> Plan:
    spec = parse_spec(BASE, overrides=overrides)
    return make_plan(spec, load_dataset(spec.data, spec.seed))


def test_the_length_of_the_run() -> None:
    found = plan()
    assert (found.batch, found.steps_per_epoch) == (30, 2)
    assert (found.steps, found.epochs, found.minutes) == (5, 2.5, None)
    assert found.examples == (80, 20, 50)
    timed = plan("training={minutes: 2, batch_size: full}", "optimizer.schedule=constant")
    assert (timed.steps, timed.epochs, timed.minutes) == (None, None, 2)
    assert timed.batch == 80


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("optimizer.momentum=0.9", "network.activation=tanh"),
        ("optimizer=adam", "expansion.policy=none"),
        ("optimizer=sgd", "network.hidden=[]"),
        ("optimizer.fixed_input_factor=false", "expansion.policy=none"),
        ("optimizer.solver=cg", "network.capacity.initial=[3, 6]"),
    ],
)
def test_memory_is_that_of_the_real_arrays(overrides: tuple[str, ...]) -> None:
    spec = parse_spec(BASE, overrides=overrides)
    dataset = load_dataset(spec.data, spec.seed)
    found = make_plan(spec, dataset)
    trainer = assemble.assemble(spec, dataset, Ledger())
    state = trainer.network.state

    def size(tree: Any) -> int:
        # Counters of a few bytes are not counted.
        return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if leaf.ndim > 0)

    assert found.start == trainer.network.architecture
    assert found.batch * trainer.timetable.per_epoch <= len(dataset.train)
    assert found.steps == trainer.timetable.total
    assert found.memory.parameters == size(state.params)
    assert found.memory.optimizer == size(state.optimizer)
    assert found.memory.curvature == size((state.curvature, trainer.input_spectrum))
    parts = [trainer.train, trainer.validation]
    assert found.memory.data == size([(part.x, part.y) for part in parts if part is not None])


def test_full_capacity() -> None:
    assert plan().full == plan().start
    assert plan("expansion=none").full == plan().start
    # Twelve more in the second layer, 8 to 16 and 24 (by half, in multiples of 8): as large as it
    # gets, since in the first they would cost a map of two inputs alone.
    full = plan("expansion.max_hidden=25").full
    assert sum(full.widths) == 25
    assert max(full.capacities) == 24
    limited = plan("expansion.max_hidden=25", "expansion.width.max_width=10").full
    assert limited.widths == (10, 10)
    narrow = plan("expansion.width.max_width=10", "expansion.depth=false").full
    assert (narrow.widths, narrow.capacities) == ((10, 10), (16, 16))
    assert plan("expansion.width.max_width=10").full == plan().start  # layers may come
    found = plan("expansion.max_hidden=25")
    assert found.full_memory.total > found.memory.total
    assert found.full_memory.data == found.memory.data


def test_full_capacity_of_a_linear_model() -> None:
    (layer,) = plan("network.hidden=[]", "expansion.max_hidden=20").full.hidden
    assert (layer.width, layer.activation) == (20, "rational")
    narrow = plan("network.hidden=[]", "expansion.max_hidden=5", "expansion.width=false").full
    assert narrow.widths == (2, 2)  # layers of two, as wide as the inputs and outputs
    assert plan("network.hidden=[]", "expansion.max_hidden=1").full.hidden == ()


def test_activations_and_growth_by_hand() -> None:
    found = plan("network.hidden=[]", "network.activation=tanh")
    assert found.memory.activations == 4 * 30 * (2 + 2 * 2)
    # Two samples of 40; 1 + 2 columns read, twice; 1 + 2 yielded; 2 told.
    assert found.memory.growth == 4 * 2 * 40 * (3 + 3 + 3 + 2)
    assert plan("expansion.policy=none").memory.growth == 0


def test_the_device_decides_on_automatic_capacities() -> None:
    assert plan("device=gpu").start.capacities == (64, 64)
    assert plan("device=cpu").start.capacities == (8, 8)
