"""What an addition must bring in for the parameters that it takes.

The quadratic model knows no end: where a prediction is sure of itself and wrong, F is next to
nothing and Delta eta beyond all bounds. Nobody gains more than is left of the loss when the present
parameters have gained what they promise, eta / 2.
"""

from __future__ import annotations

from dataclasses import dataclass


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
        """What additions can gain at most over all examples, where a map's score is `eta`."""
        return self.examples * max(loss - eta / 2, 0.0)

    def gain(self, score: float, left: float = float("inf")) -> float:
        """What an addition with that score promises over all examples: N Delta eta / 2."""
        return min(self.examples * score / 2, left)

    def pays(self, gain: float, parameters: int) -> bool:
        """Whether a gain pays for so many parameters."""
        return self.price == 0 or gain >= self.price * parameters
