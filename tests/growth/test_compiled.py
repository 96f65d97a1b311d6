from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.compiled import ROOM, SQUARE, Compiled
from senn_cli.growth.objective import Neurons
from senn_cli.growth.settings import WidthSearch
from senn_cli.growth.target import gain_of_layer, gain_of_neurons
from senn_cli.randomness import key_data

N, INPUTS, OUTPUTS, P = 60, 3, 4, 5
HIDDEN = [(2, 4, "rational"), (3, 5, "silu")]


class Setting:
    """A classifier, its data on the device, and the programs that look at it."""

    def __init__(self, nets: Any) -> None:
        rng = np.random.default_rng(0)
        self.ledger = Ledger()
        self.compiled = Compiled(
            self.ledger, CLASSIFICATION, "softmax", damping_a=1e-3, damping_s=1e-3
        )
        self.shape = nets.architecture(INPUTS, HIDDEN, OUTPUTS)
        self.params = nets.draw(rng, self.shape, np.float32)
        self.x = rng.integers(0, 256, (N, INPUTS)).astype(np.uint8)
        self.y = rng.integers(0, OUTPUTS, N).astype(np.int32)
        self.seen = nets.run(self.shape, self.params, ((self.x - 100.0) * 0.02).astype(np.float32))
        self.sample = self.observe(np.arange(N))

    def observe(self, rows: np.ndarray, by: Compiled | None = None) -> Any:
        data = Arrays(
            *(jnp.asarray(v) for v in (self.x, self.y)),
            shift=jnp.full(INPUTS, 100.0),
            scale=jnp.full(INPUTS, 0.02),
            target_shift=jnp.zeros(1),
            target_scale=jnp.ones(1),
        )
        widths = jnp.asarray(self.shape.widths, jnp.int32)
        params = jax.device_put(self.params)
        return (by or self.compiled).observe(
            self.shape.shape(), params, widths, data, rows.astype(np.int32)
        )

    def target(self, index: int) -> target.Target:
        n_in, n_out = self.shape.map_width(index)
        s = self.sample
        return self.compiled.target(
            s.a[index], s.g[index], s.s[index], np.int32(1 + n_in), np.int32(n_out)
        )


@pytest.fixture(scope="module")
def setting(nets: Any) -> Setting:
    return Setting(nets)


def test_a_sample_is_what_the_chosen_rows_say(setting: Setting) -> None:
    s, seen = setting.sample, setting.seen
    for i in range(len(setting.shape.maps)):
        n_in, n_out = setting.shape.map_width(i)
        cap_in, cap_out = setting.shape.map_capacity(i)
        np.testing.assert_allclose(s.reads[i][:, : 1 + n_in], seen.reads[i], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(s.yields[i][:, 1 : 1 + n_out], seen.z[i], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(s.yields[i][:, 0], 1.0)
        room = 0 if i == 0 else ROOM  # network inputs do not grow
        assert s.a[i].shape == (N, 1 + cap_in + room)
        assert s.yields[i].shape == (N, 1 + cap_out)
        np.testing.assert_array_equal(s.a[i][:, : 1 + cap_in], s.reads[i])
        assert not np.any(s.a[i][:, 1 + n_in :]) and not np.any(s.yields[i][:, 1 + n_out :])
    log_p = seen.outputs - np.log(np.exp(seen.outputs).sum(axis=1, keepdims=True))
    assert float(s.loss) == pytest.approx(-np.mean(log_p[np.arange(N), setting.y]), rel=1e-4)
    turned = setting.observe(np.arange(N)[::-1])
    np.testing.assert_allclose(turned.g[1], s.g[1][::-1], rtol=1e-4, atol=1e-6)


def test_scores_of_neurons_are_those_of_their_activations(setting: Setting, nets: Any) -> None:
    rng = np.random.default_rng(1)
    u = np.asarray(setting.sample.reads[0])
    weights = rng.standard_normal((P, u.shape[1])).astype(np.float32)
    coefficients = rng.standard_normal((P, 3)).astype(np.float32)
    target = setting.target(1)
    made = setting.compiled.activate(u, Neurons(weights, coefficients), "rational")
    gain = setting.compiled.score_width(target, made)
    z = u @ weights.T
    phi = np.stack([z, 1 / (1 + z**2), z / (1 + z**2)], axis=-1)
    expected = gain_of_neurons(target, jnp.einsum("npk,pk->np", phi, coefficients))
    for ours, theirs in zip(gain, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3)


def test_scores_of_layers_are_those_of_their_activations(setting: Setting) -> None:
    rng = np.random.default_rng(2)
    v = np.asarray(setting.sample.reads[1])
    q = v.shape[1] - 1
    weights = rng.standard_normal((2, q, 1 + q)).astype(np.float32)
    coefficients = rng.standard_normal((2, q, 3)).astype(np.float32)
    target, active = setting.target(1), setting.shape.widths[0]
    gain = setting.compiled.score_depth(target, v, Neurons(weights, coefficients), np.int32(active))
    for i in range(2):
        z = v @ weights[i, :active].T
        phi = np.stack([z, 1 / (1 + z**2), z / (1 + z**2)], axis=-1)
        a_q = np.einsum("nqk,qk->nq", phi, coefficients[i, :active])
        expected = gain_of_layer(target, jnp.asarray(a_q))
        for ours, theirs in zip(gain, expected, strict=True):
            assert float(ours[i]) == pytest.approx(float(theirs), rel=5e-3)


def test_an_accepted_neuron_joins_the_activations(setting: Setting) -> None:
    rng = np.random.default_rng(3)
    u, a = np.asarray(setting.sample.reads[0]), np.asarray(setting.sample.a[1])
    neurons = Neurons(
        rng.standard_normal((P, u.shape[1])).astype(np.float32),
        rng.standard_normal((P, 3)).astype(np.float32),
    )
    made = setting.compiled.activate(u, neurons, "silu")
    grown, moments = setting.compiled.append(a, made, np.int32(2), np.int32(3))
    z = u @ neurons.weights[2]
    expected = a.copy()
    expected[:, 3] = z / (1 + np.exp(-z))
    np.testing.assert_allclose(grown, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moments, expected.T @ expected / N, rtol=1e-4, atol=1e-5)
    # Once it is there, a copy of it scores nothing but damping.
    n = setting.shape.widths[0]
    before = setting.target(1)
    after = setting.compiled.target(
        grown, setting.sample.g[1], setting.sample.s[1], np.int32(2 + n), np.int32(3)
    )
    gains = [float(setting.compiled.score_width(t, made).exact[2]) for t in (before, after)]
    assert gains[0] > 0 and gains[1] < 0.02 * gains[0]


def test_growth_within_the_capacity_compiles_nothing(setting: Setting) -> None:
    u = setting.sample.reads[0]
    settings = WidthSearch("closed_form", 8, 2, 2, 4, 0.1, 1.0)

    def search(active: int, seed: int) -> Neurons:
        key = key_data(seed, "test", 0)
        residual = setting.target(1).residual
        return setting.compiled.search_width(
            key, u, None, residual, np.int32(active), "rational", settings
        )

    first, again = search(4, 0), search(4, 0)
    np.testing.assert_array_equal(first.weights, again.weights)
    before = dict(setting.ledger.compiled)
    assert before["search_width"] == 1
    other = search(3, 1)
    assert np.any(other.weights != first.weights)
    setting.shape = setting.shape.with_layer(0, width=3)
    setting.observe(np.arange(N))
    setting.target(1)
    setting.shape = setting.shape.with_layer(0, width=2)
    assert setting.ledger.compiled == before


def test_the_inputs_spectrum_may_be_known_beforehand(setting: Setting) -> None:
    u = np.asarray(setting.sample.reads[0])
    settings = WidthSearch("closed_form", 8, 2, 2, 4, 0.1, 1.0)
    residual = setting.target(1).residual
    found = [
        setting.compiled.search_width(
            key_data(0, "test", 0), u, known, residual, np.int32(4), "rational", settings
        )
        for known in (None, jnp.linalg.eigh(u.T @ u / N))
    ]
    np.testing.assert_allclose(found[0].weights, found[1].weights, rtol=0.02, atol=0.02)


def test_samples_of_equal_size_score_alike(setting: Setting) -> None:
    """One program each does for all maps where they have the same columns."""
    equal = Compiled(
        setting.ledger, CLASSIFICATION, "softmax", damping_a=1e-3, damping_s=1e-3, deepens=True
    )
    sample = setting.observe(np.arange(N), equal)
    rng = np.random.default_rng(4)
    for i in range(len(setting.shape.maps)):
        n_in, n_out = setting.shape.map_width(i)
        used = np.int32(1 + n_in), np.int32(n_out)
        target = equal.target(sample.a[i], sample.g[i], sample.s[i], *used)
        exact = setting.target(i)
        for name in ("eta", "eta_bias", "bound"):
            expected = float(getattr(exact, name))
            assert float(getattr(target, name)) == pytest.approx(expected, rel=1e-4)
        read = np.asarray(setting.sample.reads[i])
        weights = rng.standard_normal((P, read.shape[1])).astype(np.float32)
        proposals = Neurons(weights, np.zeros((P, 3), np.float32))
        wide = sample.reads[i].shape[1] - read.shape[1]
        padded = proposals._replace(weights=np.pad(weights, ((0, 0), (0, wide))))
        gain = equal.score_width(target, equal.activate(sample.reads[i], padded, "silu"))
        made = setting.compiled.activate(read, proposals, "silu")
        for ours, theirs in zip(gain, setting.compiled.score_width(exact, made), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-3)
    sizes = {tuple(jax.tree.map(jnp.shape, each)) for each in zip(*sample[:-1], strict=True)}
    assert len(sizes) == 1
    assert len(equal.target._executables) == len(equal.score_width._executables) == 1


def test_the_spectrum_of_what_a_layer_reads(setting: Setting) -> None:
    """Padded where it is known, else of the sample; each of the second moment of all columns."""
    equal = Compiled(
        setting.ledger, CLASSIFICATION, "softmax", damping_a=1e-3, damping_s=1e-3, deepens=True
    )
    rng = np.random.default_rng(5)
    read = np.zeros((N, 1 + SQUARE), np.float32)
    read[:, :4] = rng.standard_normal((N, 4))
    moment = read.T.astype(np.float64) @ read / N
    known = np.linalg.eigh(moment[:4, :4])
    for given in (None, tuple(np.float32(part) for part in known)):
        found = equal.spectrum(jnp.asarray(read), given)
        assert found is not None
        values, vectors = found
        assert np.all(np.diff(values) >= 0)
        np.testing.assert_allclose((vectors * values) @ vectors.T, moment, atol=1e-5)
    assert setting.compiled.spectrum(jnp.asarray(read), None) is None
