"""Activations by NumPy and SciPy in float64, by the names that senn gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf, expit

ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "softplus": lambda x: np.logaddexp(0, x),
    "identity": lambda x: x,
    "sigmoid": expit,
}
