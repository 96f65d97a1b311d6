"""A sample as a growth round sees it: what its maps read, with the neurons accepted so far."""

from __future__ import annotations

import jax
import numpy as np

from senn_cli.growth.compiled import Compiled, Sample
from senn_cli.growth.objective import Neurons
from senn_cli.growth.target import Target
from senn_cli.spec.activation import Activation


class Observed:
    """A sample with the targets prepared from it; both change as neurons are added in the round."""

    def __init__(self, compiled: Compiled, sample: Sample) -> None:
        self.compiled, self.sample = compiled, sample
        self.a = list(sample.a)
        self._targets: dict[int, Target] = {}
        self._made: dict[str, tuple[Neurons, jax.Array]] = {}

    def target(self, index: int, active_in: int, active_out: int) -> Target:
        """Map `index`, of whose inputs (the constant not counted) `active_in` are in use."""
        if index not in self._targets:
            self._targets[index] = self.compiled.target(
                self.a[index],
                self.sample.g[index],
                self.sample.s[index],
                np.int32(1 + active_in),
                np.int32(active_out),
            )
        return self._targets[index]

    def activations(
        self, at: str, source: jax.Array, proposals: Neurons, activation: Activation
    ) -> jax.Array:
        """What proposals for `at` make of the sample, `(N, P)`, worked out once.

        Args:
          source: what they read.
        """
        known = self._made.get(at)
        if known is None or known[0] is not proposals:
            known = proposals, self.compiled.activate(source, proposals, activation)
            self._made[at] = known
        return known[1]

    def append(self, index: int, activations: jax.Array, number: int, column: int) -> np.ndarray:
        """Adds a neuron's activations as a column of what map `index` reads.

        Args:
          activations: of some neurons, of which it is the one with that `number`.

        Returns:
          Second moments of all columns.
        """
        self.a[index], moments = self.compiled.append(
            self.a[index], activations, np.int32(number), np.int32(column)
        )
        self._targets.pop(index, None)
        return np.asarray(moments)
