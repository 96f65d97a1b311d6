"""How good answers are: what `senn evaluate` reports, computed in float64 from raw outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.engine.objective import REGRESSION, Objective, loss_and_gradient
from senn_cli.use.calibration import Calibration, calibration

_TOP = 5


@dataclass(frozen=True)
class ClassMeasures:
    """One class's figures.

    Attributes:
      precision: the share of right answers among those that name the class; None if none does.
      recall: the share of its examples that were recognised; None if there are none.
      support: its examples.
    """

    name: str
    precision: float | None
    recall: float | None
    support: int


@dataclass(frozen=True)
class Classification:
    """Measures of a classification.

    Attributes:
      examples: how many there were; every one counts once.
      loss: the mean cross-entropy in nats.
      accuracy: the share of examples whose most probable class is right.
      top5_accuracy: the share whose class is among the five most probable; None for 5 or fewer.
      classes: figures of every class, in the order of the outputs.
      confusion: `confusion[i][j]` examples of class i were taken for class j.
      calibration: with 15 bins.
    """

    examples: int
    loss: float
    accuracy: float
    top5_accuracy: float | None
    classes: tuple[ClassMeasures, ...]
    confusion: tuple[tuple[int, ...], ...]
    calibration: Calibration


@dataclass(frozen=True)
class LabelMeasures:
    """One label's figures, among several that may hold at once.

    Attributes:
      accuracy: the share of examples of which it was told rightly whether it holds.
      precision, recall, f1: of the examples where it holds; None where there is nothing to share.
      support: examples where it holds.
    """

    name: str
    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    support: int


@dataclass(frozen=True)
class Multilabel:
    """Measures where several labels may hold at once.

    Attributes:
      examples: how many there were; every one counts once.
      loss: the mean negative log-likelihood in nats, summed over the labels.
      accuracy: the share of labels that are right, over all examples.
      exact: the share of examples all of whose labels are right.
      f1: over all labels and examples together (micro); None where none holds or is found.
      labels: figures of every label.
    """

    examples: int
    loss: float
    accuracy: float
    exact: float
    f1: float | None
    labels: tuple[LabelMeasures, ...]


@dataclass(frozen=True)
class TargetMeasures:
    """One target's figures in its own units.

    Attributes:
      mse, rmse, mae: mean squared error, its root, and the mean absolute error.
      r2: the share of the targets' variance that is explained, 1 - mse / variance; None where all
        targets are equal.
    """

    name: str
    mse: float
    rmse: float
    mae: float
    r2: float | None


@dataclass(frozen=True)
class Regression:
    """Measures of a regression.

    Attributes:
      examples: how many there were; every one counts once.
      loss: the mean of what was minimised, of scaled targets, summed over the targets; by default
        half the squared error.
      mse: the mean squared error in the targets' units, averaged over the targets.
      rmse: its root.
      mae: the mean absolute error, averaged over the targets.
      targets: figures of every target.
    """

    examples: int
    loss: float
    mse: float
    rmse: float
    mae: float
    targets: tuple[TargetMeasures, ...]


def classification(outputs: Array, y: Array, classes: Sequence[str]) -> Classification:
    """Measures of logits against labels.

    Args:
      outputs: logits `(N, len(classes))`, finite, N >= 1.
      y: class numbers `(N,)`.
      classes: their names.
    """
    logits = outputs.astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    log_sums = np.log(np.exp(logits).sum(axis=1, keepdims=True))
    own = np.take_along_axis(logits, y[:, None].astype(np.int64), axis=1)
    probabilities = np.exp(logits - log_sums)
    # Of equal logits the first counts as the larger one, as for argmax.
    before = np.arange(len(classes)) < y[:, None]
    rank = ((logits > own) | ((logits == own) & before)).sum(axis=1)
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    np.add.at(confusion, (y, logits.argmax(axis=1)), 1)
    return Classification(
        examples=len(y),
        loss=float((log_sums - own).mean()),
        accuracy=float((rank == 0).mean()),
        top5_accuracy=float((rank < _TOP).mean()) if len(classes) > _TOP else None,
        classes=tuple(
            ClassMeasures(
                name=name,
                precision=_share(confusion[i, i], confusion[:, i].sum()),
                recall=_share(confusion[i, i], confusion[i].sum()),
                support=int(confusion[i].sum()),
            )
            for i, name in enumerate(classes)
        ),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        calibration=calibration(probabilities, y),
    )


def multilabel(outputs: Array, y: Array, names: Sequence[str]) -> Multilabel:
    """Measures of logits of labels that hold or not, each on its own.

    Args:
      outputs: logits `(N, len(names))`, finite, N >= 1; a label holds where its logit is positive.
      y: 1 where a label holds, else 0, `(N, len(names))`.
      names: of the labels.
    """
    logits, holds = outputs.astype(np.float64), y > 0
    found = logits > 0
    right = (found & holds).sum(axis=0)
    labels = tuple(
        LabelMeasures(
            name=name,
            accuracy=float((found[:, i] == holds[:, i]).mean()),
            precision=_share(right[i], found[:, i].sum()),
            recall=_share(right[i], holds[:, i].sum()),
            f1=_share(2 * right[i], found[:, i].sum() + holds[:, i].sum()),
            support=int(holds[:, i].sum()),
        )
        for i, name in enumerate(names)
    )
    return Multilabel(
        examples=len(y),
        loss=float((np.logaddexp(0.0, logits) - holds * logits).sum(axis=1).mean()),
        accuracy=float((found == holds).mean()),
        exact=float((found == holds).all(axis=1).mean()),
        f1=_share(2 * right.sum(), found.sum() + holds.sum()),
        labels=labels,
    )


def regression(
    outputs: Array,
    y: Array,
    shift: Array,
    scale: Array,
    names: Sequence[str],
    objective: Objective = REGRESSION,
) -> Regression:
    """Measures of scaled predictions against targets.

    Args:
      objective: what the network was trained on; with `poisson` outputs are logarithms.
      outputs: the network's `(N, k)`, N >= 1; a prediction is `outputs / scale + shift`.
      y: targets in their units `(N, k)`.
      shift, scale: `(k,)`.
      names: of the targets.
    """
    # The shift goes from the targets rather than onto the outputs: it may be far larger than the
    # errors.
    scale = scale.astype(np.float64)
    centred = y.astype(np.float64) - shift.astype(np.float64)
    wide = outputs.astype(np.float64)
    error = (np.exp(wide) if objective.loss == "poisson" else wide) / scale - centred
    mse, mae = (error**2).mean(axis=0), np.abs(error).mean(axis=0)
    variance = centred.var(axis=0)
    constant = (y == y[:1]).all(axis=0)
    return Regression(
        examples=len(y),
        loss=_loss(objective, outputs, error * scale, centred * scale),
        mse=float(mse.mean()),
        rmse=float(np.sqrt(mse.mean())),
        mae=float(mae.mean()),
        targets=tuple(
            TargetMeasures(
                name=name,
                mse=float(mse[i]),
                rmse=float(np.sqrt(mse[i])),
                mae=float(mae[i]),
                r2=None if constant[i] else float(1.0 - mse[i] / variance[i]),
            )
            for i, name in enumerate(names)
        ),
    )


def _loss(objective: Objective, outputs: Array, error: Array, y: Array) -> float:
    """The mean loss of `outputs` with scaled errors and targets."""
    if objective.loss == "squared":  # in float64, as the figures are
        return float(0.5 * (error**2).sum(axis=1).mean())
    single = (jnp.asarray(array, jnp.float32) for array in (outputs, y))
    losses, _ = loss_and_gradient(objective, *single)
    return float(jnp.mean(losses))


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
