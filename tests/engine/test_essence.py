from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from senn_cli.engine.essence import essence
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.spec.augment import FlipSpec
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.step import make_run_steps


@dataclass(frozen=True)
class Settings:
    size: float
    names: tuple[str, ...] = ()


@dataclass
class Changing:
    size: float


def scaled(by: Any) -> Callable[[Any], Any]:
    return lambda x: x * by.size if hasattr(by, "size") else x * by


def recursive(depth: int) -> Callable[[Any], Any]:
    def down(x: Any, level: int = depth) -> Any:
        return x if level == 0 else down(2 * x, level - 1)

    return down


@pytest.mark.parametrize(
    "make",
    [
        lambda: scaled(2),
        lambda: scaled(Settings(0.5, ("a",))),
        lambda: scaled(FlipSpec(kind="flip")),
        lambda: scaled(np.arange(3.0)),
        lambda: scaled(jnp.arange(3.0)),
        lambda: scaled({"a": [1, (2.0, None)]}),
        lambda: functools.partial(np.add, 1, where=True),
        lambda: functools.partial(scaled(1), x=2),
        lambda: recursive(2),
        lambda: jnp.tanh,
        lambda: optax.adam(1e-3).update,
        lambda: optax.cosine_onecycle_schedule(10, 0.1),
        lambda: make_run_steps(
            CLASSIFICATION, make_optimizer(NaturalGradientSpec(), CLASSIFICATION, 10, 4), 3
        ),
    ],
)
def test_what_is_made_twice_of_equal_values_is_alike(make: Callable[[], Any]) -> None:
    assert essence(make()) is not None
    assert essence(make()) == essence(make())
    hash(essence(make()))


@pytest.mark.parametrize(
    "pair",
    [
        (scaled(2), scaled(3)),
        (scaled(2), scaled(2.0)),
        (scaled(1), scaled(True)),
        (scaled(0.0), scaled(-0.0)),
        (scaled(Settings(1.0)), scaled(Settings(2.0))),
        (scaled(np.zeros(2)), scaled(np.zeros(3))),
        (scaled(np.zeros(2)), scaled(np.zeros(2, np.float32))),
        (scaled([1]), scaled((1,))),
        (recursive(2), recursive(3)),
        (optax.adam(1e-3).update, optax.adam(2e-3).update),
        (functools.partial(scaled, 1), functools.partial(scaled, 2)),
        (lambda x: x + 1, lambda x: x - 1),
    ],
)
def test_what_differs_in_a_value_differs(pair: tuple[Any, Any]) -> None:
    one, other = map(essence, pair)
    assert one is not None and other is not None and one != other


def test_what_may_change_is_like_nothing() -> None:
    assert essence(scaled(Changing(1.0))) is None
    assert essence(scaled(object())) is None
    assert essence(scaled(np.zeros(100_000))) is None  # too large to compare
    namespace: dict[str, Any] = {"__name__": __name__}
    exec("def f(x):\n    return x + size", namespace)  # globals of its own
    assert essence(namespace["f"]) is None
    later: Any

    def unbound() -> Any:
        return later

    assert essence(unbound) is None
    later = 1
    assert essence(unbound) is not None


def test_a_traced_value_is_not_taken_for_a_constant() -> None:
    found = []

    @jax.jit
    def outer(x: jax.Array) -> jax.Array:
        found.append(essence(lambda y: x * y))
        return x

    outer(jnp.ones(2))
    assert found == [None]
