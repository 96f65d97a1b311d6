"""Losses and figures of networks on data.

On a CPU, networks whose steps go one by one are measured block by block, too: no convolution is
then within a loop, and one program does for all parts of the data. So are others on data so small
that compiling takes more than running, `engine/effort.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.engine.arrays import Arrays, examples
from senn_cli.engine.feed import Data, Feed, blocks
from senn_cli.engine.mesh import ONE, placement_of
from senn_cli.engine.programs import Ledger, Program
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_of
from senn_cli.nets.slots import blank_parameters, slots_of
from senn_cli.training.network import Network


@dataclass(frozen=True)
class Measure:
    """What a run measures its networks by.

    Attributes:
      dataset: whose task and unit the figure has.
      program: evaluates a network on data on the device; added: on some rows of it, or of what
        the host has.
      deepens: whether it is for networks of any number of layers, `nets/slots.py`.
    """

    dataset: Dataset
    program: Program
    added: Program
    ledger: Ledger
    deepens: bool = False

    @property
    def figure(self) -> str:
        """The name of the figure: `accuracy` or `mse`."""
        return "mse" if self.dataset.task == "regression" else "accuracy"

    def __call__(self, data: Data, network: Network) -> tuple[float, float]:
        """Mean loss and figure (accuracy, or squared error in the targets' units) of `data`."""
        known, block = self._known(network), self._block(data, network.architecture)
        if block is None:
            loss, value = self.program(*known, data)
        else:
            totals: Any = _NOTHING
            for piece, count in _pieces(data, block):
                totals = self.added(*known, piece, block, np.int32(count), totals)
            loss, value = (total / np.float32(examples(data)) for total in jax.device_get(totals))
        return float(loss), float(value) * self.dataset.unit**2

    def expect(self, data: Arrays, network: Network) -> Callable[[], None]:
        """What compiles the measuring of such a network in another thread; see `Program.expect`."""
        known, block = self._known(network), self._block(data, network.architecture)
        if block is None:
            return self.program.expect(*known, data)
        piece, count = next(_pieces(data, block))
        return self.added.expect(*known, piece, block, np.int32(count), _NOTHING)

    def _known(self, network: Network) -> tuple[Any, ...]:
        """The shape, parameters and widths that programs are given."""
        slots = slots_of(network.architecture, 1) if self.deepens else None
        if slots is None:
            return network.architecture.shape(), network.state.params, network.widths
        params = slots.filled(network.state.params, blank_parameters(slots.shape))
        return slots.shape, params, slots.widths(network.widths)

    def _block(self, data: Data, architecture: Architecture) -> int | None:
        """Rows that are measured at a time; None where a program measures the whole data."""
        kind = kind_of(architecture)
        if isinstance(data, Feed):
            return min(len(data), kind.block)
        alone = placement_of(data.y) is ONE
        few = kind.one_by_one or self.ledger.efforts.steps == "quick"
        if few and alone and {d.platform for d in data.y.devices()} == {"cpu"}:
            return min(len(self.dataset.train), kind.block)
        return None

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


_NOTHING = (np.float32(0), np.float32(0))


def _pieces(data: Data, block: int) -> Iterator[tuple[Arrays, int]]:
    return data.pieces(block) if isinstance(data, Feed) else blocks(data, block)
