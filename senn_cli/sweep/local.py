"""Members on this machine, some at a time, each slot's one after another in a process of its own.

A member that fails is told at once and stops no other. One that was killed, or that asks to be
started again, goes on from its last checkpoint, in another process where its own has ended with it.
Processes have a session of their own, so they outlive a sweep that is killed; the next one waits
for the members that they have.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from senn_cli.report.record import checkpoint_steps
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.plan import Member
from senn_cli.sweep.process import PROCESS, Process
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
      process: of its slot.
      handed: whether this sweep has handed it to the process; else one of an earlier sweep has it.
      step: its newest checkpoint when it was started.
      vain: how often it had been started from the same one before.
    """

    member: Member
    process: Process
    handed: bool
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


def words_of(folder: Folder, member: Member) -> list[str]:
    """The words behind `senn` that train a member, or go on with it."""
    spec, run = folder.spec(member), folder.run(member)
    verb = ["train"]
    if member.origin is not None:
        verb = ["transfer", "--from", str(folder.path / member.origin)]
    return [*verb, str(spec), "--run-dir", str(run), "--resume", "auto"]


def command_of(folder: Folder, member: Member) -> list[str]:
    """What does so in a process for this member alone."""
    return [sys.executable, "-m", "senn_cli", *words_of(folder, member)]


def needs_of(member: Member) -> Hashable:
    """What JAX reads once a process: members that differ in it cannot share one."""
    spec = member.spec
    return None if spec is None else (spec.device.kind, spec.gpu_memory, spec.deterministic)


def run_members(
    folder: Folder,
    work: Work,
    slots: Sequence[Slot],
    say: Callable[[str], None],
    told: Callable[[Member], str] = lambda member: "",
    words: Callable[[Folder, Member], list[str]] = words_of,
    process: Sequence[str] = PROCESS,
) -> Tally:
    """Runs all members to their ends, or until a signal.

    Args:
      folder: of the sweep.
      work: which members.
      slots: a member runs in each.
      say: is told what happens, a line each.
      told: the result of a member in words.
      words: what a process is handed of a member.
      process: the words that start one.
    """
    with Interruption(heard=lambda: say("stopping: members save first; again to quit now")) as stop:
        processes = [Process(slot, process) for slot in slots]
        tally = _Sweep(folder, work, processes, say, told, words, stop).run()
        for each in processes:
            each.close()
        return tally


class _Sweep:
    """The state of `run_members`, whose arguments it has."""

    def __init__(
        self,
        folder: Folder,
        work: Work,
        processes: Sequence[Process],
        say: Callable[[str], None],
        told: Callable[[Member], str],
        words: Callable[[Folder, Member], list[str]],
        stop: Interruption,
    ) -> None:
        self.folder, self.work, self.say, self.told = folder, work, say, told
        self.words, self.stop = words, stop
        self.free = list(processes)[::-1]
        self.running: dict[str, Running] = {}
        self.ends: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
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
                self._ended(*self.ends.get(timeout=_LOOK))
            self._look()

    def _fill(self) -> None:
        while self.free and (member := self.work.take()) is not None:
            self._start(member, self.free.pop())

    def _start(self, member: Member, process: Process, vain: int = 0) -> None:
        step = _newest(self.folder.run(member))
        with self.folder.hold(member) as log:
            if log is not None:  # and with it the lock
                process.train(self.words(self.folder, member), log, needs_of(member))
            handed = log is not None
        self.running[member.name] = Running(member, process, handed, step, vain)
        if not handed:
            self.say(f"runs already: {member.name}")
            return
        self.say(f"{'goes on' if step >= 0 else 'started'}: {member.name}")
        threading.Thread(target=self._wait, args=(member.name, process), daemon=True).start()

    def _wait(self, name: str, process: Process) -> None:
        self.ends.put((name, process.ended()))

    def _look(self) -> None:
        """Ends what another sweep had started, and what gets nowhere."""
        for running in list(self.running.values()):
            if not running.handed:
                with self.folder.hold(running.member) as log:
                    ended = log is not None
                if ended:
                    self._ended(running.member.name, 0)
            elif running.member.name not in self.told_to_stop and self.work.hopeless(
                running.member
            ):
                self.folder.prune(running.member)
                self._send(running, signal.SIGTERM)

    def _stop_all(self) -> None:
        number = self.stop.requested or signal.SIGTERM
        for running in list(self.running.values()):
            if not running.handed:  # it goes on without us, as it has before
                del self.running[running.member.name]
            else:
                self._send(running, number)

    def _send(self, running: Running, number: int) -> None:
        """Tells a member once; a second signal would end it without a checkpoint."""
        if running.member.name not in self.told_to_stop:
            self.told_to_stop.add(running.member.name)
            running.process.signal(number)

    def _ended(self, name: str, code: int) -> None:
        running = self.running.pop(name)
        member = running.member
        standing = self.folder.standing(member)
        again = not running.handed or code in (TRY_AGAIN, INTERRUPTED) or code < 0
        if standing == "unfinished" and again:
            self._again(running, code)
            return
        self.free.append(running.process)
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
        vain = running.vain + 1 if step <= running.step and running.handed else 0
        if vain >= _VAIN:
            self.free.append(running.process)
            self._failed(member, f"ended {vain} times by {_cause(code)} without a new checkpoint")
            self.work.ended(member, True)
            return
        if running.handed:
            self.say(f"ended by {_cause(code)}: {member.name}")
        self._start(member, running.process, vain)

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
