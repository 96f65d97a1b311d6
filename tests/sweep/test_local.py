from __future__ import annotations

import os
import signal
import socket
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import UsageError
from senn_cli.runs.holder import Holder
from senn_cli.spec import parse_spec
from senn_cli.sweep.folder import Folder, opened
from senn_cli.sweep.local import Tally, run_members, words_of
from senn_cli.sweep.plan import Member
from senn_cli.sweep.slots import Slot, shared, slots, visible_gpus
from senn_cli.sweep.work import Listed
from tests.sweep.sweeps import PROCESS, SPEC, begun, deeds, read
from tests.waiting import wait_until

SLOTS = (Slot(None), Slot(None))


def go(folder: Folder, members: tuple[Member, ...], **named: str) -> tuple[Tally, list[str]]:
    said: list[str] = []
    work = Listed(folder, members, _keep, said.append)
    return run_members(
        folder, work, SLOTS, said.append, words=deeds(**named), process=PROCESS
    ), said


def process_of(folder: Folder, member: Member) -> Holder:
    """The process that had the member last."""
    pid = int((folder.run(member) / "pid").read_text())
    return Holder(pid, None, socket.gethostname(), (), "")


def _keep(member: Member, origin: Member) -> Member:
    return Member(member.number, member.name, member.setting, member.seed, origin.spec)


def starts(folder: Folder, member: Member) -> int:
    return len((folder.run(member) / "starts").read_text())


def test_what_is_killed_goes_on_and_what_fails_stops_nobody(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 4")
    named = {"seed-0": "fail", "seed-1": "die die die die", "seed-2": "vain vain vain vain"}
    tally, said = go(folder, members, **named)
    assert [member.seed for member in sorted(tally.failed, key=lambda m: m.seed)] == [0, 2]
    assert [starts(folder, member) for member in members] == [1, 5, 3, 1]
    failed = next(text for text in said if text.startswith("failed: 000"))
    assert "exit code 1" in failed and failed.endswith("what was wrong")
    assert str(folder.log(members[0])) in failed
    assert said.index(failed) < len(said) - 1  # at once, and the others go on
    given_up = next(text for text in said if text.startswith("failed: 002"))
    assert "3 times by SIGKILL without a new checkpoint" in given_up
    assert [folder.standing(m) for m in members] == ["unfinished", "finished"] * 2
    # The next time what has failed is tried again, and nothing else.
    again, _ = go(folder, members)
    assert (again.failed, again.stopped) == ([], None)
    assert [starts(folder, member) for member in members] == [2, 5, 4, 1]


def test_what_starts_from_another_run_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(SPEC.replace("small", "first"), encoding="utf-8")
    text = "origin: first.yaml\nseeds: 2\ncontrols: [static]"
    folder, members = begun(tmp_path, text)
    *grown, first, _, _ = members
    assert words_of(folder, grown[0])[:3] == ["transfer", "--from", str(folder.run(first))]
    assert words_of(folder, first)[0] == "train"
    work = Listed(folder, members, _keep, lambda text: None)
    assert (work.take(), work.take()) == (first, None)
    work.ended(first, failed=True)  # and with it go the controls of what it would have begun
    assert work.lost == (*grown, *members[3:]) and work.left() == 0
    tally, said = go(folder, members)
    assert tally.failed == []
    ends = [text.split()[1].rstrip(",;") for text in said if text.startswith("finished: ")]
    assert ends[0] == first.name and set(ends) == {m.name for m in members}


def test_a_member_that_outlives_its_sweep_is_waited_for(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 2")
    options: Any = {"words": deeds(**{"seed-0": "wait"}), "process": PROCESS}
    with warnings.catch_warnings():
        # Other tests of this process may have started JAX, which the child does not use.
        warnings.simplefilter("ignore", RuntimeWarning)
        pid = os.fork()
    if pid == 0:  # a sweep that is killed
        work = Listed(folder, members, _keep, lambda text: None)
        run_members(folder, work, SLOTS[:1], lambda text: None, **options)
        os._exit(0)
    wait_until((folder.run(members[0]) / "starts").exists)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    left = process_of(folder, members[0])
    assert left.alive()
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if text.startswith("runs already"):
            (folder.run(members[0]) / "go").touch()

    work = Listed(folder, members, _keep, say)
    tally = run_members(folder, work, SLOTS[:1], say, **options)
    assert tally.failed == []
    assert [starts(folder, member) for member in members] == [1, 1]
    assert said[0] == "runs already: 000-small-seed-0"
    assert said[-1].startswith("finished: 001-small-seed-1")
    # It has taken no member more, and ends by itself.
    assert process_of(folder, members[1]).pid != left.pid
    wait_until(lambda: not left.alive())


def test_members_share_a_process_as_far_as_they_can(tmp_path: Path) -> None:
    text = "grid: {device: [cpu, gpu]}\nseeds: 3"
    folder, members = begun(tmp_path, text)
    named = deeds(**{"cpu-seed-0": "fail", "cpu-seed-2": "break"})
    said: list[str] = []
    work = Listed(folder, members, _keep, said.append)
    tally = run_members(folder, work, SLOTS[:1], said.append, words=named, process=PROCESS)
    assert [(member.setting, member.seed) for member in tally.failed] == [
        ("device-cpu", 0),
        ("device-cpu", 2),
    ]
    assert [starts(folder, member) for member in members] == [1] * 6
    cpu, gpu = ([process_of(folder, m).pid for m in members[k : k + 3]] for k in (0, 3))
    # What fails as members may leaves its process to the next one.
    assert len(set(cpu)) == len(set(gpu)) == 1 and cpu != gpu
    broken = next(text for text in said if text.startswith("failed: 002"))
    assert "exit code 1" in broken and broken.endswith("ValueError: what nobody expects")
    assert "what was wrong" not in broken  # every member has a log of its own


def test_a_signal_is_handed_to_the_members(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 3")
    words = deeds(**{f"seed-{seed}": "wait" for seed in range(3)})

    def stop() -> None:
        wait_until(lambda: all((folder.run(m) / "starts").exists() for m in members[:2]))
        os.kill(os.getpid(), signal.SIGTERM)

    said: list[str] = []
    stopping = threading.Thread(target=stop)
    stopping.start()
    work = Listed(folder, members, _keep, said.append)
    tally = run_members(folder, work, SLOTS, said.append, words=words, process=PROCESS)
    stopping.join()
    assert (tally.stopped, tally.failed) == (75, [])
    assert sorted(text for text in said if text.startswith("stopped")) == [
        "stopped: 000-small-seed-0",
        "stopped: 001-small-seed-1",
    ]
    assert not folder.run(members[2]).exists()


def test_controls_wait_for_their_origin(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 2\ncontrols: [static]")
    tally, said = go(folder, members, **{"small-seed-0": "fail"})
    assert [member.name for member in tally.failed] == ["000-small-seed-0"]
    assert "not made, as 000-small-seed-0 has not finished: 002-static-seed-0" in said
    assert any(text.startswith("finished: 003-static-seed-1") for text in said)
    assert folder.spec(members[3]).exists() and not folder.spec(members[2]).exists()


def test_another_sweep_is_refused(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 2")
    assert begun(tmp_path, "seeds: 2") == (folder, members)
    with pytest.raises(UsageError, match="1 member would be new, such as 002-small-seed-2"):
        begun(tmp_path, "seeds: 3")
    with pytest.raises(UsageError, match="1 more member, such as 001"):
        begun(tmp_path, "seeds: 1")
    with pytest.raises(UsageError, match=r"training\.epochs is 4 there and 5 now") as caught:
        begun(tmp_path, "seeds: 2\nset: {training.epochs: 5}")
    assert caught.value.hint is not None and "folder-2" in caught.value.hint
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "file").touch()
    with pytest.raises(UsageError, match="folder of no sweep"):
        opened(tmp_path / "else", {}, ())


def test_a_spec_that_is_changed_while_it_runs_changes_no_member(tmp_path: Path) -> None:
    folder, members = begun(tmp_path, "seeds: 1")
    before = folder.spec(members[0]).read_text()
    read(tmp_path, "seeds: 1")
    (tmp_path / "small.yaml").write_text(SPEC.replace("epochs: 4", "epochs: 9"))
    assert folder.spec(members[0]).read_text() == before


def test_shares_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert shared((0, 1, 2, 3, 4), 2) == [frozenset({0, 1}), frozenset({2, 3})]
    assert shared((6, 7), 3) == [frozenset({6}), frozenset({7}), frozenset({6})]
    assert shared(None, 2) == [None, None]
    for name in ("nvidia0", "nvidia10", "nvidia2", "nvidiactl"):
        (tmp_path / name).touch()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_gpus(tmp_path) == ("0", "2", "10")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-a")
    assert visible_gpus(tmp_path) == ("3", "GPU-a")
    spec = parse_spec(SPEC)
    assert len(slots([spec], 3)) == 3 and slots([spec], 3)[0].environment == {}
    monkeypatch.setattr("senn_cli.sweep.slots.expected_platform", lambda device: "gpu")
    assert [slot.gpu for slot in slots([spec], None)] == ["3", "GPU-a"]
    assert slots([spec], 1)[0].environment == {"CUDA_VISIBLE_DEVICES": "3"}
    with pytest.raises(UsageError, match="--jobs 3 is more than the 2 GPUs"):
        slots([spec], 3)
