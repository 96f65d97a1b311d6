"""What changes from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from senn_cli.curvature.kfac import KfacState
from senn_cli.curvature.tracking import Tracked
from senn_cli.nets.registry import Parameters


class TrainState(NamedTuple):
    """What changes from step to step.

    Attributes:
      step: steps taken, int32.
      params: the network's parameters.
      optimizer: Optax's state.
      curvature: KFAC's state, what is tracked of a DenseNet, or None where nothing needs it.
    """

    step: jax.Array
    params: Parameters
    optimizer: Any
    curvature: KfacState | Tracked | None
