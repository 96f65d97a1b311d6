"""The scores of a round's proposals, each given what the round has accepted so far: on the host.

A unit that comes at output weights of zero changes neither what maps read nor what they are told.
Of the statistics of a sample nothing but which rows are in use is another then, so that one look
serves all additions of a round: rows come into use by block elimination (`score.with_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from senn_cli.growth import score
from senn_cli.growth.field_moments import Seen, proposed_rows, reading, statistics
from senn_cli.growth.moments import MapStatistics
from senn_cli.growth.reader import Shares
from senn_cli.growth.score import Gains
from senn_cli.nets.features import Architecture, Map


class FieldScores:
    """Proposals at the features of a network, and its buds.

    Args:
      architecture: of the network, with its widths.
      seen: a sample.
      sums: `ReaderSums` of the same sample by the name of the map.
      counts: how many units are proposed for every feature.

    Attributes:
      maps: the statistics of every map that reads units which may come.
    """

    def __init__(
        self,
        shares: Shares,
        architecture: Architecture,
        seen: Seen,
        sums: Mapping[str, Any],
        counts: Mapping[str, int],
    ) -> None:
        examples = len(next(iter(seen.reads.values())))
        fits, sums = jax.device_get((seen.fits, sums))
        self.readers = {m.name: m for m in reading(architecture)}
        self.maps: dict[str, MapStatistics] = {
            name: statistics(shares, fits[name], sums[name], examples) for name in self.readers
        }
        self._bounds = {name: float(sums[name].bound) for name in self.readers}
        self.rows = {name: self._groups(m, counts) for name, m in self.readers.items()}
        self._gains: dict[tuple[str, str], Gains] = {}

    def _groups(self, m: Map, counts: Mapping[str, int]) -> dict[str, np.ndarray]:
        """The rows of every proposal, those of a bud as one: it comes as a whole."""
        buds = (source for source in m.sources if source.feature.role == "bud")
        whole = {source.feature.name: m.groups(source).reshape(1, -1) for source in buds}
        return proposed_rows(m, counts) | whole

    def _reading(self, at: str) -> list[str]:
        return [name for name in self.readers if at in self.rows[name]]

    def gains(self, at: str) -> Gains:
        """The score increases of what is proposed at a feature, `(P,)`, summed over its readers."""
        found = []
        for name in self._reading(at):
            if (name, at) not in self._gains:
                gains = score.gains(self.maps[name], self.rows[name][at])
                self._gains[name, at] = gains
            found.append(self._gains[name, at])
        return Gains(*(np.sum(parts, axis=0) for parts in zip(*found, strict=True)))

    def eta(self, at: str) -> float:
        """The present score of the maps that read the feature."""
        return float(sum(score.eta(self.maps[name]) for name in self._reading(at)))

    def eta_bias(self, at: str) -> float:
        """By how much the finite sample is expected to raise that."""
        return float(sum(score.eta_bias(self.maps[name]) for name in self._reading(at)))

    def bound(self, at: str) -> float:
        """The sum of their lambda, which that cannot exceed."""
        return sum(self._bounds[name] for name in self._reading(at))

    def take(self, at: str, number: int) -> None:
        """Proposal `number` at a feature comes into use."""
        for name in self._reading(at):
            rows = self.rows[name][at][number]
            self.maps[name] = score.with_rows(self.maps[name], rows)
            self._gains = {key: g for key, g in self._gains.items() if key[0] != name}
