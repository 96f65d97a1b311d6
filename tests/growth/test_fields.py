"""Searching for channels: what is proposed, how it is scored, and what adding it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature.observe import input_rows
from senn_cli.engine.objective import REGRESSION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import AddUnits, PromoteBud, Redraw, edit_architecture
from senn_cli.growth.field_moments import Seen, flat, reached, reading, rows_of
from senn_cli.growth.field_scores import FieldScores
from senn_cli.growth.fields import Fields
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policies.field_round import FieldRound, chained
from senn_cli.growth.policy import Round, View
from senn_cli.growth.reader import Shares
from senn_cli.growth.settings import Settings, WidthSearch
from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.densenet import initial_parameters
from senn_cli.nets.densenet_architecture import DenseArchitecture, Pool
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import used_units, writer
from senn_cli.nets.leaves import row_mask
from senn_cli.nets.registry import outputs as outputs_of
from senn_cli.randomness import key_data
from senn_cli.training.network import capacity_edits
from tests.densenets import architecture
from tests.views import view_of

N = 64
SEARCH = WidthSearch("closed_form", 32, 4, 5, 8, 0.1, 10.0)
SHARES = Shares(1e-3, 1e-3)
SETTINGS = Settings(
    threshold=0.0,
    stop=0.0,
    noise=0.0,
    samples=N,
    held_out=False,
    bias_removed=False,
    width=SEARCH,
    deepens=False,
)


@pytest.fixture(scope="module")
def fields() -> Fields:
    return Fields(Ledger(), REGRESSION, "gaussian", SHARES)


def net(pool: Pool = "max3s2", bud: int = 0) -> DenseArchitecture:
    return architecture((6, 6, 2), 2, [[(2, 4), (2, 4)], [(2, 4)]], bud=bud, pool=pool)


def seen(shape: DenseArchitecture, **changes: Any) -> View:
    """Images whose targets depend on products of neighbours, which no channel of the net sees."""
    rng = np.random.default_rng(0)
    params = initial_parameters(shape, 1)
    x = rng.standard_normal((N, *shape.image))
    pairs = np.tanh(2 * x[:, :-1, :, 0] * x[:, 1:, :, 0]).mean(axis=(1, 2))
    y = np.stack([pairs, x[..., 1].mean(axis=(1, 2))], axis=1)
    return view_of(shape, params, x.reshape(N, -1), 3 * y, **changes)  # type: ignore[arg-type]


def looked(fields: Fields, view: View) -> Seen:
    rows = np.arange(N, dtype=np.int32)
    shape = view.architecture.shape()
    seen: Seen = fields.observe(shape, view.params, view.widths, view.data, rows)
    return seen


def proposals_at(view: View, at: str, neurons: Neurons) -> dict[str, Neurons]:
    """Nothing at the other features: programs serve all of them at once."""
    found = {}
    for feature in view.architecture.features:
        if feature.role == "hidden":
            rows, count = writer(view.architecture, feature.name).rows, len(neurons.weights)
            none = Neurons(np.zeros((count, rows), np.float32), np.zeros((count, 3), np.float32))
            found[feature.name] = neurons if feature.name == at else none
    return found


def scores(fields: Fields, view: View, proposals: dict[str, Neurons]) -> FieldScores:
    seen, shape = looked(fields, view), view.architecture.shape()
    sums = fields.score(shape, view.widths, seen, proposals)
    counts = {at: len(neurons.weights) for at, neurons in proposals.items()}
    return FieldScores(fields.shares, view.architecture, seen, sums, counts)


def score(fields: Fields, view: View, at: str, neurons: Neurons) -> FieldScores:
    return scores(fields, view, proposals_at(view, at, neurons))


def drawn(view: View, at: str, count: int) -> Neurons:
    m = writer(view.architecture, at)
    units = draw_units(m, used_units(view.architecture), range(count), 7, "test", 0)
    return Neurons(units.weights.T, np.zeros((count, 3), np.float32))


def by_hand(view: View, fields: Fields, at: str, weights: np.ndarray, several: bool) -> np.ndarray:
    """Delta eta of channels of `at`, each on its own or all in turn, in double precision.

    From what the maps read and are told, by dense inverses of all rows: eta with less eta without.
    """
    seen = jax.device_get(looked(fields, view))
    shape, used = view.architecture.shape(), used_units(view.architecture)
    m = writer(shape, at)
    rows = row_mask(m, used)
    read = np.asarray(seen.reads[m.name], np.float64)
    x = np.asarray(input_rows(m, jnp.asarray(read)), np.float64) * rows
    z = x @ weights.T
    values = (z / (1 + np.exp(-z))).reshape(*read.shape[:-1], -1)
    total = np.zeros(len(weights))
    for reader in reading(shape):
        if not reader.reads(at):
            continue
        fit = seen.fits[reader.name]
        own = np.asarray(input_rows(reader, jnp.asarray(seen.reads[reader.name])), np.float64)
        old = own[:, row_mask(reader, used)]
        new = np.asarray(reached(shape, at, reader, jnp.asarray(values)), np.float64)
        new = new.reshape(len(old), -1, len(weights))
        g = np.asarray(seen.told[reader.name], np.float64).reshape(len(old), -1)
        g = g[:, used[reader.target.name]]
        there = np.ix_(used[reader.target.name], used[reader.target.name])
        s_inverse = np.linalg.inv(np.asarray(fit.s, np.float64)[there])
        ridge = np.full(old.shape[1], float(fit.ridge))

        def eta(
            chosen: Any,
            old: Any = old,
            new: Any = new,
            g: Any = g,
            ridge: Any = ridge,
            s_inverse: Any = s_inverse,
        ) -> float:
            every = np.concatenate([old, *(new[:, :, p] for p in chosen)], axis=1)
            a, gradient = every.T @ every / N, every.T @ g / N
            fresh = SHARES.a * np.diagonal(a)[len(ridge) :]
            inverse = np.linalg.inv(a + np.diag(np.concatenate([ridge, fresh])))
            return float(np.sum((inverse @ gradient) * (gradient @ s_inverse)))

        for p in range(len(weights)):
            before = range(p) if several else ()
            total[p] += eta([*before, p]) - eta(before)
    return total


@pytest.mark.parametrize("at", ["block_0/layer_0", "block_0/layer_1", "block_1/layer_0"])
def test_gains_are_those_of_dense_inverses_each_given_those_before(fields: Fields, at: str) -> None:
    """Of a reader beside, behind a pooling, and of the head."""
    view = seen(net())
    neurons = drawn(view, at, 3)
    found = score(fields, view, at, neurons)
    alone = by_hand(view, fields, at, np.asarray(neurons.weights, np.float64), several=False)
    np.testing.assert_allclose(found.gains(at).exact, alone, rtol=2e-3)
    in_turn, eta = [], found.eta(at)
    for number in range(3):
        in_turn.append(found.gains(at).exact[number])
        found.take(at, number)
        assert found.gains(at).exact[number] == 0
    expected = by_hand(view, fields, at, np.asarray(neurons.weights, np.float64), several=True)
    np.testing.assert_allclose(in_turn, expected, rtol=5e-3)
    assert found.eta(at) == pytest.approx(eta + sum(in_turn), rel=1e-6)


@pytest.mark.parametrize("at", ["block_0/layer_0", "block_0/layer_1", "block_1/layer_0"])
def test_the_noise_of_a_gain_is_that_between_examples(fields: Fields, at: str) -> None:
    """The variance of what examples contribute, over their number, in the metric of the gain."""
    view = seen(net())
    found = score(fields, view, at, drawn(view, at, 2))
    sample = jax.device_get(looked(fields, view))
    shape = view.architecture.shape()
    expected = np.zeros(2)
    for m in reading(shape):
        if not m.reads(at):
            continue
        stats, groups = found.maps[m.name], found.rows[m.name][at]
        fit = sample.fits[m.name]
        read, told = jnp.asarray(sample.reads[m.name]), flat(jnp.asarray(sample.told[m.name]))
        residual = np.asarray(fit.residual(rows_of(m, read), told), np.float64)
        own = np.asarray(rows_of(m, read), np.float64)
        neurons = drawn(view, at, 2)
        writes = writer(shape, at)
        x = np.asarray(input_rows(writes, jnp.asarray(sample.reads[writes.name])))
        z = (x * row_mask(writes, used_units(view.architecture))) @ np.asarray(neurons.weights).T
        values = (z / (1 + np.exp(-z))).reshape(*sample.reads[writes.name].shape[:-1], 2)
        new = np.asarray(reached(shape, at, m, jnp.asarray(values)))
        new = new.reshape(N, -1, new.shape[-1] // 2, 2)
        c = np.flatnonzero(fit.used)
        for p in range(2):
            cross = stats.a[np.ix_(groups[p], c)] @ stats.a_inverse[np.ix_(c, c)]
            left = new[..., p] - own[..., c] @ cross.T
            each = np.einsum("ntg,ntm->ngm", left, residual)
            schur = stats.a[np.ix_(groups[p], groups[p])] + np.diag(stats.fresh[groups[p]])
            schur = schur - cross @ stats.a[np.ix_(c, groups[p])]
            inverse = np.linalg.inv(schur)
            centred = each - each.mean(axis=0)
            alone = np.einsum("ngm,gh,nhm->n", centred, inverse, centred)
            expected[p] += alone.mean() / (N - 1)
    np.testing.assert_allclose(found.gains(at).bias, expected, rtol=1e-2)


def test_a_planted_channel_is_found_behind_a_pooling_and_a_mean(fields: Fields) -> None:
    """The target is a multiple of what one channel gives to the head: no other scores higher."""
    base = seen(net())
    at, shape = "block_1/layer_0", base.architecture.shape()
    teacher = drawn(base, at, 1)
    m = writer(shape, at)
    read = looked(fields, base).reads[m.name]
    rows = jnp.where(row_mask(m, used_units(base.architecture)), input_rows(m, read), 0.0)
    z = np.asarray(rows @ teacher.weights.T)
    values = jnp.asarray((z / (1 + np.exp(-z))).reshape(*read.shape[:-1], 1))
    (head,) = (o for o in reading(shape) if o.reads(at))
    given = np.asarray(reached(shape, at, head, values))[:, 0]
    given = (given - given.mean()) / given.std()
    view = view_of(
        base.architecture,  # type: ignore[arg-type]
        jax.device_get(base.params),
        np.asarray(base.data.x),
        np.concatenate([given, -0.5 * given], axis=1),
    )
    wide = replace(SEARCH, proposals=64, polished=8, steps=40)
    wanted = {f.name: np.bool_(True) for f in shape.features if f.role == "hidden"}
    key = key_data(0, "search", 0)
    proposals = fields.search(shape, wide, key, wanted, view.widths, looked(fields, view))
    searched = scores(fields, view, jax.device_get(proposals)).gains(at).exact
    planted = score(fields, view, at, teacher).gains(at).exact[0]
    random = score(fields, view, at, drawn(view, at, 8)).gains(at).exact[1:]
    assert np.max(searched) > 0.8 * planted
    assert np.max(searched) > np.max(random)


@pytest.mark.parametrize("pool", ["max3s2", "mean2s2"])
def test_gains_are_what_the_network_with_the_channel_says(pool: Pool) -> None:
    """By a look at the network with the channel in use: its score is higher by Delta eta."""
    precise = Fields(Ledger(), REGRESSION, "gaussian", Shares(1e-5, 1e-3))
    view = seen(net(pool))
    for at, layer in (("block_0/layer_0", 0), ("block_0/layer_1", 1), ("block_1/layer_0", 2)):
        neurons = drawn(view, at, 2)
        before = score(precise, view, at, neurons)
        edit = AddUnits(layer, np.asarray(neurons.weights[:1]).T, None)
        grown = edit_architecture(view.architecture, edit)
        params = edit_parameters(jax.device_get(view.params), view.architecture, edit)
        scored = score(precise, view_with(seen(grown), params), at, neurons)  # type: ignore[arg-type]
        gains = before.gains(at)
        # Damping knows the rows in use by their mean, and those that come each by its own power.
        increase = scored.eta(at) - before.eta(at)
        assert increase == pytest.approx(gains.exact[0], rel=0.1, abs=1e-3 * before.eta(at))
        assert gains.lower[0] <= gains.exact[0] * (1 + 1e-3)
        assert 0 <= before.eta(at) <= before.bound(at) * (1 + 1e-3)
        # A copy of what is in use adds next to nothing.
        assert scored.gains(at).exact[0] < 0.1 * gains.exact[0]


def view_with(view: View, params: Any) -> View:
    return replace(view, params=jax.device_put(params))


def decided(fields: Fields, view: View, **changes: Any) -> Round:
    return FieldRound(replace(SETTINGS, **changes), fields, view).run()


def applied(view: View, found: Round) -> tuple[Any, Any]:
    """The network after a round, with the room that additions need, as the loop makes it."""
    architecture, params = view.architecture, jax.device_get(view.params)
    rule = CapacityRule(1, 0.5)
    for decision in found.decisions:
        for edit in capacity_edits(architecture, decision.edit, rule) if decision.edit else ():
            before = architecture
            architecture = edit_architecture(before, edit)
            params = edit_parameters(params, before, edit, architecture)
    return architecture, params


def test_a_round_adds_several_by_one_look_and_keeps_the_function(fields: Fields) -> None:
    view, compiled = seen(net()), fields.search.ledger.compiled
    found = decided(fields, view, threshold=0.05)
    counts = dict(compiled)
    edits = [d.edit for d in found.decisions if d.edit is not None]
    assert len(edits) > 2 and all(isinstance(edit, AddUnits) for edit in edits)
    assert found.finished and found.decisions[-1].edit is None
    # From behind: the rows of a map stay where they are until it has got its own.
    layers = [edit.layer for edit in edits if isinstance(edit, AddUnits)]
    assert layers == sorted(layers, reverse=True)
    grown, params = applied(view, found)
    assert grown.parameters > view.architecture.parameters
    one = outputs_of(view.architecture.shape(), view.params, view.data.x, view.widths)
    two = outputs_of(grown.shape(), params, view.data.x, jnp.asarray(grown.widths, jnp.int32))
    np.testing.assert_allclose(np.asarray(two), np.asarray(one), rtol=1e-6, atol=1e-6)
    names = {str(c.site) for d in found.decisions for c in d.candidates}
    assert names == {"block 0 layer 0", "block 0 layer 1", "block 1 layer 0"}
    for decision in found.decisions[:-1]:
        best = decision.candidates[0]
        assert best.score == max(c.score for c in decision.candidates if c.passes)
        assert decision.bound is not None and decision.bound > best.score
    # Another round of a network within its capacity compiles nothing.
    decided(fields, replace(view, step=1, widths=view.widths.at[0].add(1)), threshold=0.05)
    assert fields.search.ledger.compiled == counts


def test_limits_and_thresholds_hold(fields: Fields) -> None:
    view = seen(net())
    for changes in ({"threshold": 1e9}, {"stop": 1e9}, {"max_width": 2}, {"price": 1e9}):
        (decision,) = decided(fields, view, **changes).decisions
        assert decision.edit is None and decision.reason


def test_buds_are_proposed_as_they_stand(fields: Fields) -> None:
    view = seen(net(bud=1))
    found = decided(fields, view, widens=False, deepens=True)
    (decision,) = found.decisions
    assert isinstance(decision.edit, PromoteBud) and found.finished
    site = decision.candidates[0].site
    # The bud's own channel as one that is proposed for the layer behind it: the maps that read it.
    scored = scores(fields, view, {})
    assert decision.candidates[0].delta_eta == pytest.approx(
        scored.gains(site.at).exact[0], rel=1e-3
    )
    grown, _ = applied(view, found)
    assert len(grown.hidden) == len(view.architecture.hidden) + 1


def test_buds_that_do_not_come_are_drawn_anew(fields: Fields) -> None:
    view = seen(net(bud=1))
    found = decided(fields, view, widens=False, deepens=True, threshold=1e9)
    redraw, rejection = found.decisions
    assert isinstance(redraw.edit, Redraw) and rejection.edit is None
    _, params = applied(view, found)
    changed = {
        name
        for name, leaves in params.items()
        if any(not np.array_equal(leaf, view.params[name][k]) for k, leaf in leaves.items())
    }
    assert changed == {f.name for f in view.architecture.features if f.role == "bud"}


def test_the_control_adds_draws_at_the_same_site(fields: Fields) -> None:
    view = seen(net())
    one, two = decided(fields, view), decided(fields, view, weights="random")
    assert len(one.decisions) == len(two.decisions)
    for first, second in zip(one.decisions[:-1], two.decisions[:-1], strict=True):
        assert isinstance(first.edit, AddUnits) and isinstance(second.edit, AddUnits)
        assert first.edit.layer == second.edit.layer and first.candidates == second.candidates
        assert not np.allclose(first.edit.incoming, second.edit.incoming)
    drawn_at = {d.edit.incoming.tobytes() for d in two.decisions if isinstance(d.edit, AddUnits)}
    assert len(drawn_at) == len(two.decisions) - 1


def test_chains_are_told_from_what_needs_fields(nets: Any) -> None:
    assert chained(nets.architecture(5, [(3, 4, "silu"), (3, 3, "tanh")], 8))
    assert not chained(net())
