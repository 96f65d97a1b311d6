"""What a run is doing at this moment, and what it will still do after a signal, in words."""

from __future__ import annotations

from collections.abc import Callable

DOING = {
    "import": "importing JAX",
    "device": "starting JAX",
    "data": "loading the data",
    "train": "training",
    "track": "looking at the curvature",
    "score": "scoring",
    "surgery": "changing the network",
    "audit": "auditing the score",
    "compile": "compiling",
    "evaluate": "evaluating",
    "save": "saving",
}
"""The phases of a run; see `Observer.phase`."""

STOPPING = {
    "device": "as soon as JAX has started",
    "data": "as soon as the data are loaded",
    "train": "after these steps",
    "track": "after this look at the curvature",
    "score": "after this score",
    "surgery": "after this change of the network",
    "audit": "after these steps of the audit",
    "compile": "after this compilation",
    "evaluate": "after this evaluation",
    "save": "after this save",
}
"""When a run that was told to stop will stop, by the phase that it is in."""

FROM_CACHE = 2.0
"""Seconds in which a program that the compilation cache has is there; what takes longer is new."""

_LONG = 3.0  # seconds from which they are told


class Doing:
    """The phase that a run is in, since when, and how many programs it has compiled.

    Args:
      clock: seconds that only ever increase.

    Attributes:
      programs: about how many programs this process will compile; 0 where it is not known.
      kept: whether the next run finds them in a cache.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._name, self._what, self._since = "", "", clock()
        self._compiled = 0
        self.programs, self.kept = 0, False

    def phase(self, name: str, what: str = "") -> None:
        """The run enters a phase; for `compile`, `what` is the program."""
        if (name, what) == (self._name, self._what) and name != "compile":
            return
        self._compiled += name == "compile"
        self._name, self._what, self._since = name, what, self._clock()

    @property
    def words(self) -> str:
        """Such as `compiling score_depth, 4 of about 17, first run only, for 12 s`."""
        spent = self._clock() - self._since
        texts = [" ".join(filter(None, [DOING.get(self._name, self._name), self._what]))]
        if self._name == "compile":
            if self.programs:
                about = max(self.programs, self._compiled)
                texts.append(f"{self._compiled} of about {about}")
            if self.kept and spent >= FROM_CACHE:
                texts.append("first run only")
        if spent >= _LONG:
            texts.append(f"for {spent:.0f} s")
        return ", ".join(filter(None, texts))

    @property
    def stopping(self) -> str:
        """The answer to a first signal."""
        return f"stopping {STOPPING.get(self._name, 'soon')}; again to quit now"
