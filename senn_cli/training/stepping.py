"""Steps of training: many in one dispatch, or one by one where that is faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import jax
import numpy as np

from senn_cli.engine.arrays import Arrays, examples
from senn_cli.engine.feed import Data, Feed
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.spec.augment import StepSpec
from senn_cli.training.network import TrainState
from senn_cli.training.optimizer import Optimizer
from senn_cli.training.step import (
    Keys,
    Order,
    Progress,
    make_order,
    make_run_steps,
    make_take_step,
    no_order,
    order_of_rows,
)

MOST_FED = 64
"""Steps whose rows the host hands out at a time, at most."""


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
        *,
        in_order: bool = False,
    ) -> None:
        take = make_take_step(objective, optimizer, batch_size, augmentation)
        self.batch_size, self._in_order = batch_size, in_order
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
            if self._in_order:
                self._permutation = np.arange(examples(data), dtype=np.int32)
            elif epoch != self._epoch:
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


class Looped:
    """Takes many steps a dispatch, and keeps the order of an epoch from one to the next.

    Of a million examples it takes half a second to make, a hundred steps' time.
    """

    def __init__(self, steps: Callable[..., tuple[Any, ...]], ledger: Ledger) -> None:
        self._steps = Program("train", steps, ledger, static=(0,), donate=(1, 2, 9))
        self._order: Order | None = None

    def __call__(self, *args: Any) -> tuple[TrainState, Progress]:
        """The state at step `until`, or where something was not finite."""
        known = no_order(examples(args[4])) if self._order is None else self._order
        state, progress, self._order = self._steps(*args, known)
        return state, progress

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles it for such arguments in another thread; see `Program.expect`."""
        return self._steps.expect(*args, no_order(examples(args[4])))


class Fed:
    """Takes steps on rows that the host hands out, some steps' rows at a time.

    Stretches of `count` steps begin at multiples of it, so that step s is the (s mod count)-th on
    the rows of its stretch, as it would be the (s mod steps)-th of an epoch. While the device takes
    the steps of one, the host gathers the rows of the next.
    """

    def __init__(
        self,
        stretch: RunSteps,
        batch_size: int,
        ledger: Ledger,
        feed: Feed,
    ) -> None:
        self.batch_size, self._stretch = batch_size, stretch
        self.count = max(1, min(feed.most // batch_size, MOST_FED))
        self._order = Program("order", partial(_order, batch_size, len(feed)), ledger)
        self._orders: dict[int, np.ndarray] = {}
        self._last: tuple[int, Arrays] | None = None

    def __call__(
        self,
        shape: Any,
        state: TrainState,
        progress: Progress,
        widths: jax.Array,
        data: Feed,
        keys: Keys,
        input_factor: Any,
        until: np.int32,
        limit: np.float32,
        /,
    ) -> tuple[TrainState, Progress]:
        """The state at step `until`, or where something was not finite."""
        step = int(state.step)
        while step < until:
            stop = min(int(until), (step // self.count + 1) * self.count)
            here = self._here(data, keys, step - step % self.count)
            jax.block_until_ready(progress)  # so that no more than two stretches are there
            state, progress = self._stretch(
                shape,
                state,
                progress,
                widths,
                here,
                keys,
                input_factor,
                np.int32(stop),
                limit,
            )
            step = stop
        return state, progress

    def _here(self, feed: Feed, keys: Keys, first: int) -> Arrays:
        """The data of the stretch that begins at a step; that of the last one is at hand."""
        if self._last is None or self._last[0] != first:
            self._last = first, feed.take(self._rows(feed, keys, first))
        return self._last[1]

    def _rows(self, feed: Feed, keys: Keys, first: int) -> np.ndarray:
        """The rows of a stretch's steps, `(count * batch_size,)`."""
        per_epoch, size = len(feed) // self.batch_size, self.batch_size
        found = []
        for step in range(first, first + self.count):
            epoch, number = divmod(step, per_epoch)
            if epoch not in self._orders:
                order = np.asarray(self._order(keys, np.int32(epoch)))
                self._orders = {e: o for e, o in self._orders.items() if e >= epoch - 1}
                self._orders[epoch] = order
            found.append(self._orders[epoch][number * size : (number + 1) * size])
        return np.concatenate(found)

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles a stretch for such arguments in another thread; see `Program.expect`."""
        shape, state, progress, widths, data, keys, input_factor, until, limit = args
        first = data.take(np.zeros(self.count * self.batch_size, np.int32))
        known = (shape, state, progress, widths, first, keys, input_factor, until, limit)
        return self._stretch.expect(*known)


def _order(batch_size: int, n: int, keys: Keys, epoch: jax.Array) -> jax.Array:
    return order_of_rows(keys, epoch, n, batch_size)


def make_stepping(
    objective: Objective,
    optimizer: Optimizer,
    batch_size: int,
    augmentation: tuple[StepSpec, ...],
    ledger: Ledger,
    data: Data,
    *,
    one_by_one: bool,
) -> RunSteps:
    """The faster way to take steps on this device.

    Args:
      data: the training part.
      one_by_one: whether a step on the CPU is far slower in a loop, `Kind.one_by_one`.
    """
    fed = isinstance(data, Feed)
    steps: RunSteps
    if one_by_one and jax.default_backend() == "cpu":
        steps = OneByOne(objective, optimizer, batch_size, augmentation, ledger, in_order=fed)
    else:
        run_steps = make_run_steps(objective, optimizer, batch_size, augmentation, in_order=fed)
        steps = Looped(run_steps, ledger)
    return Fed(steps, batch_size, ledger, data) if isinstance(data, Feed) else steps
