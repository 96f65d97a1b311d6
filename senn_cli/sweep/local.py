"""Members as processes of this machine, some at a time, each with its share of it.

A member that fails is told at once and stops no other. One that was killed, or that asks to be
started again, goes on from its last checkpoint. Processes have a session of their own, so they
outlive a sweep that is killed; the next one waits for them.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senn_cli.report.record import checkpoint_steps
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.plan import Member
from senn_cli.sweep.slots import Slot
from senn_cli.sweep.work import Work
from senn_cli.training.interruption import INTERRUPTED, TRY_AGAIN, Interruption

_LOOK = 0.5
"""Seconds between two looks at what tells nothing by itself."""

_VAIN = 3
"""Starts without a new checkpoint between them after which a member is given up."""

_LINES = 6  # of a log, where a member has failed


@dataclass(frozen=True)
class Running:
    """A member that runs.

    Attributes:
      member: which one.
      slot: what it has of the machine.
      process: None where it was started by a sweep that has ended.
      step: its newest checkpoint when it was started.
      vain: how often it had been started from the same one before.
    """

    member: Member
    slot: Slot
    process: subprocess.Popen[bytes] | None
    step: int
    vain: int = 0


@dataclass
class Tally:
    """What came of the members of a sweep.

    Attributes:
      failed: those without a result.
      stopped: the exit code where a signal ended the sweep.
    """

    failed: list[Member]
    stopped: int | None = None


def command_of(folder: Folder, member: Member) -> list[str]:
    """The words that train a member, or go on with it."""
    spec, run = folder.spec(member), folder.run(member)
    verb = ["train"]
    if member.origin is not None:
        verb = ["transfer", "--from", str(folder.path / member.origin)]
    words = [sys.executable, "-m", "senn_cli", *verb, str(spec)]
    return [*words, "--run-dir", str(run), "--resume", "auto"]


def run_members(
    folder: Folder,
    work: Work,
    slots: Sequence[Slot],
    say: Callable[[str], None],
    told: Callable[[Member], str] = lambda member: "",
    command: Callable[[Folder, Member], list[str]] = command_of,
) -> Tally:
    """Runs all members to their ends, or until a signal.

    Args:
      folder: of the sweep.
      work: which members.
      slots: a member runs in each.
      say: is told what happens, a line each.
      told: the result of a member in words.
      command: the words that start a member.
    """
    with Interruption(heard=lambda: say("stopping: members save first; again to quit now")) as stop:
        return _Sweep(folder, work, slots, say, told, command, stop).run()


class _Sweep:
    """The state of `run_members`, whose arguments it has."""

    def __init__(
        self,
        folder: Folder,
        work: Work,
        slots: Sequence[Slot],
        say: Callable[[str], None],
        told: Callable[[Member], str],
        command: Callable[[Folder, Member], list[str]],
        stop: Interruption,
    ) -> None:
        self.folder, self.work, self.say, self.told = folder, work, say, told
        self.command, self.stop = command, stop
        self.free = list(slots)[::-1]
        self.running: dict[str, Running] = {}
        self.ends: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.tally = Tally([])
        self.told_to_stop: set[str] = set()

    def run(self) -> Tally:
        """Until nothing runs and nothing can be started."""
        while True:
            if self.stop.stops():
                self._stop_all()
            else:
                self._fill()
            if not self.running:
                self.tally.stopped = self.stop.exit_code
                return self.tally
            with contextlib.suppress(queue.Empty):
                self._ended(self.ends.get(timeout=_LOOK))
            self._look()

    def _fill(self) -> None:
        while self.free and (member := self.work.take()) is not None:
            self._start(member, self.free.pop())

    def _start(self, member: Member, slot: Slot, vain: int = 0) -> None:
        step = _newest(self.folder.run(member))
        with self.folder.hold(member) as log:
            process = None
            if log is not None:
                with _kept_to(slot.cores):
                    process = subprocess.Popen(
                        self.command(self.folder, member),
                        stdin=subprocess.DEVNULL,
                        stdout=log,  # and with it the lock
                        stderr=log,
                        env={**os.environ, **slot.environment},
                        start_new_session=True,
                    )
        self.running[member.name] = Running(member, slot, process, step, vain)
        if process is None:
            self.say(f"runs already: {member.name}")
            return
        self.say(f"{'goes on' if step >= 0 else 'started'}: {member.name}")
        waiting = threading.Thread(target=self._wait, args=(member.name, process), daemon=True)
        waiting.start()

    def _wait(self, name: str, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self.ends.put(name)

    def _look(self) -> None:
        """Ends what another sweep had started, and what gets nowhere."""
        for running in list(self.running.values()):
            if running.process is None:
                with self.folder.hold(running.member) as log:
                    ended = log is not None
                if ended:
                    self._ended(running.member.name)
            elif running.member.name not in self.told_to_stop and self.work.hopeless(
                running.member
            ):
                self.folder.prune(running.member)
                self._send(running, signal.SIGTERM)

    def _stop_all(self) -> None:
        number = self.stop.requested or signal.SIGTERM
        for running in list(self.running.values()):
            if running.process is None:  # it goes on without us, as it has before
                del self.running[running.member.name]
            else:
                self._send(running, number)

    def _send(self, running: Running, number: int) -> None:
        """Tells a member once; a second signal would end it without a checkpoint."""
        if running.member.name not in self.told_to_stop and running.process is not None:
            self.told_to_stop.add(running.member.name)
            running.process.send_signal(number)

    def _ended(self, name: str) -> None:
        running = self.running.pop(name)
        member = running.member
        code = 0 if running.process is None else running.process.returncode
        standing = self.folder.standing(member)
        again = running.process is None or code in (TRY_AGAIN, INTERRUPTED) or code < 0
        if standing == "unfinished" and again:
            self._again(running, code)
            return
        self.free.append(running.slot)
        failed = standing == "unfinished"
        if failed:
            self._failed(member, f"exit code {code}")
        else:
            text = self.told(member)
            left = self.work.left()
            rest = "" if left is None else f"; {left + len(self.running)} to go"
            self.say(f"{standing}: {member.name}{f', {text}' if text else ''}{rest}")
        self.work.ended(member, failed)

    def _again(self, running: Running, code: int) -> None:
        """Starts a member once more, unless the sweep stops or it has come nowhere."""
        member = running.member
        if self.stop.stops():
            self.say(f"stopped: {member.name}")
            return
        step = _newest(self.folder.run(member))
        vain = running.vain + 1 if step <= running.step and running.process is not None else 0
        if vain >= _VAIN:
            self.free.append(running.slot)
            self._failed(member, f"ended {vain} times by {_cause(code)} without a new checkpoint")
            self.work.ended(member, True)
            return
        if running.process is not None:
            self.say(f"ended by {_cause(code)}: {member.name}")
        self._start(member, running.slot, vain)

    def _failed(self, member: Member, how: str) -> None:
        self.tally.failed.append(member)
        log = self.folder.log(member)
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last = [line for line in lines if line.strip()][-_LINES:]
        self.say("\n".join([f"failed: {member.name}, {how}; {log} ends:", *last]))


def _cause(code: int) -> str:
    """What ended a process, in words."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


def _newest(run: Path) -> int:
    """The step of a run's newest checkpoint; -1 where there is none."""
    return max(checkpoint_steps(run), default=-1)


@contextlib.contextmanager
def _kept_to(cores: frozenset[int] | None) -> Iterator[None]:
    """Has processes that are started within run on some cores alone."""
    if cores is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def outcome(summary: Mapping[str, object]) -> str:
    """A result in a few words: `test accuracy 97.22%, 1,234 parameters`."""
    texts = []
    for key, form in (("test_accuracy", ".2%"), ("test_mse", ".4g")):
        value = summary.get(key)
        if isinstance(value, float | int):
            texts.append(f"{key.replace('_', ' ')} {value:{form}}")
    parameters = summary.get("parameters")
    if isinstance(parameters, int):
        texts.append(f"{parameters:,} parameters")
    return ", ".join(texts)
