"""Compiled programs, counted and timed, and where the seconds of a run go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import jax

from senn_cli.engine.compilation import compiled

PHASES = ("train", "track", "score", "surgery", "compile", "evaluate", "save")


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
      cache_hits: how many of them the compilation cache on the disk spared.
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
        self.cache_hits = 0
        self.earlier = 0.0  # seconds of the run before this process
        self.closed = False  # nothing that is not begun will be compiled ahead
        self._stack: list[tuple[str, str]] = []
        self._called_off: Callable[[], bool] = lambda: False
        self._since = self.started

    def _charge(self) -> None:
        now = self.clock()
        if self._stack:
            self.seconds[self._stack[-1][0]] += now - self._since
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

    def total(self) -> float:
        """Seconds since the ledger was opened, those of earlier processes included."""
        return self.earlier + self.clock() - self.started


class Program:
    """A function compiled ahead for every combination of static arguments, shapes and dtypes.

    Unlike with plain `jit`, every compilation is seen: it counts in the ledger, and its seconds are
    those of the phase `compile`. Arguments are positional; scalars are NumPy's, not Python's.
    What another thread compiles ahead counts when it is first called, with the seconds that were
    waited for it.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        ledger: Ledger,
        *,
        static: tuple[int, ...] = (),
        donate: tuple[int, ...] = (),
    ) -> None:
        self.name, self.ledger, self.static = name, ledger, static
        self._jitted = jax.jit(function, static_argnums=static, donate_argnums=donate)
        self._executables: dict[Any, Any] = {}
        self._expected: dict[Any, Future[Any]] = {}

    def _key(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        dynamic = [a for i, a in enumerate(args) if i not in self.static]
        leaves, structure = jax.tree.flatten(dynamic)
        shapes = tuple((x.shape, x.dtype) for x in leaves)
        return (tuple(args[i] for i in self.static), structure, shapes)

    def expect(self, *args: Any) -> Callable[[], None]:
        """What compiles the function for such arguments; a call in the meantime waits for it.

        Args:
          args: as for a call, or `jax.ShapeDtypeStruct` for arrays that do not exist yet.

        Returns:
          A function to run in another thread.
        """
        key = self._key(args)
        if key in self._executables or key in self._expected:
            return lambda: None
        promised: Future[Any] = Future()
        self._expected[key] = promised
        # Shapes alone: the arrays may have been donated by the time the thread comes to them.
        shapes = [a if i in self.static else jax.tree.map(_shape_of, a) for i, a in enumerate(args)]

        def work() -> None:
            if self.ledger.closed:
                promised.cancel()
                return
            try:
                promised.set_result(compiled(self._jitted.lower(*shapes)))
            except BaseException as error:
                promised.set_exception(error)

        return work

    def __call__(self, *args: Any) -> Any:
        """The function's value; compiles first where these shapes are new."""
        self.ledger.check()
        key = self._key(args)
        if key not in self._executables:
            with self.ledger.phase("compile", self.name):
                promised = self._expected.pop(key, None)
                if promised is not None and promised.exception() is None:
                    executable, hit = promised.result()
                else:
                    executable, hit = compiled(self._jitted.lower(*args))
            self._executables[key] = executable
            self.ledger.cache_hits += hit
            self.ledger.compiled[self.name] = self.ledger.compiled.get(self.name, 0) + 1
        dynamic = [a for i, a in enumerate(args) if i not in self.static]
        return self._executables[key](*dynamic)


def _shape_of(array: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)
