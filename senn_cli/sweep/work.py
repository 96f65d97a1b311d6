"""What a sweep has to do: members that are ready, in order, and what follows from their ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from senn_cli.errors import SennError
from senn_cli.sweep.folder import Folder, Standing
from senn_cli.sweep.plan import Member

End = Standing
"""How a member has ended."""


class Work(Protocol):
    """Members one after the other."""

    def take(self) -> Member | None:
        """The next member that can be started now; None where there is none, or none yet."""

    def ended(self, member: Member, failed: bool) -> None:
        """A member that was taken does not go on in this sweep.

        Args:
          member: as it was given by `take`.
          failed: whether it has failed, and has no result.
        """

    def hopeless(self, member: Member) -> bool:
        """Whether a member that runs is to be stopped: it would not get anywhere."""

    def left(self) -> int | None:
        """How many have not been taken; None where that is not known."""


class Listed:
    """Members that are known beforehand; some wait for another one's end.

    A control waits for the run that it is made from, a transfer for the run that it starts from.

    Args:
      folder: of the sweep.
      members: all of them.
      make: makes the spec of a control, and raises `SennError` where that cannot be.
      say: is told of a control that cannot be made.
    """

    def __init__(
        self,
        folder: Folder,
        members: Iterable[Member],
        make: Callable[[Member, Member], Member],
        say: Callable[[str], None],
    ) -> None:
        known = list(members)
        self._folder, self._make, self._say = folder, make, say
        self._ready = deque(member for member in known if member.awaits is None)
        self._waiting = [member for member in known if member.awaits is not None]
        self._lost: list[Member] = []
        self._origins = {member.name: member for member in known}

    def take(self) -> Member | None:
        """The next one that has a spec."""
        while self._ready:
            member = self._ready.popleft()
            if self._folder.standing(member) == "unfinished":
                return member
            self.ended(member, failed=False)
        return None

    def ended(self, member: Member, failed: bool) -> None:
        """Readies what has waited for a member that has finished; what waits for others is lost."""
        mine = [each for each in self._waiting if each.awaits == member.name]
        self._waiting = [each for each in self._waiting if each.awaits != member.name]
        if not mine:
            return
        if failed or self._folder.standing(member) != "finished":
            self._lost += mine
            names = ", ".join(each.name for each in mine)
            self._say(f"not made, as {member.name} has not finished: {names}")
            for each in mine:
                self.ended(each, failed=True)
            return
        for each in mine:
            try:
                known = each if each.of is None else self._make(each, self._origins[member.name])
                self._ready.append(self._folder.keep(known))
            except SennError as error:
                self._lost.append(each)
                self._say(f"not made: {each.name}: {error.message}")

    def hopeless(self, member: Member) -> bool:
        """Never."""
        return False

    def left(self) -> int:
        """Those to come, controls included."""
        return len(self._ready) + len(self._waiting)

    @property
    def lost(self) -> tuple[Member, ...]:
        """Those that could not be made, or started."""
        return tuple(self._lost)
