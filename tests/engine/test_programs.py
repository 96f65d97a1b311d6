from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.arrays import Arrays
from senn_cli.engine.evaluate import make_evaluate
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import PHASES, Aborted, Kept, Ledger, Program
from senn_cli.growth.edits import AddUnits, Enlarge
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture, draw_neurons, initial_parameters
from senn_cli.randomness import key_data
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training.ahead import in_thread
from senn_cli.training.network import Network, apply_edits, new_network
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.step import Keys, make_run_steps, no_progress
from tests.counting import compilations


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_nested_phases_do_not_count_twice() -> None:
    clock = Clock()
    entered: list[str] = []
    ledger = Ledger(clock, lambda name, what: entered.append(name))
    clock.now += 1  # between phases: nobody's
    with ledger.phase("train"):
        clock.now += 2
        with ledger.phase("compile"):
            clock.now += 4
            with ledger.phase("save"):
                clock.now += 8
        clock.now += 16
        with ledger.phase("train"):
            clock.now += 32
    clock.now += 64
    assert ledger.seconds == dict.fromkeys(PHASES, 0.0) | {
        "train": 50.0,
        "compile": 4.0,
        "save": 8.0,
    }
    assert ledger.total() == 127.0
    # What is announced is always the phase that is going on.
    assert entered == ["train", "compile", "save", "compile", "train", "train", "train"]


def test_a_phase_that_fails_is_left() -> None:
    clock = Clock()
    ledger = Ledger(clock)
    with pytest.raises(RuntimeError), ledger.phase("train"), ledger.phase("score"):
        clock.now += 3
        raise RuntimeError
    clock.now += 5
    with ledger.phase("evaluate"):
        clock.now += 7
    assert (ledger.seconds["score"], ledger.seconds["train"]) == (3.0, 0.0)
    assert ledger.seconds["evaluate"] == 7.0


def test_a_program_compiles_once_for_every_kind_of_argument() -> None:
    clock = Clock()
    ledger = Ledger(clock)

    def scaled(name: str, x: jax.Array, tree: Any) -> jax.Array:
        clock.now += 10  # traced, not run: it is part of the compilation
        return x * tree["factor"] + len(name)

    program = Program("scaled", scaled, ledger, static=(0,))
    x = np.arange(3, dtype=np.float32)
    two = {"factor": np.float32(2)}
    with ledger.phase("train"):
        np.testing.assert_array_equal(program("a", x, two), [1, 3, 5])
        np.testing.assert_array_equal(program("a", x + 1, {"factor": np.float32(3)}), [4, 7, 10])
        assert ledger.compilations == 1
        np.testing.assert_array_equal(program("bc", x, two), [2, 4, 6])
        np.testing.assert_array_equal(program("a", x[:2], two), [1, 3])
        np.testing.assert_array_equal(program("a", np.arange(3), two), [1, 3, 5])
        np.testing.assert_array_equal(program("a", jnp.asarray(x), two), [1, 3, 5])
    assert ledger.compiled == {"scaled": 4} and ledger.compilations == 4
    assert (ledger.seconds["compile"], ledger.seconds["train"]) == (40.0, 0.0)


def test_a_program_may_take_its_arguments_buffers() -> None:
    program = Program("next", lambda s, x: x + s, Ledger(), static=(0,), donate=(1,))
    x = jax.device_put(np.zeros(4, np.float32))
    y = program(1, x)
    np.testing.assert_array_equal(y, 1.0)
    assert x.is_deleted() and not y.is_deleted()


def test_growth_within_capacity_compiles_nothing() -> None:
    rng = np.random.default_rng(0)
    architecture = MlpArchitecture(3, 2, (Layer(3, 8, "rational"),))
    optimizer = make_optimizer(NaturalGradientSpec(), CLASSIFICATION, 100, 4)
    data = jax.device_put(
        Arrays(
            x=rng.standard_normal((12, 3)).astype(np.float32),
            y=rng.integers(0, 2, 12).astype(np.int32),
            shift=np.zeros(1, np.float32),
            scale=np.ones(1, np.float32),
            target_shift=np.zeros(1, np.float32),
            target_scale=np.ones(1, np.float32),
        )
    )
    ledger = Ledger()
    steps = make_run_steps(CLASSIFICATION, optimizer, 3)
    train = Program("train", steps, ledger, static=(0,), donate=(1, 2))
    evaluate = Program("evaluate", make_evaluate(CLASSIFICATION), ledger, static=(0,))
    keys = jax.device_put(Keys(*(key_data(0, use) for use in ("batches", "fisher", "augment"))))

    def turn(network: Network) -> Network:
        """Some steps and an evaluation, as the training loop does them."""
        shape = network.architecture.shape()
        until = np.int32(int(network.state.step) + 2)
        state, progress = train(
            shape,
            network.state,
            jax.device_put(no_progress()),
            network.widths,
            data,
            keys,
            None,
            until,
            np.float32(np.inf),
        )
        loss, _ = evaluate(shape, state.params, network.widths, data)
        assert np.isfinite(float(loss)) and int(state.step) == until
        assert int(progress.fault) == 0
        return Network(network.architecture, state, network.widths)

    def grown(network: Network, count: int) -> Network:
        kernel, bias, coefficients = draw_neurons(rng, 3, count, "rational")
        edit = AddUnits(0, np.concatenate([bias[None], kernel]), coefficients)
        return apply_edits(network, [edit], optimizer)

    network = turn(new_network(architecture, initial_parameters(architecture, 0), optimizer))
    assert ledger.compiled == {"train": 1, "evaluate": 1}
    with compilations() as found:
        network = turn(turn(network))
        for count in (1, 4):
            network = turn(grown(network, count))
    assert network.architecture.widths == (8,)
    assert found == [] and ledger.compilations == 2

    with compilations() as found:
        larger = Enlarge(0, 12)
        network = apply_edits(network, [larger], optimizer)
        turn(network)
    assert len(found) == 2, "one for the new shape of each program"
    assert ledger.compiled == {"train": 2, "evaluate": 2}


def test_what_is_expected_is_compiled_from_shapes_alone() -> None:
    """Training goes on meanwhile, and donates the arrays that were named."""
    ledger = Ledger()
    program = Program("f", lambda n, x: n * x, ledger, static=(0,), donate=(1,))
    x = jnp.arange(3.0)
    work = program.expect(2, x)
    x.delete()
    work()
    assert ledger.compilations == 0
    with compilations() as found:
        np.testing.assert_array_equal(program(2, np.arange(3, dtype=np.float32)), [0.0, 2.0, 4.0])
        program.expect(2, np.arange(3, dtype=np.float32))()  # nothing to do
    assert found == [] and ledger.compiled == {"f": 1}


def test_who_comes_first_compiles_and_the_other_waits() -> None:
    """A call does not wait for a thread that has not come to it."""
    ledger, begun, go_on = Ledger(), threading.Event(), threading.Event()
    traced: list[str] = []

    def slow(x: jax.Array) -> jax.Array:
        traced.append(threading.current_thread().name)
        begun.set()
        assert go_on.wait(60)
        return x + 1.25

    slow_one, idle_one = Program("slow", slow, ledger), Program("idle", lambda x: x - 1.25, ledger)
    x = np.zeros(2, np.float32)
    later = idle_one.expect(x)
    thread = in_thread([slow_one.expect(x), later])
    assert begun.wait(60)
    with compilations() as found:
        np.testing.assert_array_equal(idle_one(x), [-1.25, -1.25])
    assert len(found) == 1, "the thread is still at the other program"
    go_on.set()
    np.testing.assert_array_equal(slow_one(x), [1.25, 1.25])
    with compilations() as found:
        thread.join()
    assert set(traced) == {"compile ahead"} and found == []
    assert ledger.compiled == {"idle": 1, "slow": 1}


def test_a_call_compiles_by_itself_where_the_other_thread_failed() -> None:
    ledger, failed = Ledger(), []

    def once(x: jax.Array) -> jax.Array:
        if not failed:
            failed.append(True)
            raise RuntimeError("out of memory")
        return x + 1

    program = Program("f", once, ledger)
    with pytest.raises(Aborted):
        program.expect(jnp.zeros(2))()
    np.testing.assert_array_equal(program(jnp.zeros(2)), [1.0, 1.0])
    assert ledger.compiled == {"f": 1}


def test_nothing_is_compiled_ahead_of_a_run_that_has_ended() -> None:
    program = Program("f", lambda x: x * 7, Ledger())
    program.ledger.closed = True
    with compilations() as found, pytest.raises(Aborted):
        program.results(np.zeros(3, np.float32))
    assert found == []


def test_results_are_told_before_there_are_any() -> None:
    def halves(n: int, x: jax.Array) -> dict[str, Any]:
        return {"first": x[:n], "rest": (x[n:].astype(jnp.int32),)}

    program = Program("halves", halves, Ledger(), static=(0,))
    x = np.arange(5, dtype=np.float32)
    told, found = program.results(2, jax.ShapeDtypeStruct(x.shape, x.dtype)), program(2, x)
    assert jax.tree.structure(told) == jax.tree.structure(found)
    for a, b in zip(jax.tree.leaves(told), jax.tree.leaves(found), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)


def test_a_second_run_of_the_process_compiles_nothing() -> None:
    def times(factor: float) -> Program:
        return Program("times", lambda x: factor * x + 31.25, ledgers[-1])

    x, ledgers = np.arange(3, dtype=np.float32), [Ledger()]
    with compilations() as found:
        np.testing.assert_array_equal(times(2.5)(x), 2.5 * x + 31.25)
    assert len(found) == 1
    ledgers.append(Ledger())
    with compilations() as found:
        np.testing.assert_array_equal(times(2.5)(x), 2.5 * x + 31.25)
        assert found == []
        np.testing.assert_array_equal(times(3.5)(x), 3.5 * x + 31.25)  # another function
        np.testing.assert_array_equal(times(2.5)(x[:2]), 2.5 * x[:2] + 31.25)  # other shapes
    assert len(found) == 2
    # A run counts what it needs; what was there is spared, as what is found on the disk.
    assert ledgers[0].compiled == {"times": 1} and ledgers[1].compiled == {"times": 3}
    assert ledgers[1].cache_hits >= 1


def test_other_settings_of_jax_are_other_programs() -> None:
    def wide(x: jax.Array) -> jax.Array:
        return jnp.sum(x + 31.5)

    x, found = np.zeros(2, np.float32), []
    for doubled in (False, True, False, True):
        with jax.enable_x64(doubled), compilations() as now:
            Program("wide", wide, Ledger())(x)
        found.append(len(now))
    assert found == [1, 1, 0, 0]


def test_what_was_not_used_for_longest_is_let_go() -> None:
    kept = Kept(most=2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
    kept.clear()
    assert len(kept) == 0 and kept.get("a") is None
