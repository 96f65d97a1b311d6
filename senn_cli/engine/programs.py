"""Compiled programs, counted and timed, and where the seconds of a run go."""

from __future__ import annotations

import functools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

from senn_cli.engine.compilation import compiled
from senn_cli.engine.effort import Efforts
from senn_cli.engine.essence import essence
from senn_cli.engine.mesh import lying, settled, structs
from senn_cli.engine.traced import lowered

MOST_KEPT = 256
"""Executables that a process keeps for later runs, those that were used last. Every one takes
places in its address space, and thousands of them are too many for Linux."""

_SETTINGS = ("jax_default_device", "jax_enable_x64", "jax_default_matmul_precision")
"""What JAX reads beside a function and its arguments."""

PHASES = ("train", "track", "score", "surgery", "compile", "evaluate", "save")
"""What every run does; others, such as `audit`, have seconds where they happen."""


class Aborted(Exception):
    """A stretch of work that was called off; see `Ledger.abortable`."""


class Ledger:
    """Adds up the seconds of every phase, and counts compilations by program.

    Phases nest: the seconds of an inner one do not count for the outer.

    Args:
      clock: seconds, monotonic.
      announce: told the name of every phase that is entered, and what it is about.

    Attributes:
      compiled: how many compilations each program needed, by its name.
      compiling: the seconds of them, those of reading them from a cache included.
      cached: how many of them were spared: the compilation cache on the disk had them, or an
        earlier run of this process.
      efforts: how hard XLA works at the programs.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        announce: Callable[[str, str], None] = lambda name, what: None,
    ) -> None:
        self.clock, self.announce = clock, announce
        self.started = clock()
        self.seconds: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.compiled: dict[str, int] = {}
        self.compiling: dict[str, float] = {}
        self.cached: dict[str, int] = {}
        self.efforts = Efforts()
        self.earlier = 0.0  # seconds of the run before this process
        self.closed = False  # nothing that is not begun will be compiled ahead
        self._stack: list[tuple[str, str]] = []
        self._called_off: Callable[[], bool] = lambda: False
        self._since = self.started

    def _charge(self) -> None:
        now = self.clock()
        if self._stack:
            name = self._stack[-1][0]
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def phase(self, name: str, what: str = "") -> Iterator[None]:
        """Counts the enclosed seconds as `name`; `what` it is about is told, not counted."""
        self._charge()
        self._stack.append((name, what))
        self.announce(name, what)
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()
            if self._stack:
                self.announce(*self._stack[-1])

    @contextmanager
    def abortable(self, called_off: Callable[[], bool]) -> Iterator[None]:
        """Has every program within raise `Aborted` as soon as `called_off()`."""
        self._called_off, before = called_off, self._called_off
        try:
            yield
        finally:
            self._called_off = before

    def check(self) -> None:
        """Raises `Aborted` if the work at hand is called off."""
        if self._called_off():
            raise Aborted

    @property
    def compilations(self) -> int:
        """Programs compiled so far."""
        return sum(self.compiled.values())

    @property
    def cache_hits(self) -> int:
        """How many of them were spared."""
        return sum(self.cached.values())

    def count(self, name: str, *, times: int, seconds: float, cached: int) -> None:
        """Adds compilations of the program `name` to what is known of it."""
        self.compiled[name] = self.compiled.get(name, 0) + times
        self.compiling[name] = self.compiling.get(name, 0.0) + seconds
        self.cached[name] = self.cached.get(name, 0) + cached

    def told(self) -> dict[str, Any]:
        """What was compiled and where the seconds went, as summaries have it."""
        programs = {
            name: {
                "times": times,
                "seconds": round(self.compiling[name], 3),
                "cached": self.cached[name],
                "effort": self.efforts.of(name),
            }
            for name, times in self.compiled.items()
        }
        return {
            "compilations": self.compilations,
            "compiled": dict(self.compiled),
            "cache_hits": self.cache_hits,
            "programs": programs,
            "effort": self.efforts._asdict(),
            "seconds": {k: round(v, 3) for k, v in self.seconds.items()}
            | {"total": round(self.total(), 3)},
        }

    def total(self) -> float:
        """Seconds since the ledger was opened, those of earlier processes included."""
        return self.earlier + self.clock() - self.started


class Kept:
    """Executables of a process by what they compute; the one that was not used for longest goes."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most = most
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()  # programs are compiled ahead in threads

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Hashable) -> Any:
        """The executable, or None."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Hashable, executable: Any) -> None:
        """Keeps one."""
        with self._lock:
            self._found[key] = executable
            while len(self._found) > self.most:
                self._found.popitem(last=False)

    def clear(self) -> None:
        """Lets go of all."""
        with self._lock:
            self._found.clear()


KEPT = Kept()
"""What this process has compiled."""


class _Once:
    """What whoever comes first makes, while others wait; where that fails the next one tries."""

    def __init__(self) -> None:
        self._lock, self._made = threading.Lock(), None

    def got(self, make: Callable[[], Any]) -> Any:
        """What there is, or what `make` returns."""
        with self._lock:
            if self._made is None:
                self._made = make()
            return self._made


class Program:
    """A function compiled ahead for every combination of static arguments, shapes and dtypes.

    Unlike with plain `jit`, every compilation is seen: it counts in the ledger, and its seconds are
    those of the phase `compile`. Arguments are positional; scalars are NumPy's, not Python's.
    Another thread may compile ahead what is then not compiled again; it counts when it is first
    called, with the seconds that were waited for it. What an earlier run of the process compiled,
    of a function of equal essence, is taken from there, and counts as spared: a run's figures are
    those that it has alone.

    It runs where its arguments lie: where some lie on a mesh, for all of its devices, and how they
    lie on it is part of what it is compiled for.

    Args:
      rows: which entries of the result lie by rows there, `mesh.settled`; all else lies whole.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        ledger: Ledger,
        *,
        static: tuple[int, ...] = (),
        donate: tuple[int, ...] = (),
        rows: tuple[int, ...] = (),
    ) -> None:
        @functools.wraps(function)
        def settling(*args: Any) -> Any:
            return settled(function(*args), rows)

        self.name, self.ledger, self.static, self.donate = name, ledger, static, donate
        self._function = settling
        self._jitted = jax.jit(settling, static_argnums=static, donate_argnums=donate)
        known = essence(function)
        self._known = None if known is None else (known, static, donate, rows)
        self._executables: dict[Any, Any] = {}
        self._coming: dict[Any, _Once] = {}

    def _key(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        dynamic = [a for i, a in enumerate(args) if i not in self.static]
        leaves, structure = jax.tree.flatten(dynamic)
        shapes = tuple((x.shape, x.dtype) for x in leaves)
        return (tuple(args[i] for i in self.static), structure, shapes, lying(leaves))

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles the function for such arguments; a call in the meantime waits for it.

        Args:
          args: as for a call, or `jax.ShapeDtypeStruct` for arrays that do not exist yet.

        Returns:
          A function to run in another thread; it may raise `Aborted`, as `results` does.
        """
        key = self._key(args)
        # Shapes alone: the arrays may have been donated by the time the thread comes to them.
        shapes = self._shapes(key, args)

        def work() -> None:
            self._ahead(key, shapes)

        return work

    def results(self, *args: Any) -> Any:
        """Shapes and types of what it returns for such arguments; compiles first if need be.

        For another thread, to go on with programs that are given these results.

        Args:
          args: as for `expect`.

        Raises:
          Aborted: nothing is compiled ahead any more, or it failed, as whoever calls it will see.
        """
        key = self._key(args)
        return self._ahead(key, self._shapes(key, args)).out_info

    def _ahead(self, key: tuple[Any, ...], shapes: list[Any]) -> Any:
        """The executable, for what goes on ahead of calls."""
        if key in self._executables:
            return self._executables[key]
        if self.ledger.closed:
            raise Aborted
        try:
            executable, _ = self._once(key, shapes)
        except Exception as error:
            raise Aborted from error
        return executable

    def _once(self, key: tuple[Any, ...], args: Any) -> tuple[Any, bool]:
        """As `_made`, or what another thread has made or is at."""
        # Two threads may come at the same time: this is one step of the interpreter.
        once = self._coming.setdefault(key, _Once())
        found: tuple[Any, bool] = once.got(lambda: self._made(key, args))
        return found

    def _shapes(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> list[Any]:
        """Shapes, types and places alone of the arguments that are not static."""
        kept, where = {i: args[i] for i in self.static}, key[-1]
        leaves, structure = jax.tree.flatten([a for i, a in enumerate(args) if i not in kept])
        dynamic = iter(jax.tree.unflatten(structure, structs(leaves, where)))
        return [kept[i] if i in kept else next(dynamic) for i in range(len(args))]

    def _lowered(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        if key[-1] is None:
            kept = self._kept_on_disk(key, args)
            return self._jitted.lower(*args) if kept is None else kept
        with jax.set_mesh(key[-1][0]):
            return self._jitted.lower(*self._shapes(key, args))

    def _kept_on_disk(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Any | None:
        """The lowered program of an earlier process, or for later ones; None where none is kept."""
        given = essence(key[0])
        if self._known is None or given is None:
            return None
        made_of, shapes = (self._known, given, *key[1:]), self._shapes(key, args)
        return lowered(self._function, made_of, shapes, static=self.static, donate=self.donate)

    def _made(self, key: tuple[Any, ...], args: Any) -> tuple[Any, bool]:
        """The executable, and whether compiling it was spared."""
        effort = self.ledger.efforts.of(self.name)
        if self._known is None:
            return compiled(self._lowered(key, args), effort)
        place = (
            self._known,
            key,
            effort,
            jax.default_backend(),
            *(getattr(jax.config, s) for s in _SETTINGS),
        )
        executable = KEPT.get(place)
        if executable is not None:
            return executable, True
        executable, hit = compiled(self._lowered(key, args), effort)
        KEPT.put(place, executable)
        return executable, hit

    def __call__(self, *args: Any) -> Any:
        """The function's value; compiles first where these shapes are new."""
        self.ledger.check()
        key = self._key(args)
        if key not in self._executables:
            started = self.ledger.clock()
            with self.ledger.phase("compile", self.name):
                executable, hit = self._once(key, args)
            self._executables[key] = executable
            self._coming.pop(key)
            seconds = self.ledger.clock() - started
            self.ledger.count(self.name, times=1, seconds=seconds, cached=hit)
        dynamic = [a for i, a in enumerate(args) if i not in self.static]
        return self._executables[key](*dynamic)
