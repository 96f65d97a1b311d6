"""What edits gain by the whole Fisher matrix, beside dense algebra over parameters in float64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import Ledger, Program
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import AddUnits, edit_architecture
from senn_cli.nets.registry import outputs
from senn_cli.training import exact
from senn_cli.training.network import Network
from tests.dense_algebra import Nets

N, INPUTS, CLASSES = 40, 3, 3


class Made:
    """A network in place of a training state."""

    def __init__(self, shape: Any, params: Any) -> None:
        self.shape, self.params = shape, jax.tree.map(jnp.asarray, params)

    @property
    def network(self) -> Network:
        state: Any = type("State", (), {"params": self.params})
        return Network(self.shape, state, jnp.asarray(self.shape.widths, jnp.int32))

    def fisher(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F `(P, P)` and g of all leaves, in double precision; those not in use have zeros."""
        widths = jnp.asarray(self.shape.widths, jnp.int32)
        run = lambda p: outputs(self.shape.shape(), p, jnp.asarray(x), widths)  # noqa: E731
        leaves = [leaf for leaf in jax.tree.leaves(jax.jacrev(run)(self.params))]
        jacobian = np.concatenate(
            [np.asarray(leaf, np.float64).reshape(len(x), CLASSES, -1) for leaf in leaves], axis=2
        )
        p = softmax(np.asarray(run(self.params), np.float64), axis=1)
        metric = p[:, :, None] * np.eye(CLASSES) - p[:, :, None] * p[:, None]
        fisher = np.einsum("nap,nab,nbq->pq", jacobian, metric, jacobian) / len(x)
        told = p - np.eye(CLASSES)[y]
        return fisher, np.einsum("nap,na->p", jacobian, told) / len(x)


@pytest.fixture(scope="module")
def program() -> Program:
    return Program("system", exact.make_system(CLASSIFICATION, "softmax"), Ledger(), static=(0,))


def test_the_gain_is_that_of_a_dense_fisher_matrix(program: Program) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N + 7, INPUTS)).astype(np.float32)
    y = rng.integers(CLASSES, size=N + 7)
    shape = Nets.architecture(INPUTS, [(3, 6, "rational"), (2, 4, "tanh")], CLASSES)
    before = Made(shape, Nets.draw(rng, shape, np.float32))
    edit = AddUnits(0, rng.standard_normal((4, 2)), rng.standard_normal((3, 2)))
    params = edit_parameters(jax.tree.map(np.asarray, before.params), shape, edit)
    after = Made(edit_architecture(shape, edit), params)
    sample = np.arange(5, 5 + N, dtype=np.int32)
    known = [made.fisher(x[sample], y[sample]) for made in (before, after)]
    level = exact.SHARE * np.trace(known[0][0]) / shape.parameters
    etas = [g @ np.linalg.solve(f + level * np.eye(len(f)), g) for f, g in known]
    host = (x, y, np.zeros(INPUTS), np.ones(INPUTS), np.zeros(1), np.ones(1))
    data = Arrays(*(jnp.asarray(part) for part in host))
    found = exact.gain(program, data, sample, before.network, after.network)
    assert etas[1] > 1.01 * etas[0]
    assert found == pytest.approx((etas[1] - etas[0]) / 2, rel=1e-3)
