"""Many small inverses; and batches that come to an end on two cores, where LAPACK's do not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.factorisations import in_turn, inverses

pytestmark = pytest.mark.usefixtures("double")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("size", [1, 2, 9])
def test_inverses_of_many_small_blocks(size: int) -> None:
    x = np.random.default_rng(size).standard_normal((40, size + 2, size))
    matrices = np.swapaxes(x, 1, 2) @ x
    found, definite = jax.jit(inverses)(matrices)
    condition = np.linalg.cond(matrices)[:, None, None]
    deviation = np.abs(found @ matrices - np.eye(size))
    assert np.all(deviation < 1e-14 * condition) and np.asarray(definite).all()
    # One negative eigenvalue, wherever it points, is noticed.
    matrices -= (1.01 * np.linalg.eigvalsh(matrices)[:, 0])[:, None, None] * np.eye(size)
    assert not np.asarray(jax.jit(inverses)(matrices)[1]).any()
    assert not np.asarray(inverses(jnp.full((2, size, size), np.nan))[1]).any()


def test_matrices_in_turn() -> None:
    x = np.random.default_rng(0).standard_normal((5, 6, 4))
    matrices = np.swapaxes(x, 1, 2) @ x
    found = jax.jit(lambda m: in_turn(jnp.linalg.cholesky, m))(matrices)
    np.testing.assert_allclose(found, np.linalg.cholesky(matrices), rtol=1e-12, atol=1e-14)


BATCHED: dict[str, Callable[[jax.Array], jax.Array]] = {
    "cholesky": jnp.linalg.cholesky,
    "inv": jnp.linalg.inv,
    "solve": lambda m: jnp.linalg.solve(m, m + 1.0),
}
OURS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "inverses": lambda m: inverses(m)[0],
    "in_turn": lambda m: in_turn(jnp.linalg.cholesky, m),
    "single": lambda m: jnp.linalg.cholesky(m[0]) + jnp.linalg.inv(m[1]),
}


def work(name: str, count: int, size: int, repetitions: int) -> None:
    """Six independent calls with `count` matrices each in one program, many times over."""
    function = (BATCHED | OURS)[name]
    x = np.random.default_rng(0).standard_normal((6, count, size, size)).astype(np.float32)
    batches = list(x @ np.swapaxes(x, -1, -2) + size * np.eye(size, dtype=np.float32))
    program = jax.jit(lambda batches: [function(batch).sum() for batch in batches])
    for _ in range(repetitions):
        jax.block_until_ready(program(batches))


def on_two_cores(name: str, count: int, size: int, *, repetitions: int, limit: float) -> None:
    """`work` in a process of its own; subprocess.TimeoutExpired if it is not done within `limit`.

    The limit is a guard alone: without a lock-up this takes a few seconds. (Two cores where the
    system lets a process choose; see the end of this file.)
    """
    subprocess.run(
        [sys.executable, __file__, name, str(count), str(size), str(repetitions)],
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"},
        timeout=limit,
        check=True,
    )


SHAPES = [(64, 3), (10_000, 3), (256, 9), (64, 32), (4, 128)]


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize(("count", "size"), SHAPES)
def test_our_batches_come_to_an_end(name: str, count: int, size: int) -> None:
    on_two_cores(name, count, size, repetitions=100, limit=300)


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.xfail(
    raises=subprocess.TimeoutExpired,
    strict=False,
    reason="jaxlib 0.10 waits for tasks of its own thread pool: why senn_cli has factorisations.py",
)
def test_batches_of_lapack_come_to_an_end(name: str) -> None:
    on_two_cores(name, 64, 32, repetitions=1000, limit=60)


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    work(sys.argv[1], *map(int, sys.argv[2:]))
