"""The region of trust: what steps do to a loss whose model is exact, and to one that they raise."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.objective import REGRESSION
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training import region
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.update import take_one
from tests.dense import network, widths_of
from tests.training.test_step import EXACT_X, start

LINEAR, PARAMS = network((3, 1))
Y = (EXACT_X @ np.array([[1.0], [-2.0], [0.5]])).astype(np.float32)


def steps(rate: float, count: int, **changes: Any) -> list[Any]:
    """States and losses of steps of a linear regression, whose targets it can fit."""
    plain = {"solver": "rows", "schedule": "constant", "weight_decay": 0.0, "damping": 1e-6}
    spec = NaturalGradientSpec.model_validate(
        plain | {"kl_clip": None, "learning_rate": rate, "adapt_damping": True} | changes
    )
    optimizer = make_optimizer(spec, REGRESSION, 100, 1)

    @jax.jit
    def step(state: Any) -> Any:
        x, y, widths = jnp.asarray(EXACT_X, jnp.float32), jnp.asarray(Y), widths_of(LINEAR)
        key = jax.random.key(0)
        return take_one(LINEAR.shape(), REGRESSION, optimizer, state, widths, x, y, key, None)

    state, found = start(LINEAR, PARAMS, optimizer), []
    for _ in range(count):
        before = state
        state, loss, _, _ = step(state)
        found.append((before, state, float(loss)))
    return found


def test_the_model_of_a_quadratic_loss_is_exact_and_its_damping_falls() -> None:
    found = steps(0.3, region.JUDGED)
    losses = [loss for _, _, loss in found]
    np.testing.assert_allclose(np.divide(losses[1:], losses[:-1]), (1 - 0.3) ** 2, rtol=1e-3)
    first, last = (region.trust_of(found[i][1].optimizer) for i in (0, -1))
    assert first is not None and last is not None
    assert float(first.ratio) == 0 and float(first.damping) == pytest.approx(1e-6)
    assert float(last.ratio) == pytest.approx(1.0, abs=1e-2)
    assert float(last.damping) == pytest.approx(1e-6 * region.OMEGA**region.JUDGED)
    # d^T F d = g^T d = twice the loss of a fit that is within reach, and the step is 0.3 d.
    assert float(first.kl) == pytest.approx(0.3**2 * losses[0], rel=1e-2)


def test_a_step_that_would_raise_the_loss_tenfold_is_not_taken_and_the_next_is_shorter() -> None:
    (before, after, loss), (_, then, same), (_, _, raised) = steps(10.0, 3)
    for a, b in zip(*(jax.tree.leaves(s.params) for s in (before, after)), strict=True):
        np.testing.assert_array_equal(a, b)  # (1 - 10)^2 = 81 times the loss
    trust = region.trust_of(after.optimizer)
    assert trust is not None and (int(trust.refused), int(trust.row)) == (1, 1)
    assert float(trust.damping) == pytest.approx(1e-6 / region.OMEGA**region.JUDGED)
    assert same == loss
    # A quarter of it raises the loss by (1 - 2.5)^2 = 2.25: that is taken.
    assert raised == pytest.approx(2.25 * loss, rel=1e-2)
    trust = region.trust_of(then.optimizer)
    assert trust is not None and (int(trust.refused), int(trust.row)) == (1, 0)
    row = region.row_of(jax.device_get(then.optimizer), adapts=True)
    assert row["refused_steps"] == 1 and row["damping"] > 1e-6 and row["kl"] > 0


@pytest.mark.parametrize(
    ("ratio", "far"), [(1.0, False), (0.3, False), (0.2, True), (-3.0, True), (5.0, True)]
)
def test_what_is_far_from_foretold(ratio: float, far: bool) -> None:
    assert bool(region.is_far(jnp.float32(ratio))) == far
    assert not bool(region.is_far(jnp.float32(np.nan)))


def test_what_cancels_is_compared_with_nothing() -> None:
    assert float(region.foretold(jnp.float32(-2.0), jnp.float32(1.0))) == -1.5
    for linear, form in ((-1.0, 1.9), (-1.0, 3.0), (0.5, 0.1)):
        assert np.isnan(region.foretold(jnp.float32(linear), jnp.float32(form)))


def test_damping_stays_within_its_bounds() -> None:
    def after(damping: float, ratio: float) -> float:
        return float(region.adapted(jnp.float32(damping), jnp.float32(ratio), jnp.bool_(False)))

    assert after(region.SMALLEST, 1.0) == pytest.approx(region.SMALLEST)
    assert after(region.LARGEST, -1.0) == pytest.approx(region.LARGEST)
    assert after(0.5, 0.5) == after(0.5, np.nan) == 0.5
