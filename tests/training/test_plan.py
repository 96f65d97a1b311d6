"""The arithmetic of a dry run, against counts by hand and against the arrays of a real trainer."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.cli.plan import memories, notes
from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.nets.features import Architecture
from senn_cli.spec import parse_spec
from senn_cli.training import assemble
from senn_cli.training.plan import Plan, make_plan

MLP = """
data: {source: moons, train: 100, test: 50, validation: 20}
network: {kind: mlp, hidden: [3, 5]}
training: {epochs: 2.5, batch_size: 30}
"""
DENSE = """
data: {source: digits, subset: 50}
network: {kind: densenet, blocks: [[4], [4]], bud: 4, capacity: {initial: 8}}
training: {epochs: 1, batch_size: 10}
"""


def plan(*overrides: str, base: str = MLP) -> Plan:
    spec = parse_spec(base, overrides=overrides)
    return make_plan(spec, load_dataset(spec.data, spec.seed))


def full(*overrides: str, base: str = MLP) -> Architecture:
    return plan(*overrides, base=base).full


def test_the_length_of_the_run() -> None:
    found = plan()
    assert (found.batch, found.steps_per_epoch) == (30, 2)
    assert (found.steps, found.epochs, found.minutes) == (5, 2.5, None)
    assert found.examples == (80, 20, 50)
    timed = plan("training={minutes: 2, batch_size: full}", "optimizer.schedule=constant")
    assert (timed.steps, timed.epochs, timed.minutes) == (None, None, 2)
    assert timed.batch == 80


@pytest.mark.parametrize(
    ("base", "overrides"),
    [
        (MLP, ()),
        (MLP, ("optimizer.momentum=0.9", "network.activation=tanh")),
        (MLP, ("optimizer=adam", "expansion.policy=none")),
        (MLP, ("optimizer=sgd", "network.hidden=[]")),
        (MLP, ("optimizer.fixed_input_factor=false", "expansion.policy=none")),
        (MLP, ("optimizer.solver=cg", "network.capacity.initial=[3, 6]")),
        (MLP, ("device.count=4",)),
        (MLP, ("device={count: 3, data_memory: 2e-7}",)),
        (DENSE, ()),
        (DENSE, ("optimizer.momentum=0.9", "expansion.depth=false")),
        (DENSE, ("optimizer=adam",)),
        (DENSE, ("optimizer=adam", "expansion={proposals: search, depth: false}")),
        (DENSE, ("optimizer=sgd", "expansion.policy=none")),
    ],
)
def test_memory_is_that_of_the_real_arrays(base: str, overrides: tuple[str, ...]) -> None:
    spec = parse_spec(base, overrides=overrides)
    dataset = load_dataset(spec.data, spec.seed)
    found = make_plan(spec, dataset)
    trainer = assemble.assemble(spec, dataset, Ledger())
    state = trainer.network.state

    def size(tree: Any) -> int:
        """On the first device, as on every other one."""
        return sum(leaf.addressable_shards[0].data.nbytes for leaf in jax.tree.leaves(tree))

    # Counters of a few bytes are not counted.
    curvature = [a for a in jax.tree.leaves(state.curvature) if a.ndim > 1 and a.dtype != np.int32]
    moments = [a for a in jax.tree.leaves(state.optimizer) if a.ndim > 0]
    assert found.start == trainer.network.architecture
    assert found.batch * trainer.timetable.per_epoch <= len(dataset.train)
    assert found.steps == trainer.timetable.total
    assert found.memory.parameters == size(state.params)
    assert found.memory.optimizer == size(moments)
    assert found.memory.curvature == size((curvature, trainer.input_spectrum))
    parts = [trainer.train, trainer.validation]
    assert found.memory.data == size([(part.x, part.y) for part in parts if part is not None])
    assert found.devices == len(trainer.network.widths.sharding.device_set)


def test_full_capacity() -> None:
    assert plan().full == plan().start
    assert plan("expansion=none").full == plan("expansion=none").start
    # Twelve more in the second layer, 8 to 16 and 24 (by half, in multiples of 8): as large as it
    # gets, since in the first they would cost a map of two inputs alone.
    eights = "network.capacity.multiple=8"
    full = plan("expansion.max_hidden=25", eights).full
    assert sum(full.widths) == 25
    assert max(full.capacities) == 24
    limited = plan("expansion.max_hidden=25", "expansion.width.max_width=10").full
    assert limited.widths == (10, 10)
    narrow = plan("expansion.width.max_width=10", "expansion.depth=false", eights).full
    assert (narrow.widths, narrow.capacities) == ((10, 10), (16, 16))
    assert plan("expansion.width.max_width=10").full == plan().start  # layers may come
    found = plan("expansion.max_hidden=25", eights)
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


def test_the_samples_of_a_policy_that_aims_by_hand() -> None:
    """1 + 2 and 1 + 3 columns read, twice; 3 and 2 yielded and told; of 2 times 10, or all 80."""
    sizes = "network.hidden=[3]", "network.capacity.initial=[3]"
    for samples, count in ((10, 20), (8192, 80)):
        section = f"expansion={{policy: tiny, samples: {samples}, max_hidden: 4}}"
        assert plan(*sizes, section).memory.growth == 4 * count * (2 * (3 + 4) + 2 * (3 + 2))


def test_a_device_of_several_has_its_share_of_batches_and_samples() -> None:
    found = plan("network.hidden=[]", "network.activation=tanh", "device.count=4")
    assert found.memory.activations == 4 * 8 * (2 + 2 * 2)  # of 30 examples 8, 8, 8 and 6
    assert found.memory.growth == 4 * 2 * 10 * (3 + 3 + 3 + 2)
    alone = plan("network.hidden=[]", "network.activation=tanh")
    assert found.memory.parameters == alone.memory.parameters
    assert found.memory.data == alone.memory.data


def test_what_convolutions_compute_in_and_keep_by_hand() -> None:
    """One of 64 positions, which reads 1 and 5 channels, yields 4 and 4; the head reads 4."""
    base = DENSE.replace("[[4], [4]], bud: 4, capacity: {initial: 8}", "[[4, 4]]")
    base += "expansion: none\n"
    read, told = 64 * (1 + 5) + 4, 2 * (64 * (4 + 4) + 10)
    assert plan(base=base).memory.activations == 4 * 10 * (read + told)
    half = plan("network.compute=bfloat16", base=base)
    assert half.memory.activations == 2 * 10 * (read + told)
    again = plan("network.recompute=true", base=base)
    assert again.memory.activations == 4 * 10 * (64 * 5 + told)


def test_all_devices_are_those_that_can_be_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=3 --other")
    assert plan("device={kind: cpu, count: all}").devices == 3
    monkeypatch.delenv("XLA_FLAGS")
    assert plan("device={kind: cpu, count: all}").devices == 1


def test_the_device_decides_on_automatic_capacities() -> None:
    assert plan("device=gpu").start.capacities == (64, 64)
    assert plan("device=cpu", "expansion=none").start.capacities == (8, 8)


def test_networks_that_grow_on_small_data_have_room() -> None:
    assert plan("device=cpu").start.capacities == (32, 32)
    assert plan("device=cpu", "network.capacity.multiple=8").start.capacities == (8, 8)
    large = "data={source: moons, train: 300000, test: 50}"  # 2 numbers an example, of 2^19 in all
    assert plan("device=cpu", large).start.capacities == (8, 8)


def test_without_limits_nothing_is_promised_of_a_densenet() -> None:
    assert full("expansion.depth.per_block=null", base=DENSE) == plan(base=DENSE).start
    assert full(base=DENSE) == plan(base=DENSE).start  # widths have no limit
    assert full("expansion=none", base=DENSE).widths == (4, 4)


def test_layers_of_a_densenet_that_searches_are_its_buds() -> None:
    searched = "expansion={proposals: search, depth: {per_block: 2}, width: {max_width: 6}}"
    assert full(searched, base=DENSE).widths == (6, 6, 6, 6)
    # Without buds no layer comes, so that the widths alone set the end.
    assert full(searched, "network.bud=0", base=DENSE).widths == (6, 6)


def test_max_hidden_and_max_width_limit_a_densenet() -> None:
    found = full("expansion={max_hidden: 20, depth: false, width: {max_width: 16}}", base=DENSE)
    # Twelve more channels, in the block with the larger images, whose room then is no more than 16.
    assert found.widths == (16, 4)
    assert found.capacities == (16, 8)
    grown = plan("expansion={max_hidden: 20, depth: false, width: {max_width: 16}}", base=DENSE)
    assert grown.full_memory.total > grown.memory.total
    assert grown.full_memory.growth > grown.memory.growth > 0


def test_per_block_limits_a_densenet() -> None:
    found = full("expansion={depth: {per_block: 3}, width: {max_width: 6}}", base=DENSE)
    assert [len(block) for block in found.blocks] == [3, 3]
    assert found.widths == (6,) * 6
    # Six layers of four channels, and sixteen channels more in one of them.
    found = full("expansion={depth: {per_block: 3}, max_hidden: 40}", base=DENSE)
    assert sum(found.widths) == 40
    assert len(found.hidden) in (2, 6)
    fixed = full("expansion={depth: {max_layers: 3}, width: false}", base=DENSE)
    assert fixed.widths == (4, 4, 4)


def test_what_a_look_needs_by_hand() -> None:
    found = plan(
        "network={kind: densenet, blocks: [[2]], capacity: {initial: 4}}",
        "expansion.depth=false",
        "curvature={samples: 10, stride: 2}",
        base=DENSE,
    )
    # 64 positions of 1 channel read and 4 yielded, which are told twice; 4 read by the head, 10
    # yielded and told.
    passes = 10 * (64 * (1 + 3 * 4) + (4 + 3 * 10))
    patches = 10 * 16 * 9
    # Of the convolution (9 rows, 4 columns) and the head (5 rows, 10 columns), for look and score.
    kept = 2 * (9**2 + 4**2 + 9 * 4) + 2 * (5**2 + 10**2 + 5 * 10)
    assert found.memory.growth == 4 * (passes + patches + kept)
    assert plan("expansion.policy=none", base=DENSE).memory.growth == 0


def test_growth_is_a_row_of_the_dry_run() -> None:
    spec = parse_spec(DENSE, overrides=["expansion={depth: {per_block: 2}, width: {max_width: 6}}"])
    found = plan("expansion={depth: {per_block: 2}, width: {max_width: 6}}", base=DENSE)
    assert "a look at the curvature, and the scores" in [row[0] for row in memories(found)]
    assert notes(spec, found)[1] == (
        "Full capacity: 6-8-6-8 hidden channels, all that the limits of width and depth allow."
    )


def test_the_samples_of_a_search_for_channels_are_counted_with_all_their_positions() -> None:
    """By hand: 64, 16 and 1 positions; A, its inverse and noise with 16 proposals, 9 rows each."""
    found = plan("expansion={proposals: search, depth: false}", base=DENSE)
    example = 64 * (1 + 2 * 8) + 16 * (8 + 2 * 8) + (8 + 2 * 10)
    first = 2 * 9**2 + 2 * 9**2 + 9 * 8
    second = 2 * 72**2 + 2 * (72 + 9 * 16) ** 2 + (72 + 9 * 16) * 8
    head = 2 * 9**2 + 2 * (9 + 16) ** 2 + (9 + 16) * 10
    count = found.examples[0] // 2
    assert count <= 32
    assert found.memory.growth == 4 * (2 * count * example + first + second + head)
