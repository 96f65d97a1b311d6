"""What an addition must bring in for the parameters that it takes.

The quadratic model knows no end: where a prediction is sure of itself and wrong, F is next to
nothing and Delta eta beyond all bounds. Nobody gains more than is left of the loss when the present
parameters have gained what they promise, eta / 2.

Of its parameters those count that data determine, as in Takeuchi's criterion and its kin: dead
pixels, and inputs that tell the same, add weights but nothing to fit noise with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Price:
    """A price for parameters.

    Attributes:
      price: nats that the gain over all training examples must bring for every one.
      examples: N.
    """

    price: float
    examples: int

    def left(self, loss: float, eta: float) -> float:
        """What additions can gain at most over all examples.

        Args:
          eta: the score of a map without what chance makes of it on its sample: parameters that
            outnumber examples explain any gradient, and would leave nothing to anybody.
        """
        return self.examples * max(loss - eta / 2, 0.0)

    def gain(self, score: float, left: float = float("inf")) -> float:
        """What an addition with that score promises over all examples: N Delta eta / 2."""
        return min(self.examples * score / 2, left)

    def pays(self, gain: float, parameters: float) -> bool:
        """Whether a gain pays for so many parameters."""
        return self.price == 0 or gain >= self.price * parameters


def determined(values: NDArray[np.floating], rows: int) -> float:
    """How many of a unit's input weights the data determine: tr F (F + lambda)^-1, at most `rows`.

    F of input weights is A, the second moment of what they read, times how much the unit counts.
    Initial weights, whose `rows` directions share the power of a pre-activation alike, are a prior
    whose precision is about that of a unit that barely pays with lambda the mean eigenvalue of A.

    Args:
      values: eigenvalues of A, those of unused rows zero.
      rows: rows in use, the constant's included.
    """
    found = np.clip(np.asarray(values, np.float64), 0.0, None)
    mean = found.sum() / rows
    return float(np.sum(found / (found + mean))) if mean > 0 else float(rows)
