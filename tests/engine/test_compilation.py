from __future__ import annotations

import threading

import jax
import numpy as np

from senn_cli.engine.compilation import compiled
from senn_cli.engine.programs import Ledger, Program

HIT = "/jax/compilation_cache/cache_hits"


class Lowered:
    """A lowered program, of which the cache on the disk has a copy or not."""

    def __init__(self, *events: str) -> None:
        self.events = events

    def compile(self, compiler_options: object = None) -> str:
        for event in self.events:
            jax.monitoring.record_event(event)
        return "executable"


def test_whether_the_cache_had_it() -> None:
    assert compiled(Lowered("/jax/compilation_cache/cache_misses")) == ("executable", False)
    assert compiled(Lowered(HIT)) == ("executable", True)
    assert compiled(Lowered()) == ("executable", False)


def test_a_hit_in_another_thread_is_that_threads() -> None:
    class Meanwhile(Lowered):
        def compile(self, compiler_options: object = None) -> str:
            other = threading.Thread(target=jax.monitoring.record_event, args=(HIT,))
            other.start()
            other.join()
            return super().compile()

    assert compiled(Meanwhile()) == ("executable", False)
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(compiled(Lowered(HIT))[1]))
    thread.start()
    thread.join()
    assert found == [True]


def test_the_ledger_counts_hits_also_of_what_is_compiled_ahead() -> None:
    ledger = Ledger()
    program = Program("f", lambda x: x + 1, ledger)

    class Jitted:
        """Lowers to programs that the cache has."""

        def lower(self, *args: object) -> Lowered:
            class Executable(Lowered):
                def compile(self, compiler_options: object = None) -> object:  # type: ignore[override]
                    super().compile()
                    return lambda x: x + 1

            return Executable(HIT)

    program._jitted = Jitted()  # type: ignore[assignment]
    program(np.zeros(1, np.float32))
    assert (ledger.compilations, ledger.cache_hits) == (1, 1)
    program.expect(np.zeros(2, np.float32))()
    assert ledger.cache_hits == 1  # counted when it is first called, as compilations are
    program(np.zeros(2, np.float32))
    program(np.zeros(2, np.float32))
    assert (ledger.compilations, ledger.cache_hits) == (2, 2)
