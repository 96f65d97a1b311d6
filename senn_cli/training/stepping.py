"""Steps of training: many in one dispatch, or one by one where that is faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np

from senn_cli.engine.arrays import Arrays, examples
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.spec.augment import StepSpec
from senn_cli.training.network import TrainState
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.step import Keys, Progress, make_order, make_run_steps, make_take_step


class RunSteps(Protocol):
    """Takes steps up to `until`; the arguments are those of `make_run_steps`."""

    def __call__(self, *args: Any, **nothing: Any) -> tuple[TrainState, Progress]:
        """The state at step `until`, or where something was not finite, and the sums."""

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles it for such arguments in another thread; see `Program.expect`."""


class OneByOne:
    """Takes steps by a dispatch for each.

    On the CPU, XLA computes a convolution within a loop by its slow reference code (64 images of
    16 x 16 and three layers of 32 channels: 108 ms a step instead of 7; JAX issue 12868).
    """

    def __init__(
        self,
        objective: Objective,
        optimizer: Optimizer,
        batch_size: int,
        augmentation: tuple[StepSpec, ...],
        ledger: Ledger,
    ) -> None:
        take = make_take_step(objective, optimizer, batch_size, augmentation)
        self.batch_size = batch_size
        self._take = Program("train", take, ledger, static=(0,), donate=(1, 2))
        self._order = Program("order", make_order(batch_size), ledger)
        self._epoch: int | None = None
        self._permutation: Any = None

    def __call__(
        self,
        shape: Any,
        state: TrainState,
        progress: Progress,
        widths: jax.Array,
        data: Arrays,
        keys: Keys,
        input_factor: Any,
        until: np.int32,
        limit: np.float32,
        /,
    ) -> tuple[TrainState, Progress]:
        """The state at step `until`, or where something was not finite."""
        per_epoch = examples(data) // self.batch_size
        for step in range(int(state.step), int(until)):
            epoch = step // per_epoch
            if epoch != self._epoch:
                self._permutation = self._order(keys, np.int32(epoch), data)
                self._epoch = epoch
            # After a fault the steps that remain do nothing but fail in the same way.
            state, progress = self._take(
                shape, state, progress, widths, data, keys, input_factor, self._permutation, limit
            )
        return state, progress

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles a step for such arguments in another thread; see `Program.expect`."""
        shape, state, progress, widths, data, keys, input_factor, _, limit = args
        order = jax.ShapeDtypeStruct((examples(data),), np.int32)
        known = (shape, state, progress, widths, data, keys, input_factor, order, limit)
        return self._take.expect(*known)


def make_stepping(
    objective: Objective,
    optimizer: Optimizer,
    batch_size: int,
    augmentation: tuple[StepSpec, ...],
    ledger: Ledger,
    *,
    one_by_one: bool,
) -> RunSteps:
    """The faster way to take steps on this device.

    Args:
      one_by_one: whether a step on the CPU is far slower in a loop, `Kind.one_by_one`.
    """
    if one_by_one and jax.default_backend() == "cpu":
        return OneByOne(objective, optimizer, batch_size, augmentation, ledger)
    run_steps = make_run_steps(objective, optimizer, batch_size, augmentation)
    return Program("train", run_steps, ledger, static=(0,), donate=(1, 2))
