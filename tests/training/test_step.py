from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.curvature import tracking as track
from senn_cli.curvature.kronecker import second_moment, spectrum, with_constant
from senn_cli.curvature.tracked import TrackSettings
from senn_cli.curvature.tracking import Tracking
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.frozen import FrozenState
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION, Objective
from senn_cli.nets.features import used_units
from senn_cli.nets.leaves import is_kernel, trained
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import outputs as outputs_of
from senn_cli.randomness import key_data, wrap
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, SgdSpec
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.step import (
    FAULTS,
    Keys,
    Order,
    Progress,
    TrainState,
    epoch_order,
    make_run_steps,
    no_order,
    no_progress,
)
from tests.dense import (
    Tree,
    close,
    fisher,
    flat,
    in_use,
    network,
    outputs,
    padded,
    roomy,
    widths_of,
)

RNG = np.random.default_rng(3)
NATURAL = {"kl_clip": 0.05, "schedule": "constant", "momentum": 0.5, "weight_decay": 0.01}
SPECS: dict[str, Any] = {
    "kfac": NaturalGradientSpec.model_validate(NATURAL | {"invert_every": 2}),
    "cg": NaturalGradientSpec.model_validate(
        NATURAL | {"solver": "cg", "cg_iterations": 400, "cg_tolerance": 1e-13}
    ),
    "adam": AdamSpec(kind="adam", learning_rate=0.05, weight_decay=0.01),
    "paper": NaturalGradientSpec.model_validate({"preset": "paper", "cg_tolerance": 1e-13}),
}


def arrays(x: Any, y: Any, dtype: Any = np.float32) -> Arrays:
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    return Arrays(np.asarray(x), np.asarray(y), zero, one, zero, one)


def keys(seed: int) -> Keys:
    return Keys(*(key_data(seed, use) for use in ("batches", "fisher", "augment")))


def start(
    architecture: MlpArchitecture, params: Tree, optimizer: Optimizer, dtype: Any = np.float32
) -> TrainState:
    params = jax.tree.map(lambda v: jnp.asarray(v, dtype), params)
    curvature = None
    if optimizer.tracking is not None:
        curvature = track.initial(architecture.shape(), optimizer.tracking, dtype)
    return TrainState(jnp.int32(0), params, optimizer.transform.init(params), curvature)


Advance = Callable[..., tuple[TrainState, Progress]]


def runner(objective: Objective, optimizer: Optimizer, batch: int) -> Advance:
    """`(architecture, state, data, until, ...) -> (state, progress)`, compiled."""
    compiled = jax.jit(make_run_steps(objective, optimizer, batch), static_argnums=0)

    def advance(
        architecture: MlpArchitecture,
        state: TrainState,
        data: Arrays,
        until: int,
        *,
        seed: int = 0,
        progress: Progress | None = None,
        factor: Any = None,
        limit: float = np.inf,
    ) -> tuple[TrainState, Progress]:
        return compiled(
            architecture.shape(),
            state,
            no_progress() if progress is None else progress,
            widths_of(architecture),
            data,
            keys(seed),
            factor,
            np.int32(until),
            np.asarray(limit, data.shift.dtype),
        )

    return advance


def same_bits(one: Any, two: Any) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(a, b)


# Ten examples in batches of three: three steps in an epoch, a stop after five is within one.
SMALL, SMALL_PARAMS = network((3, 4, 2))
DATA = arrays(
    RNG.standard_normal((10, 3)).astype(np.float32), RNG.integers(0, 2, 10).astype(np.int32)
)


@cache
def kfac_run() -> tuple[TrainState, Advance]:
    optimizer = make_optimizer(SPECS["kfac"], CLASSIFICATION, 100, 3)
    return start(SMALL, SMALL_PARAMS, optimizer), runner(CLASSIFICATION, optimizer, 3)


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    state, advance = kfac_run()
    one = advance(SMALL, state, DATA, 12, seed=4)
    same_bits(advance(SMALL, state, DATA, 12, seed=4), one)
    other = advance(SMALL, state, DATA, 12, seed=5)
    assert not np.array_equal(flat(other[0].params), flat(one[0].params))
    assert int(one[0].step) == 12 == int(one[1].steps)


@pytest.mark.parametrize("stops", [(5, 12), (1, 2, 3, 7, 11, 12)])
def test_how_steps_are_grouped_changes_no_bit(stops: tuple[int, ...]) -> None:
    state, advance = kfac_run()
    whole = advance(SMALL, state, DATA, 12)
    progress: Progress | None = None
    for stop in stops:
        state, progress = advance(SMALL, state, DATA, stop, progress=progress)
    same_bits((state, progress), whole)


def test_an_epochs_order_is_kept_from_one_dispatch_to_the_next() -> None:
    optimizer = make_optimizer(SgdSpec(kind="sgd", learning_rate=0.1), CLASSIFICATION, None, 3)
    run = jax.jit(make_run_steps(CLASSIFICATION, optimizer, 3), static_argnums=0)

    def advance(state: TrainState, progress: Any, data: Arrays, until: int, known: Order) -> Any:
        told = (widths_of(SMALL), data, keys(0), None, np.int32(until), np.float32(np.inf))
        return run(SMALL.shape(), state, progress, *told, known)

    begun = start(SMALL, SMALL_PARAMS, optimizer)
    whole = advance(begun, no_progress(), DATA, 11, no_order(10))
    same_bits(whole[2], Order(np.int32(3), epoch_order(wrap(keys(0).batches), 3, 10)))
    parts = (begun, no_progress(), no_order(10))
    for stop in (2, 4, 9, 11):
        parts = advance(parts[0], parts[1], DATA, stop, parts[2])
    same_bits(parts, whole)
    # One that is there is taken as it is: of these rows all are the first example.
    first = Order(np.int32(0), np.zeros(10, np.int32))
    alike = DATA._replace(x=np.repeat(DATA.x[:1], 10, 0), y=np.repeat(DATA.y[:1], 10))
    expected = advance(begun, no_progress(), alike, 3, no_order(10))
    same_bits(advance(begun, no_progress(), DATA, 3, first)[:2], expected[:2])


def test_there_is_nothing_to_do_at_the_stop() -> None:
    state, advance = kfac_run()
    state, progress = advance(SMALL, state, DATA, 4)
    same_bits(advance(SMALL, state, DATA, 4, progress=progress), (state, progress))


def test_an_epochs_order() -> None:
    key = wrap(key_data(0, "batches"))
    orders = [np.asarray(epoch_order(key, e, 20)) for e in (0, 1, 0)]
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(20))
    assert not np.array_equal(orders[0], orders[1])
    np.testing.assert_array_equal(orders[0], orders[2])


def test_each_epoch_visits_each_example_at_most_once() -> None:
    # Example i is the i-th unit vector: a step changes the weights of just the rows that it saw.
    linear = MlpArchitecture(10, 1)
    optimizer = make_optimizer(SgdSpec(kind="sgd", learning_rate=0.1), REGRESSION, None, 3)
    advance = runner(REGRESSION, optimizer, 3)
    data = arrays(np.eye(10, dtype=np.float32), np.arange(1.0, 11.0, dtype=np.float32)[:, None])
    zero = {"map_0": {"kernel": np.zeros((10, 1)), "bias": np.zeros(1)}}

    def visited(seed: int) -> list[set[int]]:
        state, found = start(linear, zero, optimizer), []
        for step in range(1, 13):
            after, _ = advance(linear, state, data, step, seed=seed)
            change = np.asarray(after.params["map_0"]["kernel"] - state.params["map_0"]["kernel"])
            found.append(set(np.flatnonzero(change)))
            state = after
        return found

    batches = visited(0)
    assert all(len(batch) == 3 for batch in batches)
    epochs = [batches[i : i + 3] for i in range(0, 12, 3)]
    for epoch in epochs:
        assert len(set.union(*epoch)) == 9, "no example twice"
    assert len({str(epoch) for epoch in epochs}) > 1, "every epoch has its own order"
    assert set.union(*batches) == set(range(10)), "the one left out is not always the same"
    assert visited(1) != batches


def test_a_step_of_gradient_descent_by_hand() -> None:
    x = RNG.standard_normal((6, 3)).astype(np.float32)
    y = RNG.standard_normal((6, 2)).astype(np.float32)
    linear, params = network((3, 2))
    optimizer = make_optimizer(SgdSpec(kind="sgd", learning_rate=0.5), REGRESSION, None, 1)
    state, progress = runner(REGRESSION, optimizer, 6)(
        linear, start(linear, params, optimizer), arrays(x, y), 1
    )
    w, b = params["map_0"]["kernel"], params["map_0"]["bias"]
    error = x @ w + b - y
    gradient = {"bias": error.mean(axis=0), "kernel": x.T @ error / 6}
    for symbol, g in gradient.items():
        np.testing.assert_allclose(
            state.params["map_0"][symbol], params["map_0"][symbol] - 0.5 * g, atol=1e-6
        )
    np.testing.assert_allclose(progress.loss, 0.5 * (error**2).sum(axis=1).mean(), rtol=1e-5)
    square = sum((g**2).sum() for g in gradient.values())
    np.testing.assert_allclose(progress.eta, square, rtol=1e-5)


@cache
def in_double(
    name: str, sizes: tuple[int, ...], room: tuple[int, ...], steps: int, dormant: bool = False
) -> tuple[Any, Progress]:
    """Parameters in use after some steps in float64, and the sums; what is dormant must stay."""
    objective = CLASSIFICATION
    optimizer = make_optimizer(SPECS[name], objective, 100, 2)
    architecture, params = network(sizes)
    architecture, x = roomy(architecture, room), EXACT_X
    begun = padded(params, architecture)
    if dormant:
        architecture = replace(architecture, spare="dormant")
        looks = Tracking(TrackSettings(0.1, 0.9, 1), every=4, samples=8)
        tracking = replace(optimizer.tracking or looks, slow=0.1)
        optimizer = replace(optimizer, tracking=tracking)
        begun = drawn(begun, architecture)
    factor = None
    if optimizer.fixed_input_factor:
        factor = jax.jit(lambda x: spectrum(second_moment(with_constant(x))))(x)
    state = start(architecture, begun, optimizer, np.float64)
    sums = Progress(np.int32(0), np.float64(0), np.float64(0), np.int32(0))
    state, progress = runner(objective, optimizer, 4)(
        architecture,
        state,
        arrays(x, LABELS, np.float64),
        steps,
        progress=sums,
        factor=factor,
    )
    assert int(progress.fault) == 0 and int(state.step) == steps
    assert {str(v.dtype) for v in jax.tree.leaves(state.params)} == {"float64"}
    if not dormant:
        return in_use(state.params, architecture), progress
    used = trained(architecture, used_units(architecture))
    after = jax.device_get(state.params)
    for part, leaves in used.items():
        for leaf, mask in leaves.items():
            still = ~np.broadcast_to(mask, after[part][leaf].shape)
            np.testing.assert_array_equal(after[part][leaf][still], begun[part][leaf][still])
            after[part][leaf] = np.where(mask, after[part][leaf], 0)
    return in_use(after, architecture), progress


def drawn(params: Tree, architecture: MlpArchitecture) -> Tree:
    """The parameters with loud input weights, coefficients and readers of what is not in use."""
    rng, used = np.random.default_rng(7), trained(architecture, used_units(architecture))
    return {
        part: {
            leaf: np.where(used[part][leaf], value, rng.standard_normal(value.shape))
            for leaf, value in leaves.items()
        }
        for part, leaves in params.items()
    }


# Whole multiples of 1/256, which float32 holds exactly.
EXACT_X = np.round(RNG.standard_normal((8, 3)) * 256) / 256
LABELS = np.array([0, 1, 1, 0, 1, 0, 0, 1], np.int32)


@pytest.fixture
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("dormant", [False, True], ids=["empty", "dormant"])
@pytest.mark.parametrize(
    "name, sizes, room",
    [("kfac", (3, 4, 3, 2), (7, 5)), ("cg", (3, 4, 2), (6,)), ("adam", (3, 4, 2), (6,))],
)
@pytest.mark.usefixtures("float64")
def test_spare_capacity_changes_no_step(
    name: str, sizes: tuple[int, ...], room: tuple[int, ...], dormant: bool
) -> None:
    tight, sums = in_double(name, sizes, sizes[1:-1], 5)
    roomier, again = in_double(name, sizes, room, 5, dormant)
    close(roomier, tight, 1e-10)
    np.testing.assert_allclose(again.loss, sums.loss, rtol=1e-10)
    np.testing.assert_allclose(again.eta, sums.eta, rtol=1e-10)
    before = network(sizes)[1]
    assert not np.allclose(flat(tight), flat(before), atol=1e-3), "something was learned"


@pytest.mark.usefixtures("float64")
def test_the_papers_step_is_the_dense_natural_gradient() -> None:
    architecture, params = network((3, 4, 2))
    optimizer = make_optimizer(SPECS["paper"], REGRESSION, 100, 1)
    y = RNG.standard_normal((8, 2))
    sums = Progress(np.int32(0), np.float64(0), np.float64(0), np.int32(0))
    state, progress = runner(REGRESSION, optimizer, 8)(
        architecture,
        start(architecture, params, optimizer, np.float64),
        arrays(EXACT_X, y, np.float64),
        1,
        progress=sums,
    )

    def loss(p: Tree) -> Any:
        return 0.5 * jnp.mean(jnp.sum((outputs(architecture, p, EXACT_X) - y) ** 2, axis=1))

    g = flat(jax.jit(jax.grad(loss))(params))
    dense = fisher(architecture, params, EXACT_X, "euclidean") + 0.1 * np.eye(len(g))
    direction = np.linalg.solve(dense, g)
    np.testing.assert_allclose(flat(state.params), flat(params) - 0.1 * direction, atol=1e-8)
    np.testing.assert_allclose(progress.eta, g @ direction, rtol=1e-8)


def one_step(
    objective: Objective, changes: dict[str, Any], y: Any, frozen: Tree | None = None
) -> tuple[Tree, Tree, float, np.ndarray]:
    """Parameters before a step on eight examples and after it, its eta, and the dense F."""
    architecture, params = network((3, 4, 2))
    plain = {"kl_clip": 1e-3, "schedule": "constant", "weight_decay": 0.0} | changes
    spec = NaturalGradientSpec.model_validate(plain)
    optimizer = make_optimizer(spec, objective, 100, 1, freezing=frozen is not None)
    state = start(architecture, params, optimizer, np.float64)
    if frozen is not None:
        state = state._replace(optimizer=(*state.optimizer[:-1], FrozenState(frozen)))
    after, progress = runner(objective, optimizer, 8)(
        architecture,
        state,
        arrays(EXACT_X, y, np.float64),
        1,
        progress=Progress(np.int32(0), np.float64(0), np.float64(0), np.int32(0)),
        factor=spectrum(second_moment(with_constant(EXACT_X))),
    )
    dense = fisher(architecture, params, EXACT_X, optimizer.metric)
    return params, after.params, float(progress.eta), dense


@pytest.mark.parametrize("solver", ["kfac", "cg"])
@pytest.mark.parametrize("objective", [CLASSIFICATION, REGRESSION])
@pytest.mark.usefixtures("float64")
def test_no_step_is_longer_than_the_batchs_own_fisher_matrix_allows(
    objective: Objective, solver: str
) -> None:
    y = LABELS if objective == CLASSIFICATION else RNG.standard_normal((8, 2))
    before, after, _, dense = one_step(objective, {"solver": solver}, y)
    step = flat(after) - flat(before)
    np.testing.assert_allclose(step @ dense @ step, 1e-3, rtol=1e-6)
    # What is shorter by itself is left as it is. Solved to rounding: at its default tolerance `cg`
    # may end an iteration earlier in a program that rounds otherwise.
    solved = {"solver": solver} if solver == "kfac" else {"solver": solver, "cg_tolerance": 1e-15}
    _, free, _, _ = one_step(objective, solved | {"kl_clip": None}, y)
    own = flat(free) - flat(before)
    _, loose, _, _ = one_step(objective, solved | {"kl_clip": 2 * float(own @ dense @ own)}, y)
    np.testing.assert_allclose(flat(loose), flat(free), rtol=1e-12)


@pytest.mark.parametrize("solver", ["kfac", "cg"])
@pytest.mark.usefixtures("float64")
def test_weight_decay_is_shortened_with_its_step(solver: str) -> None:
    # At the whole rate it outweighs steps at the bound, whose loss then rises without an end.
    exact = {"solver": solver} if solver == "kfac" else {"solver": solver, "cg_tolerance": 1e-15}
    before, bound, _, _ = one_step(CLASSIFICATION, exact, LABELS)
    _, free, _, _ = one_step(CLASSIFICATION, exact | {"kl_clip": None}, LABELS)
    _, with_decay, _, _ = one_step(CLASSIFICATION, exact | {"weight_decay": 0.5}, LABELS)
    share = (flat(bound) - flat(before))[0] / (flat(free) - flat(before))[0]
    assert 0 < share < 0.5
    for name, leaves in before.items():
        for leaf, weight in leaves.items():
            shrunk = 0.3 * share * 0.5 * weight if is_kernel(leaf) else np.zeros(weight.shape)
            np.testing.assert_allclose(
                bound[name][leaf] - with_decay[name][leaf], shrunk, atol=1e-9
            )


@pytest.mark.usefixtures("float64")
def test_frozen_parts_count_neither_in_eta_nor_in_a_steps_length() -> None:
    _, params = network((3, 4, 2))
    first = {"map_0", "activation_0"}
    frozen = {
        name: jax.tree.map(lambda v, held=name in first: np.full(v.shape, float(held)), leaves)
        for name, leaves in params.items()
    }
    y = RNG.standard_normal((8, 2))
    changes = {"solver": "cg", "cg_iterations": 400, "cg_tolerance": 1e-13, "damping": 0.1}
    before, after, eta, dense = one_step(REGRESSION, changes, y, frozen)
    step, free = flat(after) - flat(before), flat(frozen) == 0
    assert not step[~free].any() and step[free].all()
    np.testing.assert_allclose(step @ dense @ step, 1e-3, rtol=1e-6)

    def loss(p: Tree) -> Any:
        architecture, _ = network((3, 4, 2))
        return 0.5 * jnp.mean(jnp.sum((outputs(architecture, p, EXACT_X) - y) ** 2, axis=1))

    g = np.where(free, flat(jax.grad(loss)(params)), 0.0)
    direction = np.linalg.solve(dense + 0.1 * np.eye(len(g)), g)
    np.testing.assert_allclose(eta, g[free] @ direction[free], rtol=1e-8)


def sgd(rate: float) -> Optimizer:
    return make_optimizer(SgdSpec(kind="sgd", learning_rate=rate), REGRESSION, None, 3)


def finite(state: TrainState) -> bool:
    return all(np.isfinite(v).all() for v in jax.tree.leaves((state.params, state.optimizer)))


def test_nan_in_the_data_stops_before_its_step() -> None:
    state, advance = kfac_run()
    x = np.array(DATA.x)
    x[7] = np.nan
    bad = DATA._replace(x=x)
    found, progress = advance(SMALL, state, bad, 100)
    stop = int(found.step)
    assert FAULTS[int(progress.fault)] == "train_loss"
    assert stop < 6 and int(progress.steps) == stop and finite(found)
    assert np.isfinite(progress.loss) and np.isfinite(progress.eta)
    # What is kept is exactly what the steps before gave.
    before, sums = advance(SMALL, state, bad, stop)
    assert int(sums.fault) == 0
    same_bits((found.step, found.params, found.optimizer), before[:3])
    # The fault stands: nothing goes on from it.
    again, _ = advance(SMALL, found, DATA, 100, progress=progress)
    assert int(again.step) == stop


LINEAR, LINEAR_PARAMS = network((3, 1))
VALUES = arrays(DATA.x, RNG.standard_normal((10, 1)).astype(np.float32))


def test_a_huge_learning_rate_stops_at_the_limit() -> None:
    optimizer = sgd(1e4)
    state = start(LINEAR, LINEAR_PARAMS, optimizer)
    found, progress = runner(REGRESSION, optimizer, 3)(LINEAR, state, VALUES, 100, limit=1e3)
    assert FAULTS[int(progress.fault)] == "train_loss"
    assert int(found.step) == 1 and finite(found) and float(progress.loss) < 1e3


def test_an_update_beyond_all_numbers_is_not_made() -> None:
    optimizer = sgd(1e38)
    state = start(LINEAR, LINEAR_PARAMS, optimizer)
    found, progress = runner(REGRESSION, optimizer, 3)(LINEAR, state, VALUES, 100)
    assert FAULTS[int(progress.fault)] == "update"
    same_bits(found.params, state.params)
    assert int(found.step) == 0 == int(progress.steps)


def test_a_gradient_beyond_all_numbers_is_not_followed() -> None:
    optimizer = sgd(1e-30)
    zero = jax.tree.map(np.zeros_like, LINEAR_PARAMS)
    state = start(LINEAR, zero, optimizer)
    huge = VALUES._replace(x=np.full((10, 3), 1e30, np.float32), y=np.ones((10, 1), np.float32))
    found, progress = runner(REGRESSION, optimizer, 3)(LINEAR, state, huge, 100)
    assert FAULTS[int(progress.fault)] == "gradient"
    same_bits(found.params, state.params)


def sizes(jaxpr: Any) -> Iterator[int]:
    """Elements of every array that is computed anywhere within a jaxpr."""
    for equation in jaxpr.eqns:
        yield from (int(np.prod(v.aval.shape, dtype=np.int64)) for v in equation.outvars)
        for value in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda v: hasattr(v, "eqns")
        ):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from sizes(inner)


BATCH, WIDTH, INPUTS = 64, 48, 40
# A few times what any layer's signals and factors take; gradients per example take 23 times.
ALLOWED = 8 * (BATCH * WIDTH + (WIDTH + 1) ** 2)
WIDE, WIDE_PARAMS = network((INPUTS, WIDTH, WIDTH, 5))


@pytest.mark.parametrize("name", ["kfac", "cg", "adam"])
def test_no_gradients_per_example_are_ever_made(name: str) -> None:
    optimizer = make_optimizer(SPECS[name], CLASSIFICATION, 100, 2)
    run_steps = make_run_steps(CLASSIFICATION, optimizer, BATCH)
    data = arrays(np.zeros((128, INPUTS), np.float32), np.zeros(128, np.int32))
    jaxpr = jax.make_jaxpr(run_steps, static_argnums=0)(
        WIDE.shape(),
        start(WIDE, WIDE_PARAMS, optimizer),
        no_progress(),
        widths_of(WIDE),
        data,
        keys(0),
        None,
        np.int32(1),
        np.float32(1),
    )
    found = list(sizes(jaxpr.jaxpr))
    assert BATCH * WIDTH in found, "the signals of a layer are seen"
    assert max(found) <= ALLOWED


def test_gradients_per_example_would_be_noticed() -> None:
    def loss(params: Tree, x: Any) -> Any:
        return jnp.sum(outputs_of(WIDE.shape(), params, x[None], jnp.asarray(widths_of(WIDE))))

    each = jax.vmap(jax.grad(loss), in_axes=(None, 0))
    jaxpr = jax.make_jaxpr(jax.jit(each))(WIDE_PARAMS, np.zeros((BATCH, INPUTS), np.float32))
    assert max(sizes(jaxpr.jaxpr)) >= BATCH * WIDTH * WIDTH > ALLOWED
