"""kfac-jax on the network, the data and the batch size of `step.py`, a process of its own.

Run by `step.py` with the Python of an environment that has it, as it needs a JAX of its own (0.0.8
from PyPI: `pip install kfac-jax jax==0.6.2`). Its arguments are a folder with the `.npy` files of
the parts and of senn's initial weights, and the clock, `wall` or `cpu`. Of standard input it reads
a request a line, as JSON, and answers by a line: `{"make": {"steps", "batch", "seed"}}`, with or
without "peak", "norm" and "l2", begins anew, `{"advance": n}` takes so many steps and tells their
seconds, `{"measure": part}` tells a loss and an accuracy.

Without a peak it has the settings of its README, learning rate, momentum and damping adaptive, from
a damping of 1; with one, a cosine schedule from there, a momentum of 0.9, a damping of 1e-3 and
that norm constraint.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import kfac_jax
import numpy as np


def outputs(params: Any, x: jax.Array) -> jax.Array:
    """Of the network, silu between its layers `(kernel, bias)`."""
    for kernel, bias in params[:-1]:
        x = jax.nn.silu(x @ kernel + bias)
    return x @ params[-1][0] + params[-1][1]


def losses(logits: jax.Array, y: jax.Array) -> jax.Array:
    """Of every example, in nats."""
    own = jnp.take_along_axis(logits, y[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(logits, axis=1) - own


def registered(params: Any, batch: tuple[jax.Array, jax.Array], l2: float) -> jax.Array:
    """The mean loss with its regularisation; kfac-jax is told what the outputs are."""
    logits = outputs(params, batch[0])
    kfac_jax.register_softmax_cross_entropy_loss(logits, batch[1])
    squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
    return losses(logits, batch[1]).mean() + 0.5 * l2 * squares


class Training:
    """One training; arguments as in the request `make`."""

    def __init__(
        self,
        arrays: dict[str, jax.Array],
        clock: Callable[[], float],
        *,
        steps: int,
        batch: int,
        seed: int,
        peak: float | None = None,
        norm: float = 1e-3,
        l2: float = 1e-5,
    ) -> None:
        self._arrays, self._clock, self._batch = arrays, clock, batch
        settings: dict[str, Any] = {
            "use_adaptive_learning_rate": True,
            "use_adaptive_momentum": True,
            "use_adaptive_damping": True,
            "initial_damping": 1.0,
        }
        if peak is not None:
            settings = {
                "learning_rate_schedule": lambda t: 0.5 * peak * (1 + jnp.cos(jnp.pi * t / steps)),
                "momentum_schedule": lambda _: jnp.asarray(0.9),
                "damping_schedule": lambda _: jnp.asarray(1e-3),
                "norm_constraint": norm,
            }
        self._optimizer = kfac_jax.Optimizer(
            jax.value_and_grad(partial(registered, l2=l2)),
            l2_reg=l2,
            multi_device=False,
            num_burnin_steps=0,
            **settings,
        )
        count = sum(name.startswith(f"kernel_{seed}_") for name in arrays)
        self._params = [
            # Its steps give their arguments' memory away.
            tuple(jnp.array(arrays[f"{leaf}_{seed}_{layer}"]) for leaf in ("kernel", "bias"))
            for layer in range(count)
        ]
        self._rng, self._order = np.random.default_rng(seed), np.zeros(0, np.int64)
        self._key, key = jax.random.split(jax.random.PRNGKey(seed))
        self._state = self._optimizer.init(self._params, key, self._next())

    def _next(self) -> tuple[jax.Array, jax.Array]:
        if len(self._order) < self._batch:
            self._order = self._rng.permutation(len(self._arrays["train_y"]))
        rows, self._order = self._order[: self._batch], self._order[self._batch :]
        return self._arrays["train_x"][rows], self._arrays["train_y"][rows]

    def advance(self, steps: int) -> float:
        """Seconds of so many steps."""
        started = self._clock()
        for _ in range(steps):
            self._key, key = jax.random.split(self._key)
            self._params, self._state, _ = self._optimizer.step(
                self._params, self._state, key, batch=self._next()
            )
        jax.block_until_ready(self._params)
        return self._clock() - started

    def measure(self, part: str) -> tuple[float, float]:
        """The mean loss and the share that is right."""
        y = self._arrays[f"{part}_y"]
        logits = outputs(self._params, self._arrays[f"{part}_x"])
        return float(losses(logits, y).mean()), float((logits.argmax(1) == y).mean())


def main(place: Path, clock: Callable[[], float]) -> None:
    """Answers until standard input ends."""
    arrays = {
        path.stem: jnp.asarray(np.load(path, allow_pickle=False)) for path in place.glob("*.npy")
    }
    training: Training | None = None
    for line in sys.stdin:
        ((what, value),) = json.loads(line).items()
        answer: Any = None
        if what == "make":
            training = Training(arrays, clock, **value)
        else:
            assert training is not None
            answer = training.advance(value) if what == "advance" else training.measure(value)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), time.process_time if sys.argv[2] == "cpu" else time.perf_counter)
