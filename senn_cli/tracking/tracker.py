"""Trackers of a run: what one is, and which a spec wants."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from senn_cli.errors import UsageError
from senn_cli.spec.spec import Spec
from senn_cli.tracking.mlflow import MLflowTracker
from senn_cli.tracking.tensorboard import TensorBoardTracker
from senn_cli.tracking.wandb import WandbTracker


class Tracker(Protocol):
    """Takes a run's rows and events in order; any method may raise anything."""

    def metrics(self, row: Mapping[str, Any]) -> None:
        """A row of metrics, as in `metrics.jsonl`."""

    def event(self, event: Mapping[str, Any]) -> None:
        """A growth event, as in `history.jsonl`."""

    def end(self, summary: Mapping[str, Any]) -> None:
        """The run's summary, as in `summary.json`; not called for a run that was interrupted."""

    def close(self) -> None:
        """Nothing more will come."""


class Kind(NamedTuple):
    """A kind of tracker.

    Attributes:
      key: its key in the section `track`, and the extra that installs its package.
      title: how people call it.
      module: the module that it needs.
      make: opens one for a spec, a run's directory and the step that the run starts from.
    """

    key: str
    title: str
    module: str
    make: Callable[[Spec, Path, int], Tracker]


KINDS = (
    Kind("tensorboard", "TensorBoard", "tensorboardX", TensorBoardTracker),
    Kind("mlflow", "MLflow", "mlflow", MLflowTracker),
    Kind("wandb", "Weights & Biases", "wandb", WandbTracker),
)
"""All trackers that a spec can name."""


def wanted(spec: Spec) -> tuple[Kind, ...]:
    """The kinds that `spec` switches on."""
    return tuple(kind for kind in KINDS if getattr(spec.track, kind.key).enabled)


def check_trackers(spec: Spec) -> None:
    """Looks, without importing them, whether the packages are there that `spec.track` needs.

    Raises:
      UsageError: one is missing; the hint says how to install it.
    """
    missing = [kind for kind in wanted(spec) if not importable(kind.module)]
    if missing:
        needs = " and ".join(f"track.{kind.key} needs {kind.module}" for kind in missing)
        extras = ",".join(kind.key for kind in missing)
        raise UsageError(
            f"{needs}, which {'is' if len(missing) == 1 else 'are'} not installed",
            title="Missing package",
            hint=f"Install it with: pip install 'senn-cli[{extras}]'",
        )


def importable(module: str) -> bool:
    """Whether there is a package of that name; nothing is imported."""
    try:
        found = importlib.util.find_spec(module)
    except ValueError:  # imported by other means than a file
        return True
    # `wandb` is also the name of a folder that it makes; such a folder passes for a package.
    return found is not None and found.origin is not None
