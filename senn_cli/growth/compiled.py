"""The compiled functions of a growth round; one program per shape, function and kind of site.

Samples carry `ROOM` columns more than the capacity, so that a round can add neurons beyond it
before the arrays are enlarged.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from senn_cli.curvature.kronecker import second_moment
from senn_cli.curvature.metric import Metric
from senn_cli.growth import objective, score
from senn_cli.growth.objective import Neurons
from senn_cli.growth.observe import Observation, observe
from senn_cli.growth.policy import Site
from senn_cli.growth.score import Gain, Target
from senn_cli.growth.search import DepthSearch, WidthSearch, search_layers, search_neurons
from senn_cli.nets.activation import activate
from senn_cli.nets.architecture import Architecture
from senn_cli.nets.mlp import Parameters
from senn_cli.randomness import wrap
from senn_cli.training.arrays import Arrays, inputs, targets
from senn_cli.training.objective import Task
from senn_cli.training.programs import Ledger, Program

ROOM = 8
"""Columns beyond the capacity that a round may fill."""


class Sample(NamedTuple):
    """An observation whose hidden activations have spare columns.

    Attributes:
      a, z, g, s, loss: see `Observation`; `a[l]` is `(N, 1 + n_in + ROOM)` for l > 0.
      widths: neurons in use of the hidden layers, those added in this round counted.
    """

    a: tuple[jax.Array, ...]
    z: tuple[jax.Array, ...]
    g: tuple[jax.Array, ...]
    s: tuple[jax.Array, ...]
    loss: jax.Array
    widths: jax.Array


class Compiled:
    """Compiled functions for one task, metric and damping; sites and shapes are static."""

    def __init__(
        self, ledger: Ledger, task: Task, metric: Metric, *, damping_a: float, damping_s: float
    ) -> None:
        self.task, self.metric = task, metric
        self.damping_a, self.damping_s = damping_a, damping_s
        self.observe = Program("observe", self._observe, ledger, static=(0,))
        self.search = Program("search", self._search, ledger, static=(0, 2, 4))
        self.score = Program("score", self._score, ledger, static=(0, 2))
        self.append = Program("append", self._append, ledger, static=(0, 2))

    def _observe(
        self,
        shape: Architecture,
        params: Parameters,
        widths: jax.Array,
        data: Arrays,
        rows: jax.Array,
    ) -> Sample:
        seen: Observation = observe(
            shape, params, widths, inputs(data, rows), targets(data, rows), self.task, self.metric
        )
        spare = [seen.a[0]] + [jnp.pad(a, ((0, 0), (0, ROOM))) for a in seen.a[1:]]
        return Sample(tuple(spare), seen.z, seen.g, seen.s, seen.loss, widths)

    def _active(self, shape: Architecture, sample: Sample, index: int) -> jax.Array:
        """Neurons in use that map `index` reads; the outputs for the number of maps."""
        if index == 0:
            return jnp.asarray(shape.inputs)
        if index == shape.maps:
            return jnp.asarray(shape.outputs)
        return sample.widths[index - 1]

    def _target(self, shape: Architecture, sample: Sample, site: Site) -> Target:
        index = site.target
        return score.prepare(
            sample.a[index],
            sample.g[index],
            sample.s[index],
            active_in=1 + self._active(shape, sample, index),
            active_out=self._active(shape, sample, index + 1),
            share_a=self.damping_a,
            share_s=self.damping_s,
        )

    def _source(self, shape: Architecture, sample: Sample, site: Site) -> tuple[jax.Array, jax.Array]:
        """What proposals at `site` read, the constant in front, and its columns in use."""
        if site.kind == "width" or site.side == "inputs":
            a = sample.a[site.index][:, : 1 + shape.map_capacity(site.index)[0]]
            return a, self._active(shape, sample, site.index)
        z = sample.z[site.index]
        constant = jnp.ones((z.shape[0], 1), z.dtype)
        return jnp.concatenate([constant, z], axis=1), self._active(shape, sample, site.index + 1)

    def _search(
        self,
        shape: Architecture,
        sample: Sample,
        site: Site,
        spectrum: tuple[jax.Array, jax.Array] | None,
        settings: WidthSearch | DepthSearch,
        key: jax.Array,
    ) -> Neurons:
        residual = self._target(shape, sample, site).residual
        u, active = self._source(shape, sample, site)
        if isinstance(settings, DepthSearch):
            return search_layers(wrap(key), u, residual, active, settings)
        if spectrum is None:
            spectrum = jnp.linalg.eigh(second_moment(u))
        activation = shape.hidden[site.index].activation
        return search_neurons(
            wrap(key), u, spectrum, residual, 1 + active, activation, settings
        )

    def _score(
        self, shape: Architecture, sample: Sample, site: Site, proposals: Neurons
    ) -> tuple[Gain, Target]:
        target = self._target(shape, sample, site)
        u, active = self._source(shape, sample, site)
        if site.kind == "width":
            a_p = self._activations(shape, site, u, proposals)
            return score.gain_of_neurons(target, a_p), target
        gains = jax.lax.map(
            lambda layer: score.gain_of_layer(
                target, objective.layer_activations(Neurons(*layer), u, active)
            ),
            tuple(proposals),
        )
        return gains, target

    def _activations(
        self, shape: Architecture, site: Site, u: jax.Array, neurons: Neurons
    ) -> jax.Array:
        activation = shape.hidden[site.index].activation
        return activate(activation, u @ neurons.weights.T, neurons.coefficients.T)

    def _append(
        self, shape: Architecture, sample: Sample, site: Site, neuron: Neurons, column: jax.Array
    ) -> tuple[Sample, jax.Array]:
        """The sample with one more neuron in layer `site.index`, and E[a a_p]."""
        u, _ = self._source(shape, sample, site)
        a_p = self._activations(shape, site, u, neuron)[:, 0]
        index = site.index + 1
        a = sample.a[index].at[:, column].set(a_p)
        grown = [*sample.a[:index], a, *sample.a[index + 1 :]]
        widths = sample.widths.at[site.index].add(1)
        moments = a.T @ a_p / a.shape[0]
        return sample._replace(a=tuple(grown), widths=widths), moments
