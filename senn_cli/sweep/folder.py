"""The folder of a sweep: what its members are, their specs as they began, and how they stand.

| file | content |
|---|---|
| `sweep.json` | the sweep and its members |
| `specs/NAME.yaml` | the resolved spec that a member is trained from, written once |
| `logs/NAME.log` | what a member has told |
| `NAME/` | its run directory |

How a member stands is told by its run directory alone, so that nothing can contradict it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from senn_cli.errors import RunError, UsageError
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.environment import senn_version
from senn_cli.runs.files import write_atomic
from senn_cli.runs.jsonl import dumps
from senn_cli.runs.lock import lock_file
from senn_cli.runs.sweeps import FORMAT, NAME, read_sweep_file
from senn_cli.spec import Spec, dump_spec, load_spec
from senn_cli.sweep.plan import Member
from senn_cli.words import plural, quoted

Standing = Literal["finished", "diverged", "pruned", "unfinished"]
"""How a member has ended; what has not can go on."""

_PRUNED = "pruned"


@dataclass(frozen=True)
class Folder:
    """The folder of a sweep.

    Attributes:
      path: absolute.
    """

    path: Path

    def run(self, member: Member) -> Path:
        """The member's run directory."""
        return self.path / member.name

    def spec(self, member: Member) -> Path:
        """The file that it is trained from."""
        return self.path / "specs" / f"{member.name}.yaml"

    def log(self, member: Member) -> Path:
        """What it has told."""
        return self.path / "logs" / f"{member.name}.log"

    def standing(self, member: Member) -> Standing:
        """How it has ended.

        Raises:
          RunError: its summary is damaged.
        """
        summary = RunDirectory(self.run(member)).summary()
        if summary is None:
            pruned = self.log(member).with_suffix(f".{_PRUNED}")
            return "pruned" if pruned.exists() else "unfinished"
        return "diverged" if summary.get("status") == "diverged" else "finished"

    def prune(self, member: Member) -> None:
        """Marks a member as one that does not go on."""
        self.log(member).with_suffix(f".{_PRUNED}").touch()

    def keep(self, member: Member) -> Member:
        """Writes the spec of a member, unless it is there already; the member as it is then.

        Raises:
          RunError: the file cannot be written.
        """
        path = self.spec(member)
        if not path.exists():
            assert member.spec is not None
            _write(path, dump_spec(member.spec, path.parent))
            return member
        return replace(member, spec=load_spec(path))

    def write(self, described: dict[str, Any], members: Sequence[Member]) -> None:
        """Writes what the sweep is.

        Raises:
          RunError: it cannot be written.
        """
        known = {"format": FORMAT, "senn": senn_version(), "sweep": described}
        listed = [
            {"name": m.name, "setting": m.setting, "seed": m.seed}
            | {"control": m.control, "of": m.of}
            for m in members
        ]
        _write(self.path / NAME, dumps(known | {"members": listed}, indent=1) + "\n")

    @contextlib.contextmanager
    def hold(self, member: Member) -> Iterator[int | None]:
        """A descriptor of a lock on the member, to be handed to its process.

        The lock lasts as long as a process has the descriptor: a member that has outlived its sweep
        holds it, also before it has made its run directory.

        Yields:
          the descriptor, None where a process has the lock.
        """
        file = os.open(self.log(member), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            yield None if lock_file(file) is False else file
        finally:
            os.close(file)


def opened(
    path: Path, described: dict[str, Any], members: Sequence[Member]
) -> tuple[Folder, tuple[Member, ...]]:
    """Makes the folder of a sweep, or takes the one in which it was begun.

    Args:
      path: of the folder.
      described: what the sweep is, plain values.
      members: those known beforehand.

    Returns:
      the folder, and the members with the specs that they have in it.

    Raises:
      UsageError: the folder holds something else, or another sweep.
      RunError: it cannot be read or written.
    """
    folder = Folder(path.absolute())
    known = read_sweep_file(folder.path)
    if known is None:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            what = "is not empty" if path.is_dir() else "is not a directory"
            raise UsageError(
                f"{folder.path} {what}, and it is the folder of no sweep",
                hint="Name a new or an empty folder with --dir.",
            )
        try:
            for each in ("specs", "logs"):
                (folder.path / each).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    else:
        _require_same(folder, known, described, members)
    kept = tuple(m if m.control is not None else folder.keep(m) for m in members)
    if known is None:  # last, so that a folder whose specs are not all there is begun anew
        folder.write(described, members)
    return folder, kept


def _require_same(
    folder: Folder, known: dict[str, Any], described: dict[str, Any], members: Sequence[Member]
) -> None:
    """UsageError where the folder holds another sweep."""
    told = _difference(folder, known, described, members)
    if told is not None:
        free = next(n for n in range(2, 10**6) if not _beside(folder.path, n).exists())
        name = quoted(_beside(folder.path, free))
        raise UsageError(
            f"{folder.path} holds another sweep: {told}",
            hint=f"Undo the change to go on with that one, or give this one a folder of its own: "
            f"--dir {name}",
        )


def _beside(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}-{number}")


def _difference(
    folder: Folder, known: dict[str, Any], described: dict[str, Any], members: Sequence[Member]
) -> str | None:
    """What differs from the sweep that was begun, in words; None where it is the same."""
    before = [one["name"] for one in known["members"]]
    names = [member.name for member in members]
    if described["search"] or known["sweep"].get("search"):
        same = json.loads(dumps(described)) == known["sweep"]
        return None if same else "its search, or the spec that is varied in it, differs"
    if before != names:
        more = [name for name in names if name not in before]
        less = [name for name in before if name not in names]
        if more:
            return f"{plural(len(more), 'member')} would be new, such as {more[0]}"
        return f"it has {plural(len(less), 'more member')}, such as {less[0]}"
    for member in members:
        path = folder.spec(member)
        if member.spec is not None and path.exists() and load_spec(path) != member.spec:
            return f"{member.name} would be trained otherwise{_first(load_spec(path), member.spec)}"
    return None


def _first(before: Spec, now: Spec) -> str:
    """The first option of two specs that differs, in words."""
    from senn_cli.report.options import flattened

    old, new = (flattened(spec.model_dump(mode="json")) for spec in (before, now))
    for option in dict.fromkeys((*old, *new)):
        if old.get(option) != new.get(option):
            return f": {option} is {old.get(option)} there and {new.get(option)} now"
    return ""


def _write(path: Path, text: str) -> None:
    try:
        write_atomic(path, text)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
