"""Arrays and programs over several devices: `conftest.py` has four on this CPU."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from senn_cli.engine.mesh import ONE, Placement, by_rows, lying, placement, placement_of
from senn_cli.engine.programs import Ledger, Program
from senn_cli.errors import DeviceError
from senn_cli.spec.device import DeviceSpec
from tests.counting import compilations
from tests.waiting import LIMIT

WHOLE, ROWS = PartitionSpec(), PartitionSpec("data")


def over(count: int, gigabytes: float | None = None) -> Placement:
    return placement(DeviceSpec(count=count, data_memory=gigabytes))


def spec_of(array: jax.Array) -> PartitionSpec:
    assert isinstance(array.sharding, jax.sharding.NamedSharding)
    return array.sharding.spec


def test_one_device_needs_no_mesh() -> None:
    place = over(1)
    assert (place.mesh, place.count) == (None, 1)
    put = place.replicated(np.arange(3))
    assert isinstance(put.sharding, jax.sharding.SingleDeviceSharding)
    assert placement_of(put) is ONE and lying([put]) is None


def test_all_devices_are_those_that_there_are() -> None:
    assert placement(DeviceSpec(count="all")).count == jax.device_count()


def test_more_devices_than_there_are() -> None:
    there = jax.device_count()
    with pytest.raises(DeviceError, match=f"device.count is {there + 1}, but JAX finds {there}"):
        over(there + 1)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_rows_lie_in_their_order_and_zeros_follow(count: int) -> None:
    place, array = over(count), np.arange(30, dtype=np.float32).reshape(10, 3)
    put = place.rows(array)
    assert put.shape == (place.padded(10), 3)
    assert place.padded(10) == {1: 10, 2: 10, 3: 12, 4: 12}[count]
    np.testing.assert_array_equal(put[:10], array)
    assert not np.any(put[10:])
    pieces = sorted(put.addressable_shards, key=lambda shard: shard.device.id)
    assert len(pieces) == count
    each = place.padded(10) // count
    for number, piece in enumerate(pieces):
        expected = array[number * each : (number + 1) * each]
        np.testing.assert_array_equal(np.asarray(piece.data)[: len(expected)], expected)


def test_rows_of_a_file_are_read_a_share_at_a_time(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(8))
    read: list[int] = []

    class Watched:
        """Rows that say how many of them were asked for."""

        shape = (8,)
        there = np.load(tmp_path / "a.npy", mmap_mode="r")

        def __len__(self) -> int:
            return 8

        def __getitem__(self, rows: slice) -> np.ndarray:
            read.append(len(self.there[rows]))
            return self.there[rows]

    np.testing.assert_array_equal(over(4).rows(Watched()), np.arange(8))
    assert read == [2, 2, 2, 2]


SHARES = """
import json, sys
import jax, numpy as np
from senn_cli.engine.hosts import join
from senn_cli.engine.mesh import placement
from senn_cli.spec.device import DeviceSpec

class Watched:
    shape, read = (10,), []
    def __len__(self):
        return 10
    def __getitem__(self, rows):
        self.read.append([rows.start, rows.stop])
        return np.arange(10)[rows]

with join(2, int(sys.argv[1]), sys.argv[2]).until_end():
    array = placement(DeviceSpec(count=2)).rows(Watched())
    held = sorted(int(row) for piece in array.addressable_shards for row in piece.data)
    total = int(jax.jit(lambda array: array.sum())(array))
print(json.dumps([Watched.read, held, total]))
"""


@pytest.mark.slow
def test_a_process_reads_and_holds_the_rows_of_its_own_devices() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", SHARES, str(index), address], stdout=subprocess.PIPE
        )
        for index in (0, 1)
    ]
    told = [json.loads(process.communicate(timeout=LIMIT)[0].splitlines()[-1]) for process in both]
    # Ten rows over two devices of each of two processes: three on each, two zeros behind the last.
    assert told == [
        [[[0, 3], [3, 6]], [0, 1, 2, 3, 4, 5], 45],
        [[[6, 9], [9, 12]], [0, 0, 6, 7, 8, 9], 45],
    ]


def moments(x: jax.Array, rows: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    batch = by_rows(x[rows])
    y = jnp.tanh(batch @ w)
    return y, batch.T @ y / len(rows)


@pytest.mark.parametrize("rows", [8, 7, 1])
def test_a_program_divides_a_batch_over_the_devices(rows: int) -> None:
    """Also one that is no multiple of them, and a moment is that of NumPy."""
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(9, 5)), rng.normal(size=(5, 3))
    taken = rng.integers(0, 9, rows)
    expected = np.tanh(x[taken] @ w)
    program = Program("moments", moments, Ledger(), rows=(0,))
    for place in (over(1), over(2), over(4)):
        for there in (place.replicated, place.rows):
            given = there(x.astype(np.float32)), *place.replicated((taken, w.astype(np.float32)))
            y, moment = program(*given)
            np.testing.assert_allclose(y, expected, rtol=1e-5)
            np.testing.assert_allclose(moment, x[taken].T @ expected / rows, rtol=1e-4, atol=1e-6)
            if place.mesh is not None:
                assert spec_of(y) == (ROWS if rows % place.count == 0 else WHOLE)
                assert spec_of(moment) == WHOLE
                assert len(y.addressable_shards) == place.count
    # One device, then two and four with the data whole and by rows.
    assert program.ledger.compiled == {"moments": 5}


def test_a_program_computes_a_share_on_every_device() -> None:
    """Of 64 rows a device of four multiplies 16, as its program says, and holds that much."""
    x, w = np.ones((64, 32), np.float32), np.ones((32, 16), np.float32)
    rows = np.arange(64)
    flops = []
    for count in (1, 4):
        place, program = over(count), Program("moments", moments, Ledger(), rows=(0,))
        program(*place.replicated((x, rows, w)))
        (executable,) = program._executables.values()
        analysis = executable.cost_analysis()
        flops.append(analysis["flops"])
    assert 3.5 < flops[0] / flops[1] < 4.5


def test_what_was_compiled_for_one_device_is_not_taken_for_two() -> None:
    """Though both are the same function of the same shapes, and the process keeps programs."""
    programs = [Program("moments", moments, Ledger()) for _ in range(2)]
    x, rows, w = np.ones((4, 2), np.float32), np.arange(4), np.ones((2, 2), np.float32)
    for program, place in zip(programs, (over(1), over(2)), strict=True):
        found, _ = program(*place.replicated((x, rows, w)))
        assert len(found.addressable_shards) == place.count


def test_no_device_ever_has_all_of_the_data_that_are_divided() -> None:
    """A batch is put together of what each device has of it."""
    place, program = over(4), Program("moments", moments, Ledger())
    x = np.zeros((4096, 32), np.float32)
    w = np.zeros((32, 16), np.float32)
    program(place.rows(x), *place.replicated((np.arange(8, dtype=np.int32), w)))
    (executable,) = program._executables.values()
    analysis = executable.memory_analysis()
    assert x.nbytes / 4 < analysis.argument_size_in_bytes < x.nbytes / 3
    assert analysis.temp_size_in_bytes < x.nbytes / 16


@pytest.mark.parametrize("count", [1, 2])
def test_donated_arrays_take_no_second_place(count: int) -> None:
    place = over(count)
    program = Program("twice", lambda state: 2 * state, Ledger(), donate=(0,))
    state = place.replicated(np.ones(100, np.float32))
    np.testing.assert_array_equal(program(state), np.full(100, 2.0))
    assert state.is_deleted()
    (executable,) = program._executables.values()
    assert executable.memory_analysis().alias_size_in_bytes == 400


def test_what_is_compiled_ahead_for_several_devices_is_what_is_called() -> None:
    place, ledger = over(2), Ledger()
    program = Program("moments", moments, ledger)
    arrays = np.ones((6, 2), np.float32), np.arange(6, dtype=np.int32), np.ones((2, 2), np.float32)
    program.expect(*place.shapes(arrays))()
    with compilations() as found:
        program(*place.replicated(arrays))
    assert found == [] and ledger.compiled == {"moments": 1}
