"""Searching for channels: what is proposed, how it is scored, and what adding it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.objective import REGRESSION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.carry import edit_parameters
from senn_cli.growth.edits import AddUnits, PromoteBud, edit_architecture
from senn_cli.growth.fields import Fields, Scored, moved_back, reached
from senn_cli.growth.objective import Neurons
from senn_cli.growth.policies.field_round import FieldRound, chained
from senn_cli.growth.policy import Round, View
from senn_cli.growth.reader import Shares
from senn_cli.growth.settings import Settings, WidthSearch
from senn_cli.nets.densenet import initial_parameters
from senn_cli.nets.densenet_architecture import DenseArchitecture, Pool
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import readers, used_units, writer
from senn_cli.nets.leaves import joined
from senn_cli.nets.registry import outputs as outputs_of
from senn_cli.randomness import key_data
from tests.densenets import architecture
from tests.views import view_of

N = 48
SEARCH = WidthSearch("closed_form", 32, 4, 5, 8, 0.1, 10.0)
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
    return Fields(Ledger(), REGRESSION, "gaussian", Shares(1e-3, 1e-3))


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


def looked(fields: Fields, view: View) -> Any:
    rows = np.arange(N, dtype=np.int32)
    return fields.observe(view.architecture.shape(), view.params, view.widths, view.data, rows)


def score(fields: Fields, view: View, at: str, neurons: Neurons) -> Scored:
    shape = view.architecture.shape()
    found = fields.score(shape, at, view.params, view.widths, looked(fields, view), neurons)
    scored: Scored = jax.device_get(found)
    return scored


def drawn(view: View, at: str, count: int) -> Neurons:
    m = writer(view.architecture, at)
    units = draw_units(m, used_units(view.architecture), range(count), 7, "test", 0)
    return Neurons(jnp.asarray(units.weights.T), jnp.zeros((count, 3)))


def test_a_searched_channel_scores_above_the_best_of_as_many_random_ones(fields: Fields) -> None:
    view, at = seen(net()), "block_0/layer_0"
    shape, key = view.architecture.shape(), key_data(0, "search", 0)
    wide = replace(SEARCH, proposals=64, polished=8, steps=20)
    found = fields.search(shape, at, wide, key, view.params, view.widths, looked(fields, view))
    searched = score(fields, view, at, found).gains
    random = score(fields, view, at, drawn(view, at, 64)).gains
    assert np.max(searched.lower[:8]) > np.max(random.lower)


def test_what_moves_back_is_what_a_reader_gets_where_nothing_is_chosen(fields: Fields) -> None:
    """A unit's product with it is one of its rows' with the residual: of a window, of a mean."""
    view = seen(net("mean2s2"))
    shape, rng = view.architecture.shape(), np.random.default_rng(3)
    for at, positions in (("block_0/layer_0", 36), ("block_0/layer_1", 36), ("block_1/layer_0", 9)):
        (reader,) = (m for m, _ in readers(shape, at))
        side = int(positions**0.5)
        values = jnp.asarray(rng.standard_normal((N, side, side, 1)), jnp.float32)
        seen_rows = reached(shape, at, reader, values)
        residual = jnp.asarray(rng.standard_normal((*seen_rows.shape[:2], 3)), jnp.float32)
        places = jnp.tile(jnp.arange(positions), (N, 1))
        back = moved_back(shape, at, reader, values, residual, places)
        direct = jnp.einsum("npg,npc->gc", seen_rows, residual).ravel()
        by_place = jnp.einsum("np,npk->k", values.reshape(N, -1), back)
        np.testing.assert_allclose(by_place, direct, rtol=1e-3, atol=1e-3)


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
        scored = score(precise, view_with(seen(grown), params), at, neurons)
        # Damping knows the rows in use by their mean, and those that come each by its own power.
        increase = float(scored.eta - before.eta)
        assert increase == pytest.approx(
            float(before.gains.exact[0]), rel=0.1, abs=1e-3 * float(before.eta)
        )
        assert before.gains.lower[0] <= before.gains.exact[0] * (1 + 1e-3)
        assert 0 <= before.eta <= before.bound * (1 + 1e-3)
        # A copy of what is in use adds next to nothing.
        assert scored.gains.exact[0] < 0.1 * before.gains.exact[0]


def view_with(view: View, params: Any) -> View:
    return replace(view, params=jax.device_put(params))


def decided(fields: Fields, view: View, **changes: Any) -> Round:
    return FieldRound(replace(SETTINGS, **changes), fields, view).run()


def test_an_accepted_addition_keeps_the_function_and_raises_the_score(fields: Fields) -> None:
    view = seen(net())
    found = decided(fields, view)
    (decision,) = found.decisions
    edit: Any = decision.edit
    assert isinstance(edit, AddUnits) and not found.finished
    host = jax.device_get(view.params)
    grown = edit_architecture(view.architecture, edit)
    params: Any = edit_parameters(host, view.architecture, edit)
    widths = jnp.asarray(grown.widths, jnp.int32)
    x = view.data.x
    one = outputs_of(view.architecture.shape(), view.params, x, view.widths)
    two = outputs_of(grown.shape(), params, x, widths)
    np.testing.assert_allclose(np.asarray(two), np.asarray(one), rtol=1e-6, atol=1e-6)
    names = [str(c.site) for c in decision.candidates]
    assert sorted(names) == ["block 0 layer 0", "block 0 layer 1", "block 1 layer 0"]
    assert decision.candidates[0].score == max(c.score for c in decision.candidates)


def test_limits_and_thresholds_hold(fields: Fields) -> None:
    view = seen(net())
    for changes in ({"threshold": 1e9}, {"stop": 1e9}, {"max_width": 2}, {"price": 1e9}):
        (decision,) = decided(fields, view, **changes).decisions
        assert decision.edit is None and decision.reason


def test_buds_are_proposed_as_they_stand(fields: Fields) -> None:
    view = seen(net(bud=1))
    found = decided(fields, view, widens=False, deepens=True, bud_factor=1.0)
    (decision,) = found.decisions
    assert isinstance(decision.edit, PromoteBud) and found.finished
    m = writer(view.architecture, decision.candidates[0].site.at)
    weights = joined(m, {k: np.asarray(v) for k, v in view.params[m.name].items()}).T
    own = Neurons(jnp.asarray(weights), jnp.zeros((1, 3)))
    scored = score(fields, view, decision.candidates[0].site.at, own)
    assert decision.candidates[0].score == pytest.approx(float(scored.gains.exact[0]), rel=1e-4)


def test_the_control_adds_draws_at_the_same_site(fields: Fields) -> None:
    view = seen(net())
    (one,) = decided(fields, view).decisions
    (two,) = decided(fields, view, weights="random").decisions
    first, second = one.edit, two.edit
    assert isinstance(first, AddUnits) and isinstance(second, AddUnits)
    assert first.layer == second.layer and one.candidates == two.candidates
    assert not np.allclose(first.incoming, second.incoming)


def test_chains_are_told_from_what_needs_fields(nets: Any) -> None:
    assert chained(nets.architecture(5, [(3, 4, "silu"), (3, 3, "tanh")], 8))
    assert not chained(net())
