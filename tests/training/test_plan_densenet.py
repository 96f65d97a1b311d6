"""The plan of a DenseNet: how large its limits let it become, and what a look at it needs."""

from __future__ import annotations

import jax
import numpy as np

from senn_cli.cli.plan import memories, notes
from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.spec import Spec, parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.plan import Plan, make_plan

BASE = """
data: {source: digits, subset: 50}
network: {kind: densenet, blocks: [[4], [4]], bud: 4, capacity: {initial: 8}}
training: {epochs: 1, batch_size: 10}
"""


def spec_of(*overrides: str) -> Spec:
    return parse_spec(BASE, overrides=overrides)


def plan(*overrides: str) -> Plan:
    spec = spec_of(*overrides)
    return make_plan(spec, load_dataset(spec.data, spec.seed))


def full(*overrides: str) -> DenseArchitecture:
    found = plan(*overrides).full
    assert isinstance(found, DenseArchitecture)
    return found


def test_without_limits_nothing_is_promised() -> None:
    assert full("expansion.depth.per_block=null") == plan().start
    assert full() == plan().start  # widths have no limit
    assert full("expansion=none").widths == (4, 4)


def test_max_hidden_and_max_width_limit_the_plan() -> None:
    found = full("expansion={max_hidden: 20, depth: false, width: {max_width: 16}}")
    # Twelve more channels, in the block with the larger images, whose room then is no more than 16.
    assert found.widths == (16, 4)
    assert found.capacities == (16, 8)
    grown = plan("expansion={max_hidden: 20, depth: false, width: {max_width: 16}}")
    assert grown.full_memory.total > grown.memory.total
    assert grown.full_memory.growth > grown.memory.growth > 0


def test_per_block_limits_the_plan() -> None:
    found = full("expansion={depth: {per_block: 3}, width: {max_width: 6}}")
    assert [len(block) for block in found.blocks] == [3, 3]
    assert found.widths == (6,) * 6
    # Six layers of four channels, and sixteen channels more in one of them.
    found = full("expansion={depth: {per_block: 3}, max_hidden: 40}")
    assert sum(found.widths) == 40
    assert len(found.hidden) in (2, 6)
    fixed = full("expansion={depth: {max_layers: 3}, width: false}")
    assert fixed.widths == (4, 4, 4)


def test_what_a_look_needs_by_hand() -> None:
    found = plan(
        "network={kind: densenet, blocks: [[2]], capacity: {initial: 4}}",
        "expansion.depth=false",
        "curvature={samples: 10, stride: 2}",
    )
    # 64 positions of 1 channel read and 4 yielded, which are told twice; 4 read by the head, 10
    # yielded and told.
    passes = 10 * (64 * (1 + 3 * 4) + (4 + 3 * 10))
    patches = 10 * 16 * 9
    # Of the convolution (9 rows, 4 columns) and the head (5 rows, 10 columns), for look and score.
    kept = 2 * (9**2 + 4**2 + 9 * 4) + 2 * (5**2 + 10**2 + 5 * 10)
    assert found.memory.growth == 4 * (passes + patches + kept)
    assert plan("expansion.policy=none").memory.growth == 0


def test_the_arrays_are_those_of_a_real_trainer() -> None:
    spec = spec_of()
    dataset = load_dataset(spec.data, spec.seed)
    state, memory = assemble(spec, dataset, Ledger()).network.state, make_plan(spec, dataset).memory
    leaves = jax.tree.leaves(state.curvature)
    arrays = [a for a in leaves if a.ndim > 1 and a.dtype == np.float32]
    assert memory.curvature == sum(a.nbytes for a in arrays)
    assert memory.parameters == sum(a.nbytes for a in jax.tree.leaves(state.params))


def test_growth_is_a_row_of_the_dry_run() -> None:
    spec = spec_of("expansion={depth: {per_block: 2}, width: {max_width: 6}}")
    found = plan("expansion={depth: {per_block: 2}, width: {max_width: 6}}")
    assert "a look at the curvature, and the scores" in [row[0] for row in memories(found)]
    assert notes(spec, found)[1] == (
        "Full capacity: 6-8-6-8 hidden channels, all that the limits of width and depth allow."
    )
