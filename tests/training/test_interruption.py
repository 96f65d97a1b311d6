from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from senn_cli.training.interruption import SIGNALS, Interruption, exit_code
from tests.waiting import LIMIT, wait_until

CODES = [
    (signal.SIGINT, 130),
    (signal.SIGTERM, 75),
    (signal.SIGHUP, 75),
    (signal.SIGUSR1, 75),
]

PROGRAM = """
import hashlib, os, signal, sys, threading, time
from senn_cli.training.interruption import Interruption

def give_back():
    os.write(1, b"given back\\n")
    {give_back}

def heard():
    os.write(1, b"heard\\n")
    answered.set()
    {heard}

answered = threading.Event()
{interactive}
with Interruption(give_back, heard, together={together}) as interruption:
    print("ready", flush=True)
    {busy}
    answered.wait()
    print(interruption.requested, flush=True)
"""

WAIT = "while True: time.sleep(1)"  # only a signal ends this
# A single call that no signal ends, and during which other threads run: like a compilation.
COMPILE = 'hashlib.pbkdf2_hmac("sha256", b"a", b"b", {rounds})'


def start(
    busy: str,
    give_back: str = "pass",
    together: float = 0.0,
    heard: str = "pass",
    interactive: str = "",
) -> subprocess.Popen[str]:
    program = PROGRAM.format(
        busy=busy, give_back=give_back, together=together, heard=heard, interactive=interactive
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert told(process) == "ready"
    return process


def told(process: subprocess.Popen[str]) -> str:
    """The next line that the process writes."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


def interrupted_twice(process: subprocess.Popen[str], first: int, second: int) -> tuple[str, str]:
    """What the process wrote between the first signal that it heard and its end."""
    process.send_signal(first)
    assert told(process) == "heard"
    assert process.poll() is None
    process.send_signal(second)
    return process.communicate(timeout=LIMIT)


@pytest.fixture(autouse=True)
def python_s_own_handlers() -> Iterator[None]:
    """Whoever runs the tests may ignore signals, and processes inherit that."""
    old = handlers()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in SIGNALS[1:]:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in zip(SIGNALS, old, strict=True):
        signal.signal(number, handler)


def handlers() -> list[Any]:
    return [signal.getsignal(number) for number in SIGNALS]


@pytest.mark.parametrize(("number", "code"), CODES)
def test_the_first_signal_is_a_request(number: int, code: int) -> None:
    with Interruption() as interruption:
        assert (interruption.requested, interruption.exit_code) == (None, None)
        os.kill(os.getpid(), number)
        assert (interruption.requested, interruption.exit_code) == (number, code)
    assert (interruption.requested, exit_code(number)) == (number, code)


@pytest.mark.parametrize(("number", "code"), CODES)
def test_the_second_of_a_kind_ends_the_process(number: int, code: int) -> None:
    process = start(WAIT)
    assert interrupted_twice(process, number, number) == ("given back\n", "")
    assert process.returncode == code


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [(signal.SIGTERM, signal.SIGINT, 130), (signal.SIGINT, signal.SIGTERM, 75)],
)
def test_the_second_of_another_kind_gives_the_code(first: int, second: int, code: int) -> None:
    process = start(WAIT)
    interrupted_twice(process, first, second)
    assert process.returncode == code


def test_signals_that_come_together_are_one_request() -> None:
    process = start("sys.stdin.read()", together=LIMIT)
    sent = (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM)
    for number in sent:
        process.send_signal(number)
    assert told(process) == "heard"
    # All have arrived before the end of its input has, and all are read before it ends.
    assert process.communicate(timeout=LIMIT)[0] in (f"{n:d}\n" for n in sent)
    assert process.returncode == 0


def test_by_default_one_that_comes_later_is_another() -> None:
    process = start(WAIT, together=inspect.signature(Interruption).parameters["together"].default)

    def ended() -> bool:
        process.send_signal(signal.SIGTERM)  # nothing happens where it has ended
        return process.poll() is not None

    wait_until(ended)
    assert process.communicate(timeout=LIMIT) == ("heard\ngiven back\n", "")
    assert process.returncode == 75


def test_the_second_ends_a_call_that_never_returns_to_python() -> None:
    process = start(COMPILE.format(rounds=10**9))  # minutes
    assert interrupted_twice(process, signal.SIGINT, signal.SIGINT) == ("given back\n", "")
    assert process.returncode == 130


def test_the_first_is_seen_after_a_call_that_never_returns_to_python() -> None:
    process = start(f"while not interruption.requested: {COMPILE.format(rounds=10**6)}")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=LIMIT) == (f"heard\n{int(signal.SIGTERM)}\n", "")
    assert process.returncode == 0


def multiply() -> bool:
    ones = np.ones((300, 300))
    return bool((ones @ ones == 300).all())


@pytest.mark.parametrize(
    "busy",
    [
        lambda: time.sleep(0.01) is None,  # a call like any other, nothing waits for it
        multiply,
        lambda: sum(range(10**6)) == 10**6 * (10**6 - 1) // 2,
    ],
    ids=["sleep", "multiply", "sum"],
)
def test_the_first_is_seen_after_any_call_and_interrupts_none(busy: Callable[[], bool]) -> None:
    with Interruption() as interruption:
        sender = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
        sender.start()
        wait_until(lambda: busy() and interruption.requested is not None)
        sender.join()
        assert interruption.requested == signal.SIGUSR1


def test_a_terminal_that_cannot_be_given_back_does_not_keep_the_process() -> None:
    process = start(WAIT, f"time.sleep({5 * LIMIT})")  # it keeps the process
    assert interrupted_twice(process, signal.SIGINT, signal.SIGINT) == ("given back\n", "")
    assert process.returncode == 130


def test_an_error_while_giving_back_changes_nothing() -> None:
    process = start(WAIT, "raise OSError('the terminal is gone')")
    interrupted_twice(process, signal.SIGHUP, signal.SIGHUP)
    assert process.returncode == 75


def test_everything_is_put_back() -> None:
    threads = threading.active_count()
    before = handlers()
    mine = signal.set_wakeup_fd(-1)
    assert mine == -1
    descriptors = sorted(os.listdir("/dev/fd"))
    with pytest.raises(ZeroDivisionError), Interruption():
        assert all(now != old for now, old in zip(handlers(), before, strict=True))
        raise ZeroDivisionError
    assert handlers() == before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads
    assert sorted(os.listdir("/dev/fd")) == descriptors


def test_afterwards_ctrl_c_is_python_s_again() -> None:
    with Interruption():
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_the_inner_of_two_hears_and_the_outer_takes_over_again() -> None:
    with Interruption() as outer:
        with Interruption() as inner:
            os.kill(os.getpid(), signal.SIGTERM)
        assert (outer.requested, inner.requested) == (None, signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert outer.requested == signal.SIGTERM


def test_what_was_ignored_stays_ignored() -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interruption.requested is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, old)


def test_signals_of_other_kinds_are_none_of_ours() -> None:
    heard: list[int] = []
    old = signal.signal(signal.SIGUSR2, lambda number, frame: heard.append(number))
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGUSR2)
            wait_until(lambda: heard)
        # The end has waited for the thread, which has read all that came.
        assert (heard, interruption.requested) == ([signal.SIGUSR2], None)
    finally:
        signal.signal(signal.SIGUSR2, old)


def test_outside_of_the_main_thread_nothing_happens() -> None:
    before, seen = handlers(), []

    def enter() -> None:
        with Interruption() as interruption:
            seen.append((handlers() == before, interruption.requested, threading.active_count()))

    threads = threading.active_count()
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [(True, None, threads + 1)]
    assert handlers() == before


def test_an_answer_that_cannot_be_given_does_not_keep_the_process() -> None:
    process = start(WAIT, heard=f"time.sleep({5 * LIMIT})")  # it keeps the thread that answers
    interrupted_twice(process, signal.SIGINT, signal.SIGINT)
    assert process.returncode == 130


def test_the_answer_comes_during_a_call_that_never_returns_to_python() -> None:
    process = start(COMPILE.format(rounds=10**9))  # minutes, as a compilation may take
    process.send_signal(signal.SIGINT)
    assert told(process) == "heard"
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=LIMIT)


def test_in_an_interactive_session_the_second_interrupts_what_runs() -> None:
    """The process, with all else that somebody has in it, goes on."""
    shell = "sys.ps1 = '>>> '"
    program = f"try:\n        {WAIT}\n    except KeyboardInterrupt: print('interrupted')"
    for _ in range(3):
        process = start(program, interactive=shell)
        out, error = interrupted_twice(process, signal.SIGINT, signal.SIGINT)
        assert out.splitlines() == ["interrupted", str(int(signal.SIGINT))] and error == ""
        assert process.returncode == 0


def test_in_an_interactive_session_the_first_is_a_request_after_a_long_call() -> None:
    """Its handler runs when the call has ended, long after the signal, and does not interrupt."""
    busy = COMPILE.format(rounds=1_500_000)
    process = start(busy, interactive="sys.ps1 = '>>> '")
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=LIMIT)
    assert out.splitlines() == ["heard", str(int(signal.SIGINT))] and error == ""
