"""What the edits of a round are worth by themselves: copies of the run train on with and without.

Both start from the moment of the round and take the same steps, with the same batches, learning
rates and looks at the curvature as the run does after it, and nothing grows in them. The run knows
nothing of them: its numbers are the same bits with and without forks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from senn_cli.engine.mesh import placement_of
from senn_cli.growth.edits import Enlarge
from senn_cli.growth.newborn import followed, newborn
from senn_cli.training.growing import Carried
from senn_cli.training.network import Network, on_device
from senn_cli.training.step import Progress
from senn_cli.training.timetable import Timetable
from senn_cli.training.vitals import Vitals, newborn_figures

PIECE = 64
"""Steps in one dispatch at most, so that signals are heard."""


@dataclass(frozen=True)
class Forks:
    """Trains copies of networks.

    Attributes:
      steps: how many; fewer where the run ends before.
      begin: the sums of a run that has taken no step.
      advance: takes the steps of a network up to one, and says what it has summed up.
      look: looks at the curvature, where it is tracked.
      loss: of a network on the audit's sample; vitals: of its hidden features, there.
      gain: between two networks of one function, by the whole Fisher matrix of the deciding sample;
        None where that is too large.
    """

    steps: int
    timetable: Timetable
    begin: Callable[[], Progress]
    advance: Callable[[Network, Progress, int], tuple[Network, Progress]]
    look: Callable[[Network], Network]
    loss: Callable[[Network], float]
    vitals: Callable[[Network], Mapping[str, Vitals]]
    gain: Callable[[Network, Network], float] | None = None

    def tell(self, before: Network, after: Network, carried: Sequence[Carried]) -> None:
        """Writes into a round's events what their edits did: `fork` and `newborn`.

        Args:
          before, after: the network around the round.
          carried: what the round did, in order.
        """
        told = [c.event for c in carried if not isinstance(c.edit, Enlarge)]
        events = [event for event in told if event and "loss_before" in event]
        step = int(before.state.step)
        end = min(step + self.steps, self.timetable.total or step + self.steps)
        if not events or end == step:
            return
        without, grown = self._trained(before, end), self._trained(after, end)
        losses = {"loss": self.loss(before)}
        losses |= {"without": math.nan if without is None else self.loss(without)}
        losses |= {"with": math.nan if grown is None else self.loss(grown)}
        kept = all("predicted_gain" in e and e.get("keeps_function", True) for e in events)
        if self.gain is not None and kept:
            losses["exact"] = self.gain(before, after)
        known = {name: loss for name, loss in losses.items() if math.isfinite(loss)}
        for event in events:
            event["fork"] = {"steps": end - step, **known}
        if grown is not None:
            _tell_newborn(grown, self.vitals(grown), carried)

    def _trained(self, network: Network, end: int) -> Network | None:
        """A copy of `network` at step `end`; None where its training diverged."""
        # A true copy: steps are donated what they are given.
        state: Any = jax.tree.map(np.array, jax.device_get(network.state))
        place = placement_of(network.widths)
        network, progress = on_device(network.architecture, state, place=place), self.begin()
        while (step := int(network.state.step)) < end:
            ahead = range(step + 1, min(step + PIECE, end) + 1)
            stop = next((at for at in ahead if self.timetable.tracks(at)), ahead[-1])
            network, progress = self.advance(network, progress, stop)
            if int(progress.fault):
                return None
            if stop < end and self.timetable.tracks(stop):
                network = self.look(network)
        return network


def _tell_newborn(
    network: Network, vitals: Mapping[str, Vitals], carried: Sequence[Carried]
) -> None:
    """Writes `newborn` into the events of edits that brought units into use."""
    born: list[tuple[dict[str, Any] | None, dict[str, np.ndarray]]] = []
    for each in carried:
        if each.edit is not None:
            born = [(e, followed(units, each.architecture, each.edit)) for e, units in born]
            born.append((each.event, newborn(each.architecture, each.edit)))
    every = {
        name: np.any([units[name] for _, units in born], axis=0)
        for name in (born[0][1] if born else ())
    }
    for event, units in born:
        figures = newborn_figures(network.architecture, vitals, units, every)
        if event is not None and figures:
            event["newborn"] = figures
