"""Checkpoints: the same bits come back, in the background and by the rules; damage is named."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.errors import RunError
from senn_cli.runs import checkpoints, layout
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
from senn_cli.runs.newest import Newest, newest_good
from tests.waiting import LIMIT

Expected = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]


def content(step: int) -> dict[str, Any]:
    """Arrays that differ from step to step."""
    draw = np.random.default_rng(step).standard_normal
    return {
        "params/map_0/kernel": draw((30, 20)).astype(np.float32),
        "params/map_0/bias": draw(7),
        "step": np.asarray(step, np.int32),
    }


def shapes(arrays: dict[str, Any]) -> Expected:
    return {name: (array.shape, array.dtype) for name, array in arrays.items()}


EXPECTED = shapes(content(0))


def check(store: CheckpointStore, step: int) -> None:
    """The step restores to its `content`."""
    found = store.restore(step, EXPECTED)
    wanted = content(step)
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert found[name].tobytes() == array.tobytes()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CheckpointStore]:
    with CheckpointStore(tmp_path / "checkpoints", KeepRules()) as opened:
        yield opened


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Complete checkpoints of steps 10, 20 and 30."""
    path = tmp_path_factory.mktemp("written") / "checkpoints"
    with CheckpointStore(path, KeepRules()) as store:
        for step in (10, 20, 30):
            store.save(step, content(step), {"seed": step})
    return path


@pytest.fixture
def three(written: Path, tmp_path: Path) -> CheckpointStore:
    # A copy: a run directory may be moved.
    return CheckpointStore(Path(shutil.copytree(written, tmp_path / "copy")), KeepRules())


class Gate:
    """Holds the writing of arrays back until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        write = checkpoints.write_arrays

        def held(path: Path, arrays: Any) -> None:
            self.reached.set()
            assert self.open.wait(LIMIT)
            write(path, arrays)

        monkeypatch.setattr(checkpoints, "write_arrays", held)


# What is restored is what was saved.


def odd_arrays() -> dict[str, Any]:
    patterns = np.array([0x7FC01234, 0xFFC00001, 0x7F800001, 0x80000001, 1], np.uint32)
    return {
        "nan_payloads_and_subnormals": patterns.view(np.float32),
        "minus_zeros": np.full((3, 4), -0.0, np.float32),
        "minus_zero": np.array(-0.0),
        "zeros": np.zeros((4, 4), np.float32),
        "infinite": np.array([np.inf, -np.inf]),
        "a/scalar": np.int32(-7),
        "a/b/c-d_e": np.array([True, False, True]),
        "a/flag": np.bool_(True),
        "keys": np.array([2**32 - 1, 0], np.uint32),
        "empty": np.zeros((0, 3), np.float32),
        "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "strided": np.arange(20, dtype=np.int32)[::3],
        "on_device": jnp.arange(6, dtype=jnp.float32).reshape(2, 3),
        "0": jnp.float32(0.1),
    }


@pytest.mark.parametrize("name", ["moved[1]", "what?", "a*b"])
def test_a_path_with_signs_of_patterns_saves_and_restores(tmp_path: Path, name: str) -> None:
    # Orbax takes them for patterns; it is given another path.
    store = CheckpointStore(tmp_path / name / "checkpoints", KeepRules())
    store.save(1, {"a/b": np.arange(3.0)}, {}, wait=True)
    assert store.steps() == (1,)
    assert store.restore(1, {"a/b": ((3,), np.dtype("f8"))})["a/b"].tolist() == [0, 1, 2]


def test_orbax_itself_reads_a_checkpoint(store: CheckpointStore) -> None:
    import orbax.checkpoint as ocp

    store.save(3, {"params/map_0/kernel": np.arange(3.0), "step": np.array(3)}, {}, wait=True)
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
        tree = checkpointer.restore(store.directory / "3" / "arrays")
    assert np.asarray(tree["params"]["map_0"]["kernel"]).tolist() == [0, 1, 2]
    assert int(tree["step"]) == 3


def test_bit_for_bit(store: CheckpointStore) -> None:
    arrays = odd_arrays()
    store.save(0, arrays, {}, wait=True)
    found = store.restore(0, shapes(arrays))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        same = np.asarray(array)
        assert isinstance(found[name], np.ndarray)
        assert (found[name].shape, found[name].dtype) == (same.shape, same.dtype), name
        assert found[name].tobytes() == same.tobytes(), name


def test_other_byte_orders_become_the_machines(store: CheckpointStore) -> None:
    store.save(0, {"a": np.arange(3, dtype=">f4")}, {}, wait=True)
    found = store.restore(0, {"a": ((3,), np.dtype("float32"))})["a"]
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, [0, 1, 2])


def test_meta_comes_back(store: CheckpointStore) -> None:
    meta = {"seed": 3, "architecture": {"hidden": [{"width": 2}]}, "names": ["ä", None], "x": 0.1}
    store.save(4, content(4), {**meta, "limit": math.inf}, wait=True)
    assert store.meta(4) == {**meta, "limit": None}


def test_the_files(store: CheckpointStore) -> None:
    store.save(4, content(4), {"seed": 3}, wait=True)
    assert sorted(os.listdir(store.directory)) == ["4"]
    assert sorted(os.listdir(store.directory / "4")) == ["arrays", "complete", "meta.json"]
    document = json.loads((store.directory / "4" / "meta.json").read_bytes())
    table = document.pop("arrays")
    assert document.pop("senn")
    assert document == {"format": 1, "step": 4, "meta": {"seed": 3}}
    assert table["params/map_0/kernel"]["shape"] == [30, 20]
    assert table["params/map_0/kernel"]["dtype"] == "float32"
    assert table["step"]["shape"] == []


def test_orbax_reads_it_without_this_package(three: CheckpointStore) -> None:
    import orbax.checkpoint as ocp

    with warnings.catch_warnings(), ocp.PyTreeCheckpointer() as checkpointer:
        warnings.simplefilter("ignore")
        found = checkpointer.restore(three.directory / "20" / "arrays")
    wanted = content(20)
    np.testing.assert_array_equal(found["params"]["map_0"]["bias"], wanted["params/map_0/bias"])


def test_little_more_than_the_arrays_on_disk(store: CheckpointStore) -> None:
    draw = np.random.default_rng(0).standard_normal
    arrays: dict[str, Any] = {"step": np.int32(7), "keys": np.array([1, 2], np.uint32)}
    for index, (inputs, outputs) in enumerate([(784, 64), (64, 10)]):
        for group in ("params", "momentum"):
            arrays[f"{group}/map_{index}/kernel"] = draw((inputs, outputs)).astype(np.float32)
            arrays[f"{group}/map_{index}/bias"] = draw(outputs).astype(np.float32)
        for part in ("factor", "root"):
            above = draw((inputs + 1, inputs + 1)).astype(np.float32)
            arrays[f"curvature/map_{index}/input_{part}"] = above
            arrays[f"curvature/map_{index}/output_{part}"] = draw((outputs, outputs))
        arrays[f"curvature/map_{index}/age"] = np.int32(3)
    for group in ("params", "momentum"):
        arrays[f"{group}/activation_0/coefficients"] = draw((3, 64)).astype(np.float32)
    assert len(arrays) > 20
    store.save(7, arrays, {"architecture": {"hidden": [64]}}, wait=True)
    on_disk = sum(p.stat().st_size for p in (store.directory / "7").rglob("*") if p.is_file())
    assert on_disk < 1.2 * sum(array.nbytes for array in arrays.values())


def test_saved_on_eight_devices_restored_on_one(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
assert jax.device_count() == 8
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
x = np.arange(64, dtype=np.float32).reshape(8, 8)
put = lambda *spec: jax.device_put(x, NamedSharding(mesh, P(*spec)))
arrays = {"rows": put("a"), "tiles": put("a", "b"), "replicated": put(), "one": jnp.asarray(x)}
arrays["last"] = jax.device_put(x, jax.devices()[7])
with CheckpointStore(Path(sys.argv[1]), KeepRules()) as store:
    store.save(1, arrays, {})
"""
    assert in_process(script, tmp_path, devices=8) == ("", "")
    script = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
assert jax.device_count() == 1
x = np.arange(64, dtype=np.float32).reshape(8, 8)
expected = {name: (x.shape, x.dtype) for name in ("rows", "tiles", "replicated", "one", "last")}
found = CheckpointStore(Path(sys.argv[1]), KeepRules()).restore(1, expected)
print(all(np.array_equal(array, x) for array in jax.device_put(found).values()))
"""
    assert in_process(script, tmp_path, devices=1) == ("True\n", "")


def in_process(script: str, *arguments: Any, devices: int = 1) -> tuple[str, str]:
    """What a Python process that ends well has on stdout and stderr."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    flags = f"--xla_force_host_platform_device_count={devices}"
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


# In the background.


def test_a_save_returns_before_it_is_written(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    store.save(1, content(1), {})
    assert gate.reached.wait(LIMIT)
    assert store.steps() == ()  # neither written nor seen
    gate.open.set()
    store.wait()
    assert store.steps() == (1,)
    check(store, 1)


def test_buffers_may_be_reused_right_away(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    of_numpy, of_jax = np.ones(3), jnp.full((1000,), 2.0)
    meta = {"list": [1]}
    store.save(1, {"numpy": of_numpy, "jax": of_jax}, meta)
    of_numpy[:] = 7
    meta["list"].append(2)
    changed = jax.jit(lambda x: x + 5, donate_argnums=0)(of_jax)
    changed.block_until_ready()
    gate.open.set()
    expected: Expected = {"numpy": ((3,), np.dtype("f8")), "jax": ((1000,), np.dtype("f4"))}
    found = store.restore(1, expected)  # waits as well
    np.testing.assert_array_equal(found["numpy"], 1)
    np.testing.assert_array_equal(found["jax"], 2)
    assert store.meta(1) == {"list": [1]}


def test_one_save_at_a_time(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    store.save(1, content(1), {})
    assert gate.reached.wait(LIMIT)
    join = threading.Thread.join

    def joining(self: threading.Thread, timeout: float | None = None) -> None:
        gate.open.set()  # not before the second waits for the first
        join(self, timeout)

    monkeypatch.setattr(threading.Thread, "join", joining)
    store.save(2, content(2), {})
    assert 1 in store.steps()
    store.wait()
    assert store.steps() == (1, 2)


def test_nothing_on_the_terminal(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
import numpy as np
from senn_cli.cli.quiet import hush_late_ends
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
hush_late_ends()  # as the command line does: a save may be cut off by the end of the process
with CheckpointStore(Path(sys.argv[1]), KeepRules(keep=1)) as store:
    for step in range(4):
        store.save(step, {"a/b": np.ones(step + 1)}, {})
    store.restore(3, {"a/b": ((4,), np.dtype("float64"))})
left_open = CheckpointStore(Path(sys.argv[1]), KeepRules())
left_open.save(9, {"a/b": np.ones(100)}, {})
"""
    assert in_process(script, tmp_path) == ("", "")
    store = CheckpointStore(tmp_path, KeepRules())
    assert store.steps() in ((3,), (3, 9))  # the last one was left to itself


# Which are kept.


def test_the_rules_are_applied_after_every_save(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path, KeepRules(keep=2, keep_every_steps=40)) as store:
        for step in range(10, 80, 10):
            store.save(step, content(step), {})
    assert store.steps() == (40, 60, 70)
    with CheckpointStore(tmp_path, None) as again:
        again.save(80, content(80), {})
    assert again.steps() == (40, 60, 70, 80)
    again.remove(60)
    assert again.steps() == (40, 70, 80)
    check(again, 40)


def test_what_a_checkpoint_relies_on_comes_first(tmp_path: Path) -> None:
    seen = []
    with CheckpointStore(tmp_path, KeepRules()) as store:
        store.save(1, content(1), {}, first=lambda: seen.append(os.listdir(tmp_path)))
    assert seen == [[]]  # nothing was written before

    def fails() -> None:
        raise RunError("the other could not be saved")

    with pytest.raises(RunError, match=r"step 2 could not be saved .*: the other could"):
        store.save(2, content(2), {}, first=fails, wait=True)
    assert store.steps() == (1,)


def test_a_step_that_is_there_is_left_alone(three: CheckpointStore) -> None:
    three.save(20, content(99), {}, wait=True)
    check(three, 20)


def test_what_cannot_be_removed_ends_no_run(
    three: CheckpointStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(path: Path) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(layout, "remove", busy)
    three.save(40, content(40), {}, wait=True)
    assert three.steps() == (10, 20, 30, 40)
    assert "could not be removed: Device or resource busy" in caplog.text
    monkeypatch.undo()
    three.save(50, content(50), {}, wait=True)
    assert three.steps() == (30, 40, 50)


# What is given wrongly.


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "needs an array with elements"),
        ({"a": np.zeros((0, 2))}, "needs an array with elements"),
        ({"a.b": np.ones(1)}, r"separated by `/`, found 'a\.b'"),
        ({"a//b": np.ones(1)}, "found 'a//b'"),
        ({"../a": np.ones(1)}, r"found '\.\./a'"),
        ({"a": np.ones(1), "a/b/c": np.ones(1)}, "'a' is the beginning of 'a/b/c'"),
        ({"a": np.array(["text"])}, "a: arrays of type <U4 cannot be stored"),
        ({"a": np.array([{}], object)}, "a: arrays of type object cannot be stored"),
    ],
)
def test_what_cannot_be_stored(store: CheckpointStore, arrays: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        store.save(1, arrays, {})
    assert not store.directory.exists()


def test_meta_that_is_no_json(store: CheckpointStore) -> None:
    with pytest.raises(TypeError, match="JSON has no place for a set"):
        store.save(1, content(1), {"a": {1}})
    with pytest.raises(ValueError, match="at least 0, found -1"):
        store.save(-1, content(1), {})


# What is expected wrongly.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"params/map_0/kernel": ((30, 21), np.dtype("f4"))},
            "params/map_0/kernel: expected float32(30, 21), found float32(30, 20)",
        ),
        (
            {"params/map_0/bias": ((7,), np.dtype("f4"))},
            "params/map_0/bias: expected float32(7,), found float64(7,)",
        ),
        (
            {"params/map_1/bias": ((7,), np.dtype("f4"))},
            "params/map_1/bias: expected float32(7,), found none",
        ),
        ({"step": None}, "step: expected no such array, found int32()"),
        ({"step": ((1,), np.dtype("i4"))}, "step: expected int32(1,), found int32()"),
    ],
)
def test_other_arrays_than_expected(three: CheckpointStore, change: Any, message: str) -> None:
    expected = {name: one for name, one in {**EXPECTED, **change}.items() if one is not None}
    with pytest.raises(RunError) as caught:
        three.restore(20, expected)
    assert caught.value.message == (
        f"{three.directory / '20'} holds other arrays than expected: {message}"
    )


def test_factors_of_a_former_senn_are_told_apart_from_damage(tmp_path: Path) -> None:
    """One age for all rows of a factor, and `stale`: what kfac of an mlp once remembered."""
    arrays = {"curvature/stale": np.array(False), "curvature/ages/map_0": np.array(3)}
    with CheckpointStore(tmp_path / "old", None) as store:
        store.save(5, arrays, {}, wait=True)
        with pytest.raises(RunError, match="of a former senn, whose Kronecker factors") as caught:
            store.restore(5, {"curvature/factors/seen": ((), np.dtype("i4"))})
    assert "`senn transfer` starts a new run from it" in caught.value.message


def test_many_differences_are_cut_short(three: CheckpointStore) -> None:
    extra = {f"extra/{index}": ((1,), np.dtype("f4")) for index in range(7)}
    with pytest.raises(RunError, match=r"extra/4: expected float32\(1,\), found none; and 2 more$"):
        three.restore(20, {**EXPECTED, **extra})


# Damage.


def test_steps_of_nothing(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "none", KeepRules())
    assert store.steps() == ()
    store.clean()
    with pytest.raises(RunError, match="none/7 is no complete checkpoint; complete are: none"):
        store.meta(7)
    assert newest_good(store, store.meta) == Newest(None, None, ())


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file cannot be read: Not a directory"):
        CheckpointStore(tmp_path / "file", KeepRules()).steps()


@pytest.mark.parametrize("name", ["30.saving", "30.removing", "30.damaged", "030", "x", "-3", "٣"])
def test_other_names_are_no_steps(three: CheckpointStore, name: str) -> None:
    (three.directory / "30").rename(three.directory / name)
    assert three.steps() == (10, 20)


def test_without_its_marker_a_step_is_not_complete(three: CheckpointStore) -> None:
    (three.directory / "30" / "complete").unlink()
    assert three.steps() == (10, 20)
    with pytest.raises(RunError, match="30 is no complete checkpoint; complete are: 10, 20"):
        three.restore(30, EXPECTED)
    three.save(30, content(30), {}, wait=True)
    assert three.steps() == (10, 20, 30)
    check(three, 30)


def test_cleaning_removes_leftovers_alone(three: CheckpointStore) -> None:
    (three.directory / "30" / "complete").unlink()
    (three.directory / "20").rename(three.directory / "20.removing")
    (three.directory / "40.saving" / "arrays").mkdir(parents=True)
    (three.directory / "50.damaged").mkdir()
    (three.directory / "notes.txt").touch()
    three.clean()
    assert sorted(os.listdir(three.directory)) == ["10", "50.damaged", "notes.txt"]


def test_a_missing_meta(three: CheckpointStore) -> None:
    (three.directory / "30" / "meta.json").unlink()
    for use in (three.meta, lambda step: three.restore(step, EXPECTED)):
        with pytest.raises(RunError, match=r"30/meta\.json is missing: the checkpoint is damaged"):
            use(30)


@pytest.mark.parametrize(
    "text", ["", "{", "\0", "3", "[]", "{}", '{"format": 1, "step": 30}', "[" * 100_000]
)
def test_a_damaged_meta(three: CheckpointStore, text: str) -> None:
    (three.directory / "30" / "meta.json").write_text(text)
    with pytest.raises(RunError, match=r"30/meta\.json is damaged"):
        three.meta(30)


def edit(store: CheckpointStore, step: int, **changes: Any) -> None:
    path = store.directory / str(step) / "meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_another_format(three: CheckpointStore) -> None:
    edit(three, 30, format=2, senn="9.1")
    with pytest.raises(RunError, match=r"written by senn 9\.1 in format 2; senn .* reads format 1"):
        three.restore(30, EXPECTED)


def test_another_step(three: CheckpointStore) -> None:
    (three.directory / "30").rename(three.directory / "31")
    with pytest.raises(RunError, match=r"meta\.json is of step 30, not of 31"):
        three.meta(31)


DAMAGE = """
import json, sys
from pathlib import Path
import numpy as np
from senn_cli.errors import RunError
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
table = json.loads(sys.argv[1])
expected = {name: (tuple(shape), np.dtype(dtype)) for name, (shape, dtype) in table.items()}
for path in sys.argv[2:]:
    try:
        found = CheckpointStore(Path(path), KeepRules()).restore(30, expected)
        print("restored", " ".join(array.tobytes().hex() for array in found.values()))
    except RunError as error:
        print(error.message)
"""


def test_any_damaged_file_is_told_or_does_no_harm(written: Path, tmp_path: Path) -> None:
    damaged = []
    files = [path for path in sorted((written / "30").rglob("*")) if path.is_file()]
    assert len(files) > 5
    for file in files:
        data = bytearray(file.read_bytes())
        for how in ("missing", "empty", "truncated", "changed"):
            copy = tmp_path / f"{len(damaged)}-{how}"
            shutil.copytree(written / "30", copy / "30")
            target = copy / file.relative_to(written)
            target.unlink()
            if how == "empty":
                target.touch()
            elif how == "truncated":
                target.write_bytes(data[: len(data) // 2])
            elif how == "changed":
                middle = len(data) // 2
                target.write_bytes(data[:middle] + bytes(b ^ 16 for b in data[middle:]))
            damaged.append((copy, file))
    expected = json.dumps({n: (shape, dtype.str) for n, (shape, dtype) in EXPECTED.items()})
    output, log = in_process(DAMAGE, expected, *(copy for copy, _ in damaged))
    assert log == ""
    lines = output.splitlines()
    assert len(lines) == len(damaged)
    whole = " ".join(array.tobytes().hex() for array in content(30).values())
    for (copy, _), line in zip(damaged, lines, strict=True):
        if not line.startswith("restored"):
            assert line.startswith(str(copy / "30"))
        else:
            assert line == f"restored {whole}"
    told = {file.name for (_, file), line in zip(damaged, lines, strict=True) if "damaged" in line}
    assert {"meta.json", "manifest.ocdbt"} <= told


def test_arrays_of_another_step(three: CheckpointStore) -> None:
    shutil.rmtree(three.directory / "30" / "arrays")
    shutil.copytree(three.directory / "20" / "arrays", three.directory / "30" / "arrays")
    with pytest.raises(RunError, match="30/arrays is damaged: params/map_0/kernel has changed"):
        three.restore(30, EXPECTED)


def test_the_newest_good_one(three: CheckpointStore) -> None:
    (data,) = (three.directory / "30" / "arrays" / "d").iterdir()
    data.write_bytes(data.read_bytes()[:-20])
    (three.directory / "20" / "meta.json").unlink()
    found = newest_good(three, lambda step: (three.meta(step), three.restore(step, EXPECTED)))
    assert found.step == 10
    assert found.value is not None
    assert found.value[0] == {"seed": 10}
    assert [step for step, _ in found.failed] == [30, 20]
    assert "30/arrays is damaged" in found.failed[0][1]
    assert "20/meta.json is missing" in found.failed[1][1]
    # Those are set aside and can be saved anew when the run comes by.
    assert three.set_aside(30).name == "30.damaged"
    assert three.set_aside(20).name == "20.damaged"
    three.save(30, content(30), {}, wait=True)
    assert three.steps() == (10, 30)
    check(three, 30)
    assert three.set_aside(30).name == "30.damaged-2"
    with pytest.raises(RunError, match="cannot be renamed: No such file"):
        three.set_aside(30)


def test_nothing_is_unpickled(three: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was loaded")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refused)
    check(three, 30)
