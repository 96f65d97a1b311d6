"""Losses and figures of networks on data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.engine.feed import Data, Feed
from senn_cli.engine.programs import Ledger, Program
from senn_cli.nets.registry import kind_of
from senn_cli.training.network import Network


@dataclass(frozen=True)
class Measure:
    """What a run measures its networks by.

    Attributes:
      dataset: whose task and unit the figure has.
      program: evaluates a network on data on the device; added: on a piece of what the host has.
    """

    dataset: Dataset
    program: Program
    added: Program
    ledger: Ledger

    @property
    def figure(self) -> str:
        """The name of the figure: `accuracy` or `mse`."""
        return "mse" if self.dataset.task == "regression" else "accuracy"

    def __call__(self, data: Data, network: Network) -> tuple[float, float]:
        """Mean loss and figure (accuracy, or squared error in the targets' units) of `data`."""
        if isinstance(data, Feed):
            loss, value = self._fed(data, network)
        else:
            shape = network.architecture.shape()
            loss, value = self.program(shape, network.state.params, network.widths, data)
        return float(loss), float(value) * self.dataset.unit**2

    def _fed(self, feed: Feed, network: Network) -> tuple[np.float32, np.float32]:
        """As on the device, block by block."""
        shape, n = network.architecture.shape(), np.float32(len(feed))
        block = min(len(feed), kind_of(network.architecture).block)
        totals: Any = (np.float32(0), np.float32(0))
        for piece, count in feed.pieces(block):
            known = (shape, network.state.params, network.widths, piece, block, np.int32(count))
            totals = self.added(*known, totals)
        loss, value = jax.device_get(totals)
        return loss / n, value / n

    def loss_on(self, data: Data) -> Callable[[Network], float]:
        """The loss of networks on `data`; of the last one it is measured once."""
        last: tuple[Network, float] | None = None

        def loss(network: Network) -> float:
            nonlocal last
            if last is None or last[0] is not network:
                with self.ledger.phase("evaluate"):
                    last = network, self(data, network)[0]
            return last[1]

        return loss
