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
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from senn_cli.data.dataset import Task
from senn_cli.engine.metric import Metric, rate
from senn_cli.spec import Spec
from senn_cli.spec.loss import Loss

TASKS: dict[Loss, Task] = {
    "cross_entropy": "classification",
    "bernoulli": "multilabel",
    "squared": "regression",
    "huber": "regression",
    "mae": "regression",
    "poisson": "regression",
}


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
        return TASKS[self.loss]

    @property
    def plain(self) -> Objective:
        """The same loss of labels as they are, which evaluations report."""
        return Objective(self.loss, delta=self.delta)

    @property
    def metric(self) -> Metric:
        """The Fisher information of its distribution."""
        named: dict[Loss, Metric] = {
            "cross_entropy": "softmax",
            "bernoulli": "bernoulli",
            "squared": "gaussian",
            "mae": 1.0,
            "poisson": "poisson",
        }
        return huber_information(self.delta) if self.loss == "huber" else named[self.loss]


CLASSIFICATION = Objective("cross_entropy")
MULTILABEL = Objective("bernoulli")
REGRESSION = Objective("squared")

DEFAULTS: dict[Task, Objective] = {
    "classification": CLASSIFICATION,
    "multilabel": MULTILABEL,
    "regression": REGRESSION,
}


def huber_information(delta: float) -> float:
    """The Fisher information of the density that is proportional to exp(-Huber's loss).

    E[psi^2] with psi the derivative of the loss; as of every density that the output only shifts,
    it is also E[psi'], the probability of an error within delta.
    """
    within = math.sqrt(2 * math.pi) * math.erf(delta / math.sqrt(2))
    beyond = 2 * math.exp(-0.5 * delta**2) / delta
    return within / (within + beyond)


def loss_and_gradient(
    objective: Objective, outputs: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Losses `(N,)` in nats and their gradients on `outputs` (N, m).

    Args:
      y: labels `(N,)` of a classification, else targets `(N, m)`, scaled as the network's are.
    """
    losses, gradient = _of_outputs(objective, outputs, y)
    return jnp.sum(losses, axis=-1), gradient


def _of_outputs(
    objective: Objective, outputs: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The loss of every output and its gradient, `(N, m)` each."""
    loss, delta = objective.loss, objective.delta
    if loss == "cross_entropy":
        log_p = jax.nn.log_softmax(outputs)
        wanted = jax.nn.one_hot(y, outputs.shape[-1], dtype=outputs.dtype)
        if objective.smoothing:
            spread = objective.smoothing / outputs.shape[-1]
            wanted = (1 - objective.smoothing) * wanted + spread
        return -wanted * log_p, jnp.exp(log_p) - wanted
    y = y.astype(outputs.dtype)
    if loss == "bernoulli":
        return jax.nn.softplus(outputs) - y * outputs, jax.nn.sigmoid(outputs) - y
    if loss == "poisson":
        mean = rate(outputs)
        return mean - y * outputs - (y - jax.scipy.special.xlogy(y, y)), mean - y
    error = outputs - y
    if loss == "mae":
        return jnp.abs(error), jnp.sign(error)
    if loss == "huber":
        clipped = jnp.clip(error, -delta, delta)
        return clipped * (error - 0.5 * clipped), clipped
    return 0.5 * error**2, error


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
