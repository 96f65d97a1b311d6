"""Growth of a fully connected network by standing proposals.

Every hidden layer has proposals that nobody optimises (`standing`). A round scores all of them on
one sample, by Theorem 2's lower bound Delta eta' on the score increase, and takes one that passes
into use with a small probability, so that the best need not win at once but what keeps passing is
taken in the end. Neurons that would not be added again go with a small probability too (`removal`).

A score is quadratic in the gradient dW, which noise raises. Here each product pairs dW over one
half of the sample with dW over the other: there is no such term in its expectation, and its
standard error for a proposal without any gain is at most 2 sqrt(n_s) / N for n_s outputs. That is
the `bias` of the candidates here. tau is a share of the score eta of all maps together.
"""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np

from senn_cli.engine.arrays import examples
from senn_cli.growth import score
from senn_cli.growth.compiled import Compiled, Sample
from senn_cli.growth.edits import AddUnits
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policy import Candidate, Decision, Policy, Round, View, sites
from senn_cli.growth.reader import Reader, make_reader
from senn_cli.growth.removal import Bar, prunings
from senn_cli.growth.score import Gains
from senn_cli.growth.settings import Settings
from senn_cli.growth.standing import Dice, StandingSettings, standing
from senn_cli.nets.features import joined
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.randomness import numpy_generator


class DormantNeurons(Policy):
    """The policy `senn` with `proposals: dormant`, for networks of kind `mlp`."""

    def __init__(self, settings: Settings, dormant: StandingSettings, compiled: Compiled) -> None:
        self.settings, self.dormant, self.compiled = settings, dormant, compiled

    def decide(self, view: View) -> Round:
        """One round; nothing is looked at where the dice have chosen no slot and no neuron."""
        dice = Dice.thrown(self.dormant, view, prunes=self.settings.prune is not None)
        # A rejection a round would drown the history; the first round of an epoch has one.
        recorded = view.step // view.per_epoch != (view.step - view.every) // view.per_epoch
        if not (recorded or any(map(np.any, (*dice.activate, *dice.prune)))):
            return Round(())
        return Round(tuple(_DormantRound(self, view, dice).run(recorded)))


def gains(reader: Reader) -> Gains:
    """The gains of all rows of `reader` that are not in use; noise is removed by pairing halves."""
    first, second = reader.halves
    groups = np.arange(reader.used, len(reader.a))[:, None]
    return score.gains(reader.statistics._replace(gradient=first), groups, second)


class _DormantRound:
    """One round in progress: a sample, and every map that reads a layer with its proposals."""

    def __init__(self, policy: DormantNeurons, view: View, dice: Dice) -> None:
        self.started = time.perf_counter()
        self.settings, self.dormant, self.compiled = (
            policy.settings,
            policy.dormant,
            policy.compiled,
        )
        self.view = view
        self.now = cast(MlpArchitecture, view.architecture)
        found = sites(view.architecture, width=True, depth=False)
        self.places = [(site, site.targets(view.architecture)[0]) for site in found]
        self.willing, self.prunable = list(dice.activate), list(dice.prune)
        n = examples(view.data)
        order = numpy_generator(view.seed, "growth sample", view.step).permutation(n)
        rows = order[: min(self.settings.samples, n)].astype(np.int32)
        shape = view.architecture.shape()
        self.sample: Sample = self.compiled.observe(
            shape, view.params, view.widths, view.data, rows
        )
        epoch, layers = view.step // view.per_epoch, range(len(view.architecture.hidden))
        self.proposals = [
            standing(self.dormant, self.now, view.seed, layer, epoch) for layer in layers
        ]
        self.slots = [np.arange(self.dormant.neurons) for _ in layers]
        self.readers = [self._reader(layer) for layer in layers]
        self.first_eta = self._first_eta()
        self.candidates = self._score()

    def _reader(self, layer: int) -> Reader:
        """The map that reads `layer`, with the layer's proposals behind the neurons in use."""
        sample = self.sample
        architecture: Any = self.view.architecture
        width, outputs = architecture.map_width(layer + 1)
        weights, coefficients = self.proposals[layer]
        source = sample.reads[layer]
        room = source.shape[1] - weights.shape[1]
        padded = Neurons(np.pad(weights, ((0, 0), (0, room))), coefficients)
        proposed = self.compiled.activations(source, padded, architecture.hidden[layer].activation)
        used = np.asarray(sample.reads[layer + 1])[:, : 1 + width]
        linear = {k: np.asarray(v) for k, v in self.view.params[f"map_{layer + 1}"].items()}
        return make_reader(
            np.concatenate([used, np.asarray(proposed)], axis=1),
            np.asarray(sample.g[layer + 1])[:, :outputs],
            np.asarray(sample.s[layer + 1])[:outputs, :outputs],
            joined(architecture.maps[layer + 1], linear)[: 1 + width, :outputs],
            self.compiled.shares,
        )

    def _first_eta(self) -> float:
        """The score of map 0, which reads no hidden layer."""
        n_in, n_out = self.now.map_width(0)
        sample = self.sample
        target = self.compiled.target(
            sample.a[0], sample.g[0], sample.s[0], np.int32(1 + n_in), np.int32(n_out)
        )
        bias = float(target.eta_bias) if self.settings.bias_removed else 0.0
        return float(target.eta) - bias

    def _eta(self) -> float:
        """The score of all maps; a map of many inputs has a bias that would drown the others."""
        etas = sum(r.eta for r in self.readers)
        biases = sum(r.eta_bias for r in self.readers) if self.settings.bias_removed else 0.0
        return max(self.first_eta + etas - biases, 0.0)

    def run(self, recorded: bool) -> list[Decision]:
        """The decisions; one that rejects only where nothing changes and `recorded`."""
        decisions: list[Decision] = []
        while (decision := self._addition(len(decisions))) is not None:
            decisions.append(decision)
        s, loss = self.settings, float(self.sample.loss)
        if s.prune is not None:
            bar = Bar(s.threshold, s.stop, s.noise, s.bias_removed, other_eta=self.first_eta)
            decisions += prunings(
                s.prune, bar, self.readers, self.prunable, places=self.places, loss=loss
            )
        if not decisions and recorded:
            decisions.append(self._decision(None, self._why_not(), self._best()))
        return decisions

    def _score(self) -> list[list[Candidate]]:
        """All proposals of all layers, in the order of `slots`."""
        return [self._scored(layer) for layer in range(len(self.readers))]

    def _scored(self, layer: int) -> list[Candidate]:
        s, reader = self.settings, self.readers[layer]
        found = gains(reader)
        eta = self._eta()
        error = 2.0 * float(np.sqrt(len(reader.s))) / reader.count
        result = []
        for exact, lower in zip(found.exact, found.lower, strict=True):
            ratio = lower / eta if eta > 0 else (np.inf if lower > 0 else 0.0)
            passes = ratio > s.threshold and lower > s.stop and lower > s.noise * error
            result.append(
                Candidate(
                    site=self.places[layer][0],
                    delta_eta=float(exact),
                    delta_eta_lower=float(lower),
                    bias=error,
                    eta=eta,
                    score=float(lower),
                    ratio=float(ratio),
                    passes=bool(passes),
                )
            )
        return result

    def _best(self, willing: bool = False) -> list[Candidate]:
        """The best proposal of every layer, the highest score first."""
        found = []
        for layer, candidates in enumerate(self.candidates):
            mask = self.willing[layer][self.slots[layer]]
            some = [c for c, may in zip(candidates, mask, strict=True) if may or not willing]
            found += [max(some, key=lambda c: c.score)] if some else []
        return sorted(found, key=lambda c: -c.score)

    def _addition(self, made: int) -> Decision | None:
        """The best proposal that passes and that the dice have chosen, taken into use."""
        s = self.settings
        if s.exhausted(self.now, self.view.added + made) is not None:
            return None
        allowed = [c for c in self._best(willing=True) if self._allowed(c.site.index)]
        passing = [c for c in allowed if c.passes]
        if not passing:
            return None
        chosen = passing[0]
        others = [c for c in self._best() if c.site != chosen.site]
        edit = self._accept(chosen)
        reason = f"ratio {chosen.ratio:.3g} > tau and score {chosen.score:.3g} > alpha"
        return self._decision(edit, reason, [chosen, *others])

    def _allowed(self, layer: int) -> bool:
        settings = self.settings
        return settings.widens and settings.allows(self.now, _wider(self.now, layer))

    def _accept(self, chosen: Candidate) -> AddUnits:
        """Takes a proposal into use and scores the rest anew: the residual gradient is smaller."""
        layer = chosen.site.index
        place = next(i for i, c in enumerate(self.candidates[layer]) if c is chosen)
        slot = int(self.slots[layer][place])
        self.readers[layer] = self.readers[layer].with_proposal(place)
        if layer > 0:
            self.readers[layer - 1] = self.readers[layer - 1].with_output()
        self.slots[layer] = np.delete(self.slots[layer], place)
        self.prunable[layer] = np.append(self.prunable[layer], False)
        weights, coefficients = (x[slot] for x in self.proposals[layer])
        n_in = self.now.map_width(layer)[0]  # neurons that came in this round are not read
        self.now = _wider(self.now, layer)
        self.candidates = self._score()
        reader = self.readers[layer]
        rational = self.now.hidden[layer].activation == "rational"
        return AddUnits(
            layer=layer,
            incoming=np.pad(weights, (0, 1 + n_in - len(weights)))[:, None],
            coefficients=coefficients[:, None] if rational else None,
            moments=reader.a[: reader.used, : reader.used].astype(np.float32),
        )

    def _decision(
        self, edit: AddUnits | None, reason: str, candidates: list[Candidate]
    ) -> Decision:
        started, self.started = self.started, time.perf_counter()
        return Decision(
            edit=edit,
            reason=reason,
            candidates=tuple(candidates),
            threshold=self.settings.threshold,
            stop=self.settings.stop,
            loss=float(self.sample.loss),
            seconds=self.started - started,
        )

    def _why_not(self) -> str:
        full = self.settings.exhausted(self.now, self.view.added)
        ranked = [c for c in self._best() if self._allowed(c.site.index)]
        if full is not None or not ranked:
            return full or "no site allows an addition"
        best, s = ranked[0], self.settings
        if best.passes:
            return f"no proposal that passes was drawn, though {best.site} has one"
        if best.score <= s.stop:
            return f"score {best.score:.3g} of {best.site} is not above alpha = {s.stop:g}"
        if best.ratio <= s.threshold:
            return f"ratio {best.ratio:.3g} of {best.site} is not above tau = {s.threshold:g}"
        return f"score {best.score:.3g} of {best.site} is within its noise, {best.bias:.3g}"


def _wider(architecture: MlpArchitecture, layer: int) -> MlpArchitecture:
    """The architecture with one more neuron, without spare capacity for it."""
    now = architecture.hidden[layer]
    width = now.width + 1
    return architecture.with_layer(layer, width=width, capacity=max(width, now.capacity))
