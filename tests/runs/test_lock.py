from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.runs import holder, lock
from senn_cli.runs.holder import Holder
from senn_cli.runs.lock import RunLock
from tests.waiting import LIMIT

HOLD = """
import sys
from pathlib import Path
from senn_cli.runs.lock import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""

RACE = """
import sys
from pathlib import Path
from senn_cli.errors import UsageError
from senn_cli.runs.lock import RunLock
print("ready", flush=True)
sys.stdin.readline()
try:
    with RunLock(Path(sys.argv[1])):
        print("won", flush=True)
        sys.stdin.readline()
except UsageError as error:
    print(error.message, flush=True)
"""


def start(program: str, run: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@contextlib.contextmanager
def held(run: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    with start(HOLD, run) as process:
        assert line_of(process) == "held"
        try:
            yield process
        finally:
            process.kill()


def leave(run: Path, **changes: object) -> Holder:
    """A lock file whose process this test makes up."""
    left = dataclasses.replace(Holder.current(), **changes)  # type: ignore[arg-type]
    (run / "lock.json").write_text(json.dumps(dataclasses.asdict(left)))
    return left


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def refusal(run: Path) -> UsageError:
    with pytest.raises(UsageError) as caught, RunLock(run):
        pass
    return caught.value


def test_the_file_says_who_holds_it_and_goes_afterwards(tmp_path: Path) -> None:
    with RunLock(tmp_path) as held:
        content = json.loads((tmp_path / "lock.json").read_text())
        assert content["pid"] == os.getpid()
        assert content["host"] == socket.gethostname()
        assert content["command"] == sys.argv
        assert held.taken_from is None
    assert os.listdir(tmp_path) == []


def test_an_exception_releases_it_too(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), RunLock(tmp_path):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    before = sorted(os.listdir("/dev/fd"))
    with RunLock(tmp_path):
        refusal(tmp_path)
    with pytest.raises(RunError), RunLock(tmp_path / "missing"):
        pass
    assert sorted(os.listdir("/dev/fd")) == before


def test_a_live_one_is_refused_with_pid_and_host(tmp_path: Path) -> None:
    with held(tmp_path) as process:
        before = (tmp_path / "lock.json").read_bytes()
        error = refusal(tmp_path)
        assert error.exit_code == 2
        assert f"{tmp_path} is in use by pid {process.pid} on host {socket.gethostname()}" in (
            error.message
        )
        assert (tmp_path / "lock.json").read_bytes() == before
        process.communicate("go\n", timeout=LIMIT)
        assert process.returncode == 0
    with RunLock(tmp_path) as taken:
        assert taken.taken_from is None


def test_the_same_process_cannot_take_it_twice(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        assert f"pid {os.getpid()} " in refusal(tmp_path).message
    with RunLock(tmp_path):
        pass


def test_what_sigkill_leaves_is_taken_over_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with held(tmp_path) as process:
        process.kill()
        process.wait()
        assert (tmp_path / "lock.json").exists()
        with caplog.at_level(logging.INFO, "senn_cli"), RunLock(tmp_path) as taken:
            assert taken.taken_from is not None
            assert taken.taken_from.pid == process.pid
            assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()
    assert f"taken over from pid {process.pid} on host" in caplog.text


@pytest.mark.parametrize("attempt", range(3))
def test_of_several_that_find_a_dead_lock_one_gets_it(tmp_path: Path, attempt: int) -> None:
    leave(tmp_path, pid=dead_pid())
    with contextlib.ExitStack() as stack:
        racers = [stack.enter_context(start(RACE, tmp_path)) for _ in range(4)]
        for racer in racers:
            assert line_of(racer) == "ready"
        for racer in racers:
            tell(racer)
        said = [line_of(racer) for racer in racers]
        assert said.count("won") == 1
        winner = racers[said.index("won")]
        assert sum(f"in use by pid {winner.pid} on host" in text for text in said) == 3
        for racer in racers:
            racer.communicate("go\n", timeout=LIMIT)
            assert racer.returncode == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_reused_pid_does_not_hold_it(tmp_path: Path) -> None:
    left = leave(tmp_path, pid=os.getppid(), started="an earlier boot:1")
    with RunLock(tmp_path) as taken:
        assert taken.taken_from == left


def test_without_flock_a_live_process_is_respected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with RunLock(tmp_path):
        assert f"pid {os.getpid()} " in refusal(tmp_path).message
    leave(tmp_path, pid=os.getppid(), started=None)
    assert f"pid {os.getppid()} " in refusal(tmp_path).message
    (tmp_path / "lock.json").write_bytes(b'{"pid": ')  # perhaps being written
    assert str(tmp_path / "lock.json") in (refusal(tmp_path).hint or "")
    left = leave(tmp_path, pid=dead_pid())
    with RunLock(tmp_path) as taken:
        assert taken.taken_from == left


def test_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holder, "PROC", tmp_path / "no proc")
    run = tmp_path / "run"
    run.mkdir()
    with held(run) as process:
        assert f"pid {process.pid} on host" in refusal(run).message
        process.kill()
        process.wait()
        with RunLock(run) as taken:
            assert taken.taken_from is not None
            assert json.loads((run / "lock.json").read_text())["started"] is None
    leave(run, pid=os.getpid())  # as after the restart of a container, where ids start anew
    with RunLock(run):
        pass
    leave(run, pid=os.getppid())
    assert f"pid {os.getppid()} on host" in refusal(run).message


def test_the_lock_of_another_host_is_respected(tmp_path: Path) -> None:
    leave(tmp_path, pid=dead_pid(), host="elsewhere")
    before = (tmp_path / "lock.json").read_bytes()
    error = refusal(tmp_path)
    assert "on host elsewhere" in error.message
    assert error.hint is not None
    assert f"delete {tmp_path / 'lock.json'}" in error.hint
    assert (tmp_path / "lock.json").read_bytes() == before
    (tmp_path / "lock.json").unlink()
    with RunLock(tmp_path):
        pass


def test_a_moved_directory_stays_locked_and_is_released(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    with held(old) as process:
        old.rename(new)
        assert f"{new} is in use by pid {process.pid} " in refusal(new).message
        process.communicate("go\n", timeout=LIMIT)
        assert process.returncode == 0
    assert os.listdir(new) == []


def test_a_dead_lock_in_a_moved_directory_is_taken_over(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    with held(old) as process:
        process.kill()
        process.wait()
    shutil.copytree(old, new)
    for run in (old, new):
        with RunLock(run) as taken:
            assert taken.taken_from is not None


@pytest.mark.parametrize("content", [b"", b'{"pid": 12', b"\x00" * 100])
def test_a_file_torn_by_a_kill_holds_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock.json").write_bytes(content)
    with RunLock(tmp_path):
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()
    assert os.listdir(tmp_path) == []


def test_one_that_is_just_being_taken_is_refused_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_PATIENCE", 0.1)
    with (tmp_path / "lock.json").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        error = refusal(tmp_path)
    assert error.message == f"{tmp_path} is in use by another process."


def test_a_file_that_its_last_holder_removes_meanwhile_is_not_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock
    calls: list[int] = []

    def late(descriptor: int, operation: int) -> None:
        if not calls:
            (tmp_path / "lock.json").unlink()
        calls.append(descriptor)
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with RunLock(tmp_path):
        assert len(calls) == 2
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()
        refusal(tmp_path)


def test_a_file_made_after_ours_was_deleted_is_not_removed(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        (tmp_path / "lock.json").unlink()
        (tmp_path / "lock.json").write_text("somebody else's")
    assert (tmp_path / "lock.json").read_text() == "somebody else's"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    run, victim = tmp_path / "run", tmp_path / "victim"
    run.mkdir()
    victim.write_text("precious")
    (run / "lock.json").symlink_to(victim)
    with pytest.raises(RunError, match=r"lock\.json cannot be locked"), RunLock(run):
        pass
    assert victim.read_text() == "precious"


def test_a_pipe_is_no_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock.json")
    with pytest.raises(RunError, match="not a regular file"), RunLock(tmp_path):
        pass


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="No such file") as caught, RunLock(tmp_path / "none"):
        pass
    assert str(tmp_path / "none") in caught.value.message


def test_a_full_disk_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, content: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RunError, match="No space left"), RunLock(tmp_path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_forked_child_does_not_release_it(tmp_path: Path) -> None:
    program = f"""
import os
from pathlib import Path
from senn_cli.runs.lock import RunLock
run = Path({str(tmp_path)!r})
with RunLock(run):
    child = os.fork()
    parent = child != 0
    if parent:
        os.waitpid(child, 0)
        print((run / "lock.json").exists())
if parent:
    print((run / "lock.json").exists())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("True\nFalse\n", "")
