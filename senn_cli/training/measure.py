"""Losses and figures of networks on data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from senn_cli.data.dataset import Dataset
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.programs import Ledger, Program
from senn_cli.training.network import Network


@dataclass(frozen=True)
class Measure:
    """What a run measures its networks by.

    Attributes:
      dataset: whose task and unit the figure has.
      program: evaluates a network.
    """

    dataset: Dataset
    program: Program
    ledger: Ledger

    @property
    def figure(self) -> str:
        """The name of the figure: `accuracy` or `mse`."""
        return "mse" if self.dataset.task == "regression" else "accuracy"

    def __call__(self, data: Arrays, network: Network) -> tuple[float, float]:
        """Mean loss and figure (accuracy, or squared error in the targets' units) of `data`."""
        shape = network.architecture.shape()
        loss, value = self.program(shape, network.state.params, network.widths, data)
        return float(loss), float(value) * self.dataset.unit**2

    def loss_on(self, data: Arrays) -> Callable[[Network], float]:
        """The loss of networks on `data`; of the last one it is measured once."""
        last: tuple[Network, float] | None = None

        def loss(network: Network) -> float:
            nonlocal last
            if last is None or last[0] is not network:
                with self.ledger.phase("evaluate"):
                    last = network, self(data, network)[0]
            return last[1]

        return loss
