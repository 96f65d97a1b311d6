"""What dropout draws, and what the factors do to the networks of both kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.nets.dropout import dropped
from senn_cli.nets.features import Architecture, used_units
from senn_cli.nets.registry import Shifts, apply
from tests import densenets
from tests.dense import double as double_precision
from tests.dense import network, roomy

KEY = jax.random.key(5)
RATE = 0.3


@pytest.fixture(scope="module", autouse=True)
def double() -> Iterator[None]:
    yield from double_precision()


def drawn(shape: Architecture, examples: int, key: Any = KEY) -> dict[str, np.ndarray]:
    factors = dropped(shape.shape(), used_units(shape), RATE, examples, key)
    return {name: np.asarray(f) for name, f in factors.items()}


def test_a_share_is_left_out_and_the_rest_counts_for_as_much_more() -> None:
    shape, n = network((3, 40, 30, 2))[0], 500
    factors = drawn(shape, n)
    assert sorted(factors) == ["layer_0", "layer_1"]
    for name, units in (("layer_0", 40), ("layer_1", 30)):
        assert factors[name].shape == (n, units)
        assert set(np.unique(factors[name])) == {0.0, 1 / (1 - RATE)}
        # Five standard deviations of a mean of n units Bernoulli variables.
        bound = 5 * np.sqrt(RATE * (1 - RATE) / (n * units))
        assert abs(np.mean(factors[name] == 0) - RATE) < bound
        # Neither all units of an example, nor one unit of all examples, go together.
        assert 0 < np.std((factors[name] == 0).mean(axis=0)) < 0.1
        assert 0 < np.std((factors[name] == 0).mean(axis=1)) < 0.15
    agree = np.mean((factors["layer_0"][:, :30] == 0) == (factors["layer_1"] == 0))
    alike = RATE**2 + (1 - RATE) ** 2
    assert abs(agree - alike) < 5 * np.sqrt(alike * (1 - alike) / (n * 30))
    again, other = drawn(shape, n), drawn(shape, n, jax.random.key(6))
    np.testing.assert_array_equal(again["layer_0"], factors["layer_0"])
    assert (other["layer_0"] != factors["layer_0"]).any()


def test_capacity_changes_no_draw_and_proposals_stay() -> None:
    tight = network((3, 4, 2))[0]
    few = drawn(tight, 11)["layer_0"]
    many = drawn(roomy(tight, (9,)), 11)["layer_0"]
    np.testing.assert_array_equal(many[:, :4], few)
    np.testing.assert_array_equal(many[:, 4:], 1.0)
    assert dropped(tight, used_units(tight), 0.0, 11, KEY) == {}


DENSENET = densenets.architecture((5, 4, 1), 2, [[(2, 3), (3, 3)], [(2, 2)]], bud=2)


@pytest.mark.parametrize("kind", ["mlp", "densenet"])
def test_a_factor_is_that_of_the_weights_that_read_the_unit(kind: str) -> None:
    """For every example by itself: pooling commutes with factors that are not negative."""
    rng, n = np.random.default_rng(0), 6
    params: Any
    if kind == "mlp":
        mlp, params = network((3, 4, 3, 2))
        shape: Architecture = mlp
        x = rng.standard_normal((n, 3))
    else:
        masks = densenets.initial_masks(DENSENET)
        shape, params = DENSENET, densenets.random_parameters(rng, DENSENET, masks, unused=1.0)
        x = rng.standard_normal((n, 20))
    used, factors = used_units(shape), drawn(shape, n)
    assert len(factors) == len(shape.hidden)
    run: Any = jax.jit(
        lambda params, x, factors: (
            apply(shape.shape(), params, x, used, Shifts({}, {}, factors)).outputs
        )
    )
    found = run(params, x, factors)
    plain = run(params, x, {})
    assert np.abs(np.asarray(found - plain)).max() > 0.01
    for index in range(n):
        own = {name: dict(leaves) for name, leaves in params.items()}
        for m in shape.maps:
            for source in m.sources:
                if source.feature.name in factors:
                    factor = factors[source.feature.name][index][:, None]
                    own[m.name][source.leaf] = own[m.name][source.leaf] * factor
        expected = run(own, x[index : index + 1], {})
        np.testing.assert_allclose(found[index : index + 1], expected, rtol=1e-9, atol=1e-11)


def test_what_is_left_out_gets_no_gradient() -> None:
    shape, params = network((3, 4, 2))
    x = np.random.default_rng(1).standard_normal((1, 3))
    factors = {"layer_0": jnp.array([[0.0, 2.0, 0.0, 2.0]])}

    def loss(p: Any) -> jax.Array:
        signals = apply(shape, p, x, used_units(shape), Shifts({}, {}, factors))
        return jnp.sum(signals.outputs**2)

    gradient = jax.jit(jax.grad(loss))(params)
    for leaf in (gradient["map_0"]["kernel"], gradient["map_1"]["kernel"].T):
        assert not leaf[:, [0, 2]].any() and leaf[:, [1, 3]].all()


def test_both_kinds_say_their_share() -> None:
    from senn_cli.nets.registry import kind_named
    from senn_cli.spec import parse_spec

    for network_text in ("{kind: mlp, dropout: 0.3}", "{kind: densenet, dropout: 0.3}"):
        spec = parse_spec(f"data: digits\nnetwork: {network_text}\nexpansion: none\n")
        assert kind_named(spec.network.kind).dropout(spec) == 0.3
