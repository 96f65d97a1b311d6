"""A hidden layer that a linear map reads, and squared error: there the quadratic model is exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from senn_cli.growth.reader import Reader, Shares, make_reader

SHARES = Shares(1e-6, 1e-9)


@dataclass(frozen=True)
class Fit:
    """Features `x` (N, 1 + n) with the constant in front, targets `y` (N, m), weights `w`."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray

    @property
    def g(self) -> np.ndarray:
        return self.x @ self.w - self.y

    def loss(self, w: np.ndarray | None = None, x: np.ndarray | None = None) -> float:
        w, x = self.w if w is None else w, self.x if x is None else x
        return 0.5 * float(np.mean(np.sum((x @ w - self.y) ** 2, axis=1)))

    def reader(self, shares: Shares = SHARES, proposals: np.ndarray | None = None) -> Reader:
        a = self.x if proposals is None else np.concatenate([self.x, proposals], axis=1)
        return make_reader(a, self.g, np.eye(self.y.shape[1]), self.w, shares)

    def without(self, neuron: int, combination: np.ndarray) -> Fit:
        """After its removal, the last neuron in its place."""
        row, last = 1 + neuron, self.x.shape[1] - 1
        w = self.w + np.outer(combination, self.w[row])
        x = self.x.copy()
        x[:, row], w[row] = x[:, last], w[last]
        return Fit(x[:, :last], self.y, w[:last])


def fit(seed: int, n: int = 6, outputs: int = 3, examples: int = 400) -> Fit:
    """Correlated features and targets that they explain in part."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((examples, n)) @ (np.eye(n) + 0.3 * rng.standard_normal((n, n)))
    x = np.concatenate([np.ones((examples, 1)), np.tanh(mixed)], axis=1)
    y = np.sin(x @ rng.standard_normal((1 + n, outputs)))
    y += 0.3 * rng.standard_normal(y.shape)
    return Fit(x, y, 0.5 * rng.standard_normal((1 + n, outputs)))


def fitted(problem: Fit) -> Fit:
    """The same with the best weights."""
    return Fit(problem.x, problem.y, np.linalg.lstsq(problem.x, problem.y, rcond=None)[0])
