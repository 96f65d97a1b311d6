"""What is minimised: losses per example with their gradients on the outputs, and their metrics.

A loss is the negative log-likelihood of a distribution that the outputs describe, up to a constant,
summed over the outputs; the metric is the Fisher information of that distribution, so that eta / 2
is the predicted gain for all of them. Of one output o with error e = o - y:

- `cross_entropy`: o is the logit of a class; -log p_y with p = softmax; diag(p) - p p^T.
- `bernoulli`: the logit of a label on its own; log(1 + exp o) - y o; p (1 - p), p the logistic.
- `squared`: the mean of a unit Gaussian; e^2 / 2; 1.
- `huber`: the center of a Gaussian that is Laplace beyond delta; e^2 / 2, and beyond delta
  delta (|e| - delta / 2); P(|e| < delta).
- `mae`: the median of a unit Laplace distribution; |e|; 1.
- `poisson`: the logarithm of the rate of counts; exp(o) - y o, less its minimum; exp(o).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.data.dataset import Task
from senn_cli.engine.metric import Metric, rate
from senn_cli.spec import Spec
from senn_cli.spec.loss import Loss


@dataclass(frozen=True)
class Objective:
    """A loss with its options.

    Attributes:
      loss: its name.
      smoothing: of cross-entropy, the share of every label that is spread over all classes.
      delta: of Huber's loss, the error from which on it grows linearly.
    """

    loss: Loss
    smoothing: float = 0.0
    delta: float = 1.0

    @property
    def task(self) -> Task:
        """The task that it belongs to."""
        return _LOSSES[self.loss].task

    @property
    def plain(self) -> Objective:
        """The same loss of labels as they are, which evaluations report."""
        return Objective(self.loss, delta=self.delta)

    @property
    def metric(self) -> Metric:
        """The Fisher information of its distribution."""
        return _LOSSES[self.loss].metric(self)

    def predicted(self, outputs: jax.Array) -> jax.Array:
        """What a regression's outputs predict, in the units of the targets that it is given."""
        return _LOSSES[self.loss].predicted(outputs)


def loss_and_gradient(
    objective: Objective, outputs: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Losses `(N,)` in nats and their gradients on `outputs` (N, m).

    Args:
      y: labels `(N,)` of a classification, else targets `(N, m)`, scaled as the network's are.
    """
    losses, gradient = _LOSSES[objective.loss].of_outputs(objective, outputs, y)
    return jnp.sum(losses, axis=-1), gradient


def huber_information(delta: float) -> float:
    """The Fisher information of the density that is proportional to exp(-Huber's loss).

    E[psi^2] with psi the derivative of the loss; as of every density that the output only shifts,
    it is also E[psi'], the probability of an error within delta.
    """
    within = math.sqrt(2 * math.pi) * math.erf(delta / math.sqrt(2))
    beyond = 2 * math.exp(-0.5 * delta**2) / delta
    return within / (within + beyond)


Pair = tuple[jax.Array, jax.Array]
"""The loss of every output and its gradient, `(N, m)` each."""


def _cross_entropy(objective: Objective, outputs: jax.Array, y: jax.Array) -> Pair:
    log_p = jax.nn.log_softmax(outputs)
    wanted = jax.nn.one_hot(y, outputs.shape[-1], dtype=outputs.dtype)
    if objective.smoothing:
        spread = objective.smoothing / outputs.shape[-1]
        wanted = (1 - objective.smoothing) * wanted + spread
    return -wanted * log_p, jnp.exp(log_p) - wanted


def _bernoulli(objective: Objective, outputs: jax.Array, y: jax.Array) -> Pair:
    y = y.astype(outputs.dtype)
    return jax.nn.softplus(outputs) - y * outputs, jax.nn.sigmoid(outputs) - y


def _poisson(objective: Objective, outputs: jax.Array, y: jax.Array) -> Pair:
    y, mean = y.astype(outputs.dtype), rate(outputs)
    return mean - y * outputs - (y - jax.scipy.special.xlogy(y, y)), mean - y


def _of_error(of: Callable[[Objective, jax.Array], Pair]) -> Callable[..., Pair]:
    """A loss of the error alone, which the output shifts."""

    def of_outputs(objective: Objective, outputs: jax.Array, y: jax.Array) -> Pair:
        return of(objective, outputs - y.astype(outputs.dtype))

    return of_outputs


def _squared(objective: Objective, error: jax.Array) -> Pair:
    return 0.5 * error**2, error


def _absolute(objective: Objective, error: jax.Array) -> Pair:
    return jnp.abs(error), jnp.sign(error)


def _huber(objective: Objective, error: jax.Array) -> Pair:
    clipped = jnp.clip(error, -objective.delta, objective.delta)
    return clipped * (error - 0.5 * clipped), clipped


def _same(outputs: jax.Array) -> jax.Array:
    return outputs


class _Loss(NamedTuple):
    """What a loss is.

    Attributes:
      task: that it belongs to.
      of_outputs: of the objective, outputs and targets the loss of every output, and its gradient.
      metric: of the objective the Fisher information.
      predicted: of the outputs of a regression what they predict.
    """

    task: Task
    of_outputs: Callable[[Objective, jax.Array, jax.Array], Pair]
    metric: Callable[[Objective], Metric]
    predicted: Callable[[jax.Array], jax.Array] = _same


_LOSSES: dict[Loss, _Loss] = {
    "cross_entropy": _Loss("classification", _cross_entropy, lambda o: "softmax"),
    "bernoulli": _Loss("multilabel", _bernoulli, lambda o: "bernoulli"),
    "squared": _Loss("regression", _of_error(_squared), lambda o: "gaussian"),
    "huber": _Loss("regression", _of_error(_huber), lambda o: huber_information(o.delta)),
    "mae": _Loss("regression", _of_error(_absolute), lambda o: 1.0),
    "poisson": _Loss("regression", _poisson, lambda o: "poisson", rate),
}

CLASSIFICATION = Objective("cross_entropy")
MULTILABEL = Objective("bernoulli")
REGRESSION = Objective("squared")

DEFAULTS: dict[Task, Objective] = {
    "classification": CLASSIFICATION,
    "multilabel": MULTILABEL,
    "regression": REGRESSION,
}


def figure(objective: Objective, outputs: jax.Array, y: jax.Array) -> jax.Array:
    """What is reported per example, `(N,)`.

    1 for a right label; of several labels the share that is right; of a regression the mean squared
    error of what is predicted.
    """
    if objective.task == "classification":
        return (jnp.argmax(outputs, axis=-1) == y).astype(outputs.dtype)
    if objective.task == "multilabel":
        return jnp.mean(((outputs > 0) == (y > 0)).astype(outputs.dtype), axis=-1)
    return jnp.mean((outputs - y) ** 2, axis=-1)


def objective_of(spec: Spec) -> Objective:
    """What a run of `spec` minimises."""
    section = spec.loss
    loss = DEFAULTS[spec.data.task].loss if section.kind == "auto" else section.kind
    smoothing = section.label_smoothing if loss == "cross_entropy" else 0.0
    return Objective(loss, smoothing, section.delta if loss == "huber" else 1.0)
