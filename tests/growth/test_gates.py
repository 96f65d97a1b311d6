"""Units behind gates, against the network that has them, and against measured changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import spearmanr

from senn_cli.data.registry import load_dataset
from senn_cli.engine.arrays import inputs, on_device, targets
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import AddUnits, SplitUnit, edit_architecture
from senn_cli.growth.gates import Behind, Candidates, Gates, Units
from senn_cli.growth.sight import identities
from senn_cli.nets.features import hidden_feature
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import used
from senn_cli.spec import parse_spec
from tests.resuming import go

N, FRESH, SIZE = 400, 12, 0.1
HIDDEN = [(3, 8, "rational"), (4, 8, "tanh")]


class Case(NamedTuple):
    nets: Any
    shape: MlpArchitecture
    params: Any
    x: np.ndarray
    y: np.ndarray

    def behind(self, at: str) -> Behind:
        units = used(self.shape.shape(), jnp.asarray(self.shape.widths))
        x, y = jnp.asarray(self.x), jnp.asarray(self.y)
        return Behind(self.shape.shape(), at, self.params, units, x, y, REGRESSION)

    def loss(self, edit: Any) -> float:
        """That of the network after `edit`, in NumPy and float64."""
        shape = edit_architecture(self.shape, edit)
        params = edit_parameters(self.params, self.shape, edit)
        error = self.nets.run(shape, params, self.x).outputs - self.y
        return float(np.mean(np.sum(error**2, axis=1)) / 2)


@pytest.fixture(scope="module")
def case(nets: Any) -> Case:
    """A network, and targets that a linear readout of another one of its kind yields."""
    rng = np.random.default_rng(1)
    shape = nets.architecture(5, HIDDEN, 2)
    params, teacher = nets.draw(rng, shape), nets.draw(rng, shape)
    x = rng.standard_normal((N, 5))
    return Case(nets, shape, params, x, nets.run(shape, teacher, x).outputs)


def alone(behind: Behind, candidates: Candidates, size: float) -> Gates:
    """What each changes the loss by on its own, measured one after the other; for JAX to trace."""
    k, capacity = candidates.fresh.incoming.shape[1], candidates.turns.shape[1]

    def one(gates: jax.Array) -> jax.Array:
        return behind.gated(candidates, Gates(gates[:capacity], gates[capacity:])) - behind.loss()

    found = jax.lax.map(one, size * jnp.eye(capacity + k))
    return Gates(found[:capacity], found[capacity:])


class Looked(NamedTuple):
    """Candidates of layer 0 as drawn and optimised, their scores and changes, and losses.

    Attributes:
      shut, drawn, open: with all gates at 0, and at `SIZE` before the steps and after them.
      sized: with `UNITS` at the size 0.25.
    """

    found: Candidates
    scores: Gates
    alone: Gates
    bounds: Any
    plain: float
    shut: float
    drawn: float
    open: float
    sized: float


UNITS = Units(
    np.random.default_rng(5).standard_normal((6, 2)),
    {"map_1": np.pad(np.random.default_rng(6).standard_normal((2, 4)), ((0, 0), (0, 4)))},
)


@pytest.fixture(scope="module")
def looked(case: Case) -> Looked:
    @jax.jit
    def look(key: jax.Array) -> Any:
        behind = case.behind("layer_0")
        drawn = behind.drawn(key, FRESH)
        found = behind.optimised(drawn, SIZE, 10, 0.3)
        shut, every = (Gates(jnp.full(8, s), jnp.full(FRESH, s)) for s in (0.0, SIZE))
        return Looked(
            found,
            behind.scores(found, SIZE),
            alone(behind, found, SIZE),
            behind.bounds(),
            behind.loss(),
            behind.gated(drawn, shut),
            behind.gated(drawn, every),
            behind.gated(found, every),
            behind.added(UNITS, jnp.float64(0.25)),
        )

    with jax.enable_x64(True):
        result: Looked = jax.device_get(look(jax.random.key(2)))
        return result


def test_a_gate_is_the_edit(case: Case, looked: Looked) -> None:
    """The loss that `alone` measures is that of the network after the edit, to rounding."""
    found, alone = looked.found, looked.alone
    outgoing = {name: SIZE * w[:1, None] for name, w in found.fresh.outgoing.items()}
    bend = identities(hidden_feature(case.shape, 0), 1)
    fresh = AddUnits(0, found.fresh.incoming[:, :1], bend, outgoing)
    assert case.loss(fresh) - looked.plain == pytest.approx(alone.fresh[0], rel=1e-9)
    turn = SIZE * found.turns[:, 1]
    split = SplitUnit(0, 1, (0.5, 0.5), np.stack([turn, -turn], axis=1))
    assert case.loss(split) - looked.plain == pytest.approx(alone.splits[1], rel=1e-9)
    assert looked.shut == pytest.approx(looked.plain, rel=1e-12)


def test_scores_rank_candidates_as_their_changes_do(looked: Looked) -> None:
    predicted = np.concatenate([looked.scores.splits[:3], looked.scores.fresh])
    measured = np.concatenate([looked.alone.splits[:3], looked.alone.fresh])
    assert spearmanr(predicted, measured).statistic > 0.8


def test_scores_of_all_add_up_to_the_change_by_all(looked: Looked) -> None:
    """They are an integral along the gates' common way; by the midpoint rule at three places."""
    total = looked.scores.splits.sum() + looked.scores.fresh.sum()
    assert total == pytest.approx(looked.open - looked.plain, rel=0.05)


def test_steps_lower_the_loss_within_the_bound(looked: Looked) -> None:
    found, (into, out) = looked.found, looked.bounds
    assert looked.open < min(looked.drawn, looked.plain)
    for weights in (found.turns[:, :3], found.fresh.incoming):
        assert (np.linalg.norm(weights, axis=0) <= into * (1 + 1e-9)).all()
    for name, weights in found.fresh.outgoing.items():
        assert (np.linalg.norm(weights, axis=1) <= out[name] * (1 + 1e-9)).all()


def test_spare_units_take_no_part(looked: Looked) -> None:
    assert not looked.scores.splits[3:].any() and abs(looked.alone.splits[3:]).max() < 1e-12
    outgoing = looked.found.fresh.outgoing["map_1"]
    assert not outgoing[:, 4:].any() and outgoing[:, :4].all()


def test_a_size_is_the_product_of_both_weights(case: Case, looked: Looked) -> None:
    outgoing = {"map_1": 0.5 * UNITS.outgoing["map_1"][:, None]}
    bend = identities(hidden_feature(case.shape, 0), 2)
    edit = AddUnits(0, 0.5 * UNITS.incoming, bend, outgoing)
    assert case.loss(edit) == pytest.approx(looked.sized, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["tanh", "rational", "silu", "relu"])
def test_scores_rank_candidates_of_a_trained_network(activation: Any, tmp_path: Path) -> None:
    """On digits that neither the network nor the candidates' directions have seen."""
    text = f"""
data: {{source: digits, validation: 300}}
network: {{kind: mlp, hidden: [8], activation: {activation}}}
optimizer: {{kind: adam, learning_rate: 1e-2}}
expansion: none
training: {{epochs: 10, batch_size: 128}}
checkpoints: false
"""
    run = go(text, tmp_path / "run")
    dataset = load_dataset(parse_spec(text).data, 0)
    parts = [on_device(dataset, part) for part in (dataset.train, dataset.validation)]
    shape, params = run.architecture.shape(), jax.tree.map(jnp.asarray, run.params)
    units = used(shape, jnp.asarray(run.architecture.widths))

    @jax.jit
    def look(params: Any) -> Any:
        first, second = (
            Behind(shape, "layer_0", params, units, inputs(d), targets(d), CLASSIFICATION)
            for d in parts
        )
        found = first.optimised(first.drawn(jax.random.key(1), 32), SIZE, 20, 0.3)
        return second.scores(found, SIZE), alone(second, found, SIZE)

    scores, changes = jax.device_get(look(params))
    predicted = np.concatenate([scores.splits[:8], scores.fresh])
    measured = np.concatenate([changes.splits[:8], changes.fresh])
    assert spearmanr(predicted, measured).statistic > 0.8
    assert np.mean(measured[np.argsort(predicted)[:8]]) < np.mean(measured)
