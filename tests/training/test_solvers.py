"""Steps by solvers of the natural gradient against dense algebra, and where there is no rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.growth.edits import AddUnits
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec import parse_spec
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training.network import apply_edits, new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.snapshot import GrowthMemory, Moment, arrays_of, document_of, moment_from
from senn_cli.training.step import no_progress
from senn_cli.training.update import take_one
from tests.dense import (
    flat,
    in_use,
    jacobian,
    metric_matrix,
    network,
    outputs,
    padded,
    roomy,
    widths_of,
)
from tests.training.test_step import EXACT_X, LABELS, start

WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.5])
DAMPING, SHARE, RATE = 0.05, 0.9, 0.5
PLAIN = {"schedule": "constant", "weight_decay": 0.0, "kl_clip": None, "learning_rate": RATE}


def optimizer_of(**changes: Any) -> Optimizer:
    spec = NaturalGradientSpec.model_validate(PLAIN | changes)
    return make_optimizer(spec, CLASSIFICATION, 100, 1)


def stepper(optimizer: Optimizer, architecture: MlpArchitecture) -> Any:
    shape = architecture.shape()

    @jax.jit
    def step(state: Any, widths: Any, x: Any, y: Any, weights: Any) -> Any:
        key = jax.random.key(0)
        return take_one(shape, CLASSIFICATION, optimizer, state, widths, x, y, key, None, weights)

    return step


def damped(architecture: Any, params: Any) -> tuple[np.ndarray, np.ndarray]:
    """F + damping I and the gradient of the weighted loss, dense."""
    j, y = (
        np.asarray(jacobian(architecture, params, EXACT_X)),
        outputs(architecture, params, EXACT_X),
    )
    h = metric_matrix("softmax", y)
    dense = np.einsum("n,nap,nab,nbq->pq", WEIGHTS, j, h, j) / len(j)
    told = np.asarray(jax.nn.softmax(y)) - np.eye(2)[LABELS]
    gradient = np.einsum("n,na,nap->p", WEIGHTS, told, j) / len(j)
    return dense + DAMPING * np.eye(len(dense)), gradient


def test_rows_are_the_dense_solution_and_spring_is_drawn_to_the_last_one() -> None:
    with jax.enable_x64(True):
        exact, begun = network((3, 4, 2))
        architecture = roomy(exact, (6,))
        optimizer = optimizer_of(solver="rows", damping=DAMPING, momentum=SHARE)
        step = stepper(optimizer, architecture)
        state = start(architecture, padded(begun, architecture), optimizer, np.float64)
        last, params = np.zeros(len(flat(begun))), begun
        for _ in range(2):
            matrix, gradient = damped(exact, params)
            state, _, eta, _ = step(state, widths_of(architecture), EXACT_X, LABELS, WEIGHTS)
            assert float(eta) == pytest.approx(gradient @ np.linalg.solve(matrix, gradient))
            # The minimum of d^T F d / 2 - g^T d + damping |d - share last|^2 / 2.
            last = np.linalg.solve(matrix, gradient + DAMPING * SHARE * last)
            after = in_use(state.params, architecture)
            np.testing.assert_allclose(flat(after) - flat(params), -RATE * last, atol=1e-9)
            params = after


@pytest.mark.parametrize("solver", ["kfac", "ekfac"])
def test_dead_inputs_copies_and_spare_units_have_no_direction_at_a_tiny_damping(
    solver: str,
) -> None:
    exact, begun = network((5, 3, 2))
    architecture = roomy(exact, (6,))
    options = {"damping": 1e-12, "fixed_input_factor": False, "kl_clip": 1e-2, "invert_every": 2}
    optimizer = optimizer_of(solver=solver, **options)
    step = stepper(optimizer, architecture)
    before = new_network(
        architecture, jax.tree.map(np.float32, padded(begun, architecture)), optimizer
    )
    x = np.column_stack([EXACT_X, np.zeros(8), EXACT_X[:, 0]]).astype(np.float32)
    weights = np.ones(8, np.float32)
    state = before.state
    for _ in range(3):
        state, loss, eta, size = step(state, before.widths, x, LABELS, weights)
        assert np.isfinite([loss, eta, size]).all() and size > 0
    host = jax.device_get(state)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((host.params, host.curvature)))
    moved = host.params["map_0"]["kernel"] - np.asarray(before.state.params["map_0"]["kernel"])
    assert not moved[3].any(), "a dead input"
    np.testing.assert_allclose(moved[4], moved[0], atol=1e-2, err_msg="a copy moves alike")
    in_use(host.params, architecture)  # spare units are still nothing

    # New units, a checkpoint, and on: nothing is not finite, and all bits are the same.
    edit = AddUnits(0, np.ones((6, 2), np.float32), np.ones((3, 2), np.float32))
    grown = apply_edits(replace(before, state=state), [edit], optimizer)
    moment = Moment(grown, no_progress(), GrowthMemory())
    arrays = {name: np.asarray(a) for name, a in arrays_of(moment).items()}
    again = moment_from(arrays, document_of(moment), optimizer).network
    pair = [step(n.state, n.widths, x, LABELS, weights) for n in (grown, again)]
    first, second = (jax.tree.leaves(jax.device_get(found)) for found in pair)
    for a, b in zip(first, second, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
        assert a is None or np.isfinite(a).all() or a.shape == ()
    assert np.isfinite(float(pair[0][3]))


def test_rows_are_refused_where_their_system_is_too_large() -> None:
    from senn_cli.data.registry import load_dataset
    from senn_cli.training.ready import faults

    text = "data: digits\nnetwork: mlp\noptimizer: {solver: rows}\ntraining: {batch_size: 201}\n"
    spec = parse_spec(text)
    (fault,) = faults(spec, load_dataset(spec.data, 0), "gpu")
    assert "201 x 10 = 2,010" in fault.message and "optimizer.solver" in fault.message
    fits = parse_spec(text.replace("201", "200"))
    assert not faults(fits, load_dataset(fits.data, 0), "gpu")
