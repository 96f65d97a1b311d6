from __future__ import annotations

import subprocess
import sys

import jax
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.randomness import key_data, numpy_generator, purpose_number, wrap
from tests.waiting import LIMIT

seeds = st.integers(0, 2**70)
steps = st.integers(0, 2**40)
purposes = st.sampled_from(["initial", "batches", "fisher", "search"])


def test_a_purpose_has_the_same_number_for_ever() -> None:
    # The check value of CRC-32 is 0xCBF43926; the top bit is dropped.
    assert purpose_number("123456789") == 0x4BF43926
    assert purpose_number("") == 0


@given(st.tuples(seeds, purposes, steps), st.tuples(seeds, purposes, steps))
def test_streams_differ_by_each_of_seed_purpose_and_step(
    one: tuple[int, str, int], two: tuple[int, str, int]
) -> None:
    same = one == two
    assert np.array_equal(key_data(*one), key_data(*two)) == same
    draws = [numpy_generator(*arguments).integers(2**63, size=2) for arguments in (one, two)]
    assert np.array_equal(*draws) == same


def test_neighbours_differ() -> None:
    keys = {
        key_data(seed, purpose, step).tobytes()
        for seed in range(5)
        for purpose in ("batches", "fisher")
        for step in range(5)
    }
    assert len(keys) == 50


def test_the_order_of_calls_does_not_matter() -> None:
    first = numpy_generator(0, "initial", 3).standard_normal(4)
    numpy_generator(0, "search", 3).standard_normal(100)
    np.testing.assert_array_equal(numpy_generator(0, "initial", 3).standard_normal(4), first)


def test_another_process_draws_the_same() -> None:
    # A salted hash (PYTHONHASHSEED) would differ.
    script = (
        "import sys; from senn_cli.randomness import key_data, numpy_generator as g;"
        "print(key_data(1, 'fisher', 2).tolist(), g(1, 'fisher', 2).integers(2**60));"
        "assert 'jax' not in sys.modules"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    here = numpy_generator(1, "fisher", 2).integers(2**60)
    assert found.stdout == f"{key_data(1, 'fisher', 2).tolist()} {here}\n"


@settings(max_examples=10)
@given(seeds, steps)
def test_keys_are_those_of_jax(seed: int, step: int) -> None:
    data = key_data(seed, "fisher", step)
    assert data.shape == (2,) and data.dtype == np.uint32
    key = wrap(data)
    assert str(jax.random.key_impl(key)) == "threefry2x32"
    np.testing.assert_array_equal(jax.random.key_data(key), data)


def test_wrap_works_inside_jit_and_key_data_compiles_nothing() -> None:
    draw = jax.jit(lambda data: jax.random.uniform(wrap(data), (3,)))
    inside = draw(key_data(5, "batches"))
    events: list[str] = []

    def listen(name: str, duration: float, **_: object) -> None:
        events.append(name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        data = key_data(6, "batches")
        again = draw(key_data(5, "batches"))
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert not [name for name in events if "compile" in name]
    np.testing.assert_array_equal(inside, again)
    assert not np.array_equal(inside, draw(data))
