"""A look at the curvature, at data on the device or at rows that the host hands out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from senn_cli.curvature.tracking import Tracked, Tracking, make_draw, make_track
from senn_cli.engine.feed import Data, Feed
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger, Program
from senn_cli.spec.augment import StepSpec


class Look(Protocol):
    """Looks at a batch; the arguments are those of what `make_track` makes."""

    def __call__(self, *args: Any) -> Tracked:
        """The state after the look."""

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles it for such arguments in another thread; see `Program.expect`."""


class FedLook:
    """Draws the rows of a look, has the host hand them out, and looks at them."""

    def __init__(self, draw: Program, track: Program) -> None:
        self._draw, self._track = draw, track

    def __call__(
        self, shape: Any, state: Any, params: Any, widths: Any, feed: Feed, key: Any, step: Any
    ) -> Tracked:
        """The state after the look."""
        rows = np.asarray(self._draw(feed.weights, key, step))
        found: Tracked = self._track(shape, state, params, widths, feed.take(rows), key, step)
        return found

    def expect(self, *args: Any) -> Callable[[], None]:
        """Nothing: rows would have to be read for it."""
        return lambda: None


def make_look(
    objective: Objective,
    metric: Metric,
    tracking: Tracking,
    augmentation: tuple[StepSpec, ...],
    ledger: Ledger,
    data: Data,
) -> Look:
    """What looks at batches of `data`."""
    fed = isinstance(data, Feed)
    looking = make_track(objective, metric, tracking, augmentation, drawn_before=fed)
    track = Program("track", looking, ledger, static=(0,), donate=(1,))
    if not fed:
        return track
    return FedLook(Program("draw", make_draw(tracking, len(data)), ledger), track)
