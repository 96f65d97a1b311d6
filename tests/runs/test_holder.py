from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from senn_cli.runs import holder
from senn_cli.runs.holder import Holder


def with_pid(pid: int, started: str | None = None) -> Holder:
    return dataclasses.replace(Holder.current(), pid=pid, started=started)


def test_this_process_is_alive_and_comes_back_from_json() -> None:
    current = Holder.current()
    assert (current.pid, current.host) == (os.getpid(), socket.gethostname())
    assert current.command == tuple(sys.argv)
    assert current.alive() is True
    assert Holder.from_json(json.dumps(dataclasses.asdict(current)).encode()) == current


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_start_is_the_one_that_ps_would_compute_from() -> None:
    # Fields counted from the left are right here: this program's name holds no spaces.
    process = subprocess.Popen(["sleep", "60"])
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        assert stat.split()[1] == "(sleep)"
        found = holder._process(process.pid)
        assert found is not None
        assert found[1].endswith(":" + stat.split()[21])
    finally:
        process.kill()
        process.wait()


def test_a_program_s_name_may_hold_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("b00t\n")
    (tmp_path / "7").mkdir()
    numbers = " ".join(str(n) for n in range(4, 53))
    (tmp_path / "7/stat").write_text(f"7 (a) Z 1 (b)) S {numbers}\n")
    monkeypatch.setattr(holder, "PROC", tmp_path)
    assert holder._process(7) == ("S", "b00t:22")


def test_a_dead_process_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert with_pid(process.pid).alive() is False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_process_that_nobody_has_waited_for_is_dead() -> None:
    process = subprocess.Popen(["sleep", "60"])
    assert with_pid(process.pid).alive() is True
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert with_pid(process.pid).alive() is False
    process.wait()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_reused_process_id_is_recognised_by_its_start() -> None:
    current = Holder.current()
    assert current.started is not None
    boot, ticks = current.started.split(":")
    for other in (f"{boot}:{int(ticks) - 1}", f"another:{ticks}"):
        assert dataclasses.replace(current, started=other).alive() is False


def test_another_host_cannot_be_judged() -> None:
    assert dataclasses.replace(Holder.current(), host="elsewhere", pid=1).alive() is None


def test_without_proc_the_process_id_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    monkeypatch.setattr(holder, "PROC", tmp_path / "none")
    assert Holder.current().started is None
    assert with_pid(os.getppid(), "some:1").alive() is True
    assert with_pid(process.pid, "some:1").alive() is False


def test_the_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    assert Holder.current().alive() is True


GOOD = {"pid": 1, "started": None, "host": "h", "command": ["senn"], "time": "now"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\x00",
        b"[]",
        b"null",
        b'{"pid": 1}',
        *(
            json.dumps(GOOD | change).encode()
            for change in (
                {"pid": 0},
                {"pid": -1},
                {"pid": True},
                {"pid": 1.0},
                {"pid": 2**40},
                {"started": 5},
                {"host": None},
                {"command": "senn"},
                {"time": 0},
            )
        ),
    ],
)
def test_damaged_content_is_nobody(content: bytes) -> None:
    assert Holder.from_json(json.dumps(GOOD).encode()) is not None
    assert Holder.from_json(content) is None


def test_in_words() -> None:
    text = str(Holder(12, None, "node7", ("senn", "train", "my spec.yaml"), "2025-01-02T03:04:05"))
    assert text == "pid 12 on host node7 since 2025-01-02T03:04:05 (senn train 'my spec.yaml')"
    assert len(str(Holder(12, None, "node7", ("x" * 10_000,), "now"))) < 300
