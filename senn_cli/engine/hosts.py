"""Several processes that train one run: how they meet, agree, and end together.

All of them run the same loop on the same numbers. What depends on a clock, on signals or on files
is asked of every process by `Hosts.gathered`, which hands all answers to all of them, so that they
act alike. It goes through the key-value store of JAX's coordination service, which process 0 keeps,
and is a barrier with a limit: process 0 says who has not come. In one process nothing of this
happens.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from senn_cli.errors import SennError
from senn_cli.words import plural

LIMIT = "SENN_HOSTS_TIMEOUT"
"""Variable with the seconds that are waited for another process; 600 by default."""

_HEARTBEATS = 60
_LAST = 5  # seconds in which others can fail alike
TRY_AGAIN = 75
_LOST = b"Another process of this run is lost; this one ends with 75. Go on with: senn resume RUN\n"


class HostsError(SennError):
    """Another process that has not come or has gone: exit code 75, as the run can be resumed."""

    exit_code = TRY_AGAIN
    title = "Hosts"


@dataclass
class Hosts:
    """The processes of a run, seen from one of them.

    Attributes:
      count: how many there are; index: the number of this one.
      limit: seconds that the others are waited for.
      client: of JAX's coordination service; None where this process is alone.
    """

    count: int = 1
    index: int = 0
    limit: int = 600
    client: Any = None
    _asked: int = field(default=0, init=False)

    def gathered(self, label: str, value: Any) -> list[Any]:
        """What every process gives, in the order of their numbers; each must call it in turn.

        Args:
          label: what it is about, for messages; the same in all processes.
          value: plain, as JSON has it.

        Raises:
          HostsError: a process did not come within the limit, or is at another place.
        """
        if self.client is None:
            return [value]
        self._asked += 1
        place, mine = f"senn/{self._asked}", json.dumps([label, value])
        if self.index:
            self.client.key_value_set(f"{place}/{self.index}", mine)
            answer = json.loads(self._get(f"{place}/all", label, 0, 2 * self.limit))
        else:
            answer = self._collected(place, label, mine)
            self.client.key_value_set(f"{place}/all", json.dumps(answer))
            if self._asked > 1:  # all have read the answer before that one
                self.client.key_value_delete(f"senn/{self._asked - 1}/")
        if isinstance(answer, str):
            raise HostsError(answer, hint="Go on with: senn resume RUN")
        return list(answer)

    def agreed(self, label: str, value: Any) -> Any:
        """What process 0 gives."""
        return self.gathered(label, value)[0]

    @contextmanager
    def until_end(self) -> Iterator[None]:
        """Parts from the other processes behind the block: none goes while others need it.

        Raises:
          HostsError: one of them has gone within the block, or does not come to its end.
        """
        import jax

        try:
            yield
        except Exception as error:
            if "Gloo" in str(error) and not isinstance(error, SennError):
                raise HostsError(
                    "another process of this run has gone",
                    hint="Go on with: senn resume RUN",
                ) from error
            with suppress(Exception):  # where all have failed alike, each can tell of it
                self.client.wait_at_barrier("senn/failed", 1000 * min(self.limit, _LAST))
                jax.distributed.shutdown()
            raise
        self.gathered("the end", None)
        jax.distributed.shutdown()

    def _collected(self, place: str, label: str, mine: str) -> list[Any] | str:
        """All answers, or what is wrong."""
        found = [json.loads(mine)]
        for other in range(1, self.count):
            try:
                found.append(json.loads(self._get(f"{place}/{other}", label, other, self.limit)))
            except HostsError as error:
                return error.message
        for other, (there, _) in enumerate(found):
            if there != label:
                return f"process {other} is at {there!r} and process 0 at {label!r}"
        return [value for _, value in found]

    def _get(self, key: str, label: str, other: int, limit: int) -> str:
        try:
            return str(self.client.blocking_key_value_get(key, 1000 * limit))
        except Exception as error:  # JAX has one class for all of them
            raise HostsError(
                f"process {other} of {self.count} did not come to {label!r} within "
                f"{plural(limit, 'second')}, or has gone",
                hint="Go on with: senn resume RUN",
            ) from error


_here = Hosts()


def here() -> Hosts:
    """The processes of this run."""
    return _here


def join(count: int, index: int, coordinator: str) -> Hosts:
    """Meets the other processes; before anything else uses JAX.

    Raises:
      HostsError: they have not come within the limit.
    """
    global _here
    if count == 1:
        return _here
    import jax
    from jax._src import distributed

    limit = int(os.environ.get(LIMIT, "600"))
    _end_at_abort()
    # JAX's own answer to SIGTERM would take the place of ours.
    jax.config.update("jax_enable_preemption_service", False)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # Programs that run side by side could meet those of another process in another order.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    runtime: Any = vars(distributed)["_jax"]
    make: Callable[..., Any] = runtime.get_distributed_runtime_client
    # JAX ends a process that has lost another one with a code of its own, unless it is told how.
    runtime.get_distributed_runtime_client = partial(
        make, missed_heartbeat_callback=_lost, shutdown_on_destruction=False
    )
    try:
        jax.distributed.initialize(
            coordinator,
            count,
            index,
            initialization_timeout=limit,
            heartbeat_timeout_seconds=min(limit, _HEARTBEATS),
            shutdown_timeout_seconds=limit,
            cluster_detection_method="deactivate",
        )
    except Exception as error:
        raise HostsError(
            f"process {index} of {count} has not met the others at {coordinator} within "
            f"{plural(limit, 'second')}: {str(error).splitlines()[0]}",
            hint="Start all of them within that time, with the same --hosts and --coordinator; "
            f"{LIMIT} has them wait for longer.",
        ) from error
    finally:
        runtime.get_distributed_runtime_client = make
    _here = Hosts(count, index, limit, distributed.global_state.client)
    return _here


def _lost(*reason: Any) -> None:
    os.write(2, _LOST)
    os._exit(TRY_AGAIN)


_at_abort = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: _lost())


def _end_at_abort() -> None:
    """Has an abort end this process with 75.

    A jaxlib that cannot hand the reason over to `_lost` (0.10) aborts instead, from a thread of its
    own, where Python's handlers are not run.
    """
    library = ctypes.CDLL(None)
    library.signal.argtypes, library.signal.restype = (
        [ctypes.c_int, ctypes.c_void_p],
        ctypes.c_void_p,
    )
    library.signal(signal.SIGABRT, ctypes.cast(_at_abort, ctypes.c_void_p))
