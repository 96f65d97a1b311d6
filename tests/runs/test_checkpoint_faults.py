"""Saves that fail or are killed: told with the step, and earlier checkpoints are untouched."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.cli.quiet import hush_late_ends
from senn_cli.errors import RunError
from senn_cli.runs import checkpoints, layout
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
from senn_cli.runs.newest import newest_good

SMALL = {"a/b": np.arange(5.0)}
LARGE = {f"a/{name}": np.random.default_rng(0).standard_normal((700, 700)) for name in "xyz"}
EXPECTED = {"a/b": ((5,), np.dtype("f8"))}


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    """A store with a checkpoint of step 1."""
    opened = CheckpointStore(tmp_path / "checkpoints", KeepRules())
    opened.save(1, SMALL, {}, wait=True)
    return opened


def failing(number: int, times: list[int]) -> Any:
    """A function that raises the system's error when it is called for the last of `times`."""

    def call(*_: Any, **__: Any) -> None:
        times.pop()
        if not times:
            raise OSError(number, os.strerror(number))

    return call


def test_a_failure_in_the_background_is_told_once(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "write_arrays", failing(errno.EROFS, [0]))
    store.save(2, SMALL, {})  # tells nothing yet
    message = r"^the checkpoint of step 2 could not be saved in .*: Read-only file system\n"
    with pytest.raises(RunError, match=message) as caught:
        store.save(3, SMALL, {})
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.exit_code == 1
    monkeypatch.undo()
    store.wait()
    store.close()
    store.save(3, SMALL, {}, wait=True)
    assert store.steps() == (1, 3)


def test_every_way_to_hear_of_it(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "commit", failing(errno.ENOSPC, [0]))
    with pytest.raises(RunError, match=r"step 2 could not .*: No space left on device"):
        store.save(2, SMALL, {}, wait=True)
    for step, hear in ((3, store.wait), (4, store.close)):
        monkeypatch.setattr(layout, "commit", failing(errno.ENOSPC, [0]))
        store.save(step, SMALL, {})
        with pytest.raises(RunError, match=f"step {step} could not"):
            hear()
    monkeypatch.setattr(layout, "commit", failing(errno.ENOSPC, [0]))
    with pytest.raises(RunError, match="step 5 could not"), store:
        store.save(5, SMALL, {})
    assert store.steps() == (1,)


def test_a_block_that_fails_keeps_its_own_error(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "write_arrays", failing(errno.ENOSPC, [0]))
    with pytest.raises(KeyError) as caught, store:
        store.save(2, SMALL, {})
        raise KeyError("its own")
    assert "step 2 could not be saved" in caught.value.__notes__[0]


@pytest.mark.parametrize("calls", [1, 3, 6, 9])
def test_a_disk_that_fails_when_it_is_flushed(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.EIO, [0] * calls))
    with pytest.raises(RunError, match=r"step 2 could not be saved in .*: Input/output error"):
        store.save(2, SMALL, {}, wait=True)
    monkeypatch.undo()
    assert store.steps() == (1,)
    assert os.listdir(store.directory) == ["1"]


def test_a_removal_that_is_cut_short(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (2, 3):
        store.save(step, SMALL, {}, wait=True)
    monkeypatch.setattr(shutil, "rmtree", failing(errno.EBUSY, [0]))
    store.save(4, SMALL, {}, wait=True)
    assert store.steps() == (2, 3, 4)  # no part of the first one counts
    monkeypatch.undo()
    assert sorted(os.listdir(store.directory)) == ["1.removing", "2", "3", "4"]
    store.clean()
    assert sorted(os.listdir(store.directory)) == ["2", "3", "4"]


def test_orbax_that_fails(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import orbax.checkpoint as ocp

    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("INTERNAL: something [tensorstore_spec='{}']\nmore")

    monkeypatch.setattr(ocp.Checkpointer, "save", broken)
    with pytest.raises(RunError, match=r"step 2 could not be saved in .*: INTERNAL: something\n"):
        store.save(2, SMALL, {}, wait=True)
    monkeypatch.undo()
    assert store.steps() == (1,)


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = CheckpointStore(tmp_path / "file" / "checkpoints", KeepRules())
    with pytest.raises(RunError, match=r"step 1 could not be saved in .*: Not a directory"):
        store.save(1, SMALL, {}, wait=True)


def test_a_file_in_the_place_of_a_step(store: CheckpointStore) -> None:
    (store.directory / "2.saving").touch()
    with pytest.raises(RunError, match=r"step 2 could not be saved in .*: Not a directory"):
        store.save(2, SMALL, {}, wait=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB of its own, where the tests may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None or mount("-t", "tmpfs", "-o", "size=3m", "none", place):
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def mount(*arguments: Any) -> int:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode


def test_a_full_disk(disk: Path) -> None:
    store = CheckpointStore(disk / "checkpoints", KeepRules())
    store.save(1, SMALL, {}, wait=True)
    store.save(2, LARGE, {})
    with pytest.raises(RunError, match=r"step 2 could not be saved in .*: No space left on device"):
        store.close()
    assert store.steps() == (1,)
    store.restore(1, EXPECTED)
    # What it had written does not keep the disk full.
    store.save(3, SMALL, {}, wait=True)
    assert store.steps() == (1, 3)


def test_a_disk_that_can_only_be_read(disk: Path) -> None:
    store = CheckpointStore(disk / "checkpoints", KeepRules())
    store.save(1, SMALL, {}, wait=True)
    assert mount("-o", "remount,ro", disk) == 0
    store.save(2, SMALL, {})
    with pytest.raises(RunError, match=r"step 2 could not be saved in .*: Read-only file system"):
        store.wait()
    assert store.steps() == (1,)
    store.restore(1, EXPECTED)


@pytest.fixture(autouse=True)
def quiet() -> None:
    """As in the command: late reports of writes beside one that has failed are hidden."""
    hush_late_ends()


LIMITED = """
import logging, resource, sys
from pathlib import Path
import numpy as np
from senn_cli.cli.quiet import hush_late_ends
from senn_cli.errors import RunError
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
hook = sys.unraisablehook
if len(sys.argv) > 2:
    hush_late_ends()
large = {name: np.random.default_rng(0).standard_normal((700, 700)) for name in "xyz"}
with CheckpointStore(Path(sys.argv[1]), KeepRules()) as store:
    store.save(1, {"a": np.ones(3)}, {})
    store.wait()
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
    store.save(2, large, {})
    try:
        store.save(3, large, {})
    except RunError as error:
        print(error.message)
    store.save(4, {"a": np.ones(3)}, {})
    store.wait()
    print(*store.steps())
assert len(sys.argv) > 2 or sys.unraisablehook is hook
assert len(sys.argv) > 2 or not any(logging.getLogger(n).filters for n in ("absl", "asyncio"))
"""


def test_a_program_keeps_its_hook_and_its_loggers(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "1 4"


def test_a_limit_on_files_and_a_quiet_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path), "as the command"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    told = f"the checkpoint of step 2 could not be saved in {tmp_path}: File too large"
    assert result.stdout.splitlines() == [told, "1 4"]


# One process imports everything once, and forks those that save until they are killed. Each goes
# on where the last one was killed. After every kill a fresh process looks at what is left.
KILLS = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
import orbax.checkpoint
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.newest import newest_good
from senn_cli.runs.keep import KeepRules

root, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)

def content(step):
    draw = np.random.default_rng(step).standard_normal
    return {"a/b": draw((40, 40)), "a/c": draw(300).astype(np.float32), "step": np.int64(step)}

expected = {name: (array.shape, array.dtype) for name, array in content(0).items()}

def save(ready):
    store = CheckpointStore(root, KeepRules(keep=2, keep_every_steps=50))
    store.clean()
    step = max(store.steps(), default=0)
    while True:
        step += 1
        store.save(step, content(step), {"step": step})
        if ready is not None:
            store.wait()
            os.close(ready)
            ready = None

def check(before):
    store = CheckpointStore(root, KeepRules())
    steps = store.steps()
    for step in steps:
        found = store.restore(step, expected)
        assert store.meta(step) == {"step": step}
        assert all(found[n].tobytes() == np.asarray(a).tobytes() for n, a in content(step).items())
    assert newest_good(store, lambda step: store.restore(step, expected)).step == max(steps)
    assert max(steps) > before
    store.clean()
    assert sorted(map(int, os.listdir(root))) == sorted(steps)
    return max(steps)

def forked(function, *arguments):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = function(*arguments) or 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return child

newest = 0
for _ in range(kills):
    seen, ready = os.pipe()
    child = forked(save, ready)
    os.close(ready)
    os.read(seen, 1)  # ends when the first save is complete
    os.close(seen)
    time.sleep(chance.uniform(0, 0.15))  # any moment will do; nothing waits for one
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    left = sorted(os.listdir(root))
    reader, writer = os.pipe()
    child = forked(lambda: os.write(writer, str(check(newest)).encode()) * 0)
    os.close(writer)
    answer = os.read(reader, 100)
    os.close(reader)
    os.waitpid(child, 0)
    assert answer, f"after a kill: {left}"
    newest = int(answer)
    print(newest, *left, flush=True)
"""


def killed(root: Path, kills: int) -> list[list[str]]:
    """What lay in the directory after each kill, first the newest step."""
    seed = int.from_bytes(os.urandom(2), "big")
    command = [sys.executable, "-W", "ignore", "-c", KILLS, str(root), str(kills), str(seed)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"seed {seed}\n{result.stdout}\n{result.stderr}"
    return [line.split() for line in result.stdout.splitlines()]


def test_killed_while_saving(tmp_path: Path) -> None:
    assert len(killed(tmp_path, 5)) == 5
    store = CheckpointStore(tmp_path, KeepRules())
    assert newest_good(store, store.meta).failed == ()


@pytest.mark.slow
def test_killed_while_saving_at_many_moments(tmp_path: Path) -> None:
    rows = killed(tmp_path, 60)
    leftovers = [row for row in rows if any("." in name for name in row)]
    assert len(leftovers) > 10  # a good part hit a save
