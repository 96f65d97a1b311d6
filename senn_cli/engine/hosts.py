"""Several processes that train one run: how they meet, agree, and end together.

All of them run the same loop on the same numbers. What depends on a clock, on signals or on files
is asked of every process by `Hosts.gathered`, which hands all answers to all of them, so that they
act alike. It goes through the key-value store of JAX's coordination service, which process 0 keeps,
and is a barrier with a limit: process 0 says who has not come. In one process nothing of this
happens.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from senn_cli.cluster.meeting import LIMIT, HostsError, meet
from senn_cli.engine.lost import end_at_abort, end_at_once, leave, tells_of_a_lost_process
from senn_cli.errors import SennError
from senn_cli.words import plural

_HEARTBEATS = 60
_LAST = 5  # seconds in which others can fail alike
_ON = "Go on with: senn resume RUN"


@dataclass
class Hosts:
    """The processes of a run, seen from one of them.

    Attributes:
      count: how many there are; index: the number of this one.
      limit: seconds that the others are waited for.
      client: of JAX's coordination service; None where this process is alone.
      names: of their machines, in the order of their numbers.
    """

    count: int = 1
    index: int = 0
    limit: int = 600
    client: Any = None
    names: Sequence[str] = ()
    _asked: int = field(default=0, init=False)

    def gathered(self, label: str, value: Any) -> list[Any]:
        """What every process gives, in the order of their numbers; each must call it in turn.

        Args:
          label: what it is about, for messages; the same in all processes.
          value: plain, as JSON has it.

        Raises:
          HostsError: a process did not come within the limit, is at another place, or has failed.
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
        if isinstance(answer, dict):
            raise HostsError(**answer)
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
            self.gathered("the end", None)
            self._wait_until_heard()
        except Exception as error:
            fault = self._told()
            self._tell(error)
            with suppress(Exception):  # where all have failed alike, each can tell of it
                self.client.wait_at_barrier("senn/failed", 1000 * min(self.limit, _LAST))
                jax.distributed.shutdown()
            leave()
            if isinstance(error, SennError) or not tells_of_a_lost_process(str(error)):
                raise
            gone = {"message": "another process of this run has gone", "hint": _ON}
            raise HostsError(**fault or gone) from error
        with suppress(Exception):  # the others are at their end as well
            jax.distributed.shutdown()
        leave()

    def _wait_until_heard(self) -> None:
        """Has process 0, whose end is that of the service, wait until all have heard of the end."""
        if self.index:
            with suppress(Exception):  # it may be gone before it has answered
                self.client.key_value_set(self._word(self.index), "heard")
            return
        for other in range(1, self.count):
            self._get(self._word(other), "the end", other, self.limit)

    def _tell(self, error: Exception) -> None:
        """Leaves word of a fault where the others look next."""
        words = (
            error.message if isinstance(error, SennError) else f"{type(error).__name__}: {error}"
        )
        fault = {
            "message": f"{self._named(self.index)} has ended: {words}",
            "exit_code": error.exit_code if isinstance(error, SennError) else 1,
        }
        mine = fault if self.index == 0 else [None, fault]
        with suppress(Exception):
            self.client.key_value_set(self._word(self.index), json.dumps(mine))

    def _told(self) -> dict[str, Any] | None:
        """What another process has left word of."""
        for other in set(range(self.count)) - {self.index}:
            with suppress(Exception):
                found = json.loads(self.client.key_value_try_get(self._word(other)))
                return dict(found if other == 0 else found[1])
        return None

    def _word(self, index: int) -> str:
        return f"senn/{self._asked + 1}/{index or 'all'}"

    def _named(self, index: int) -> str:
        return f"process {index} of {self.count} ({self.names[index]})"

    def _collected(self, place: str, label: str, mine: str) -> list[Any] | dict[str, Any]:
        """All answers, or what is wrong."""
        found = [json.loads(mine)]
        for other in range(1, self.count):
            try:
                found.append(json.loads(self._get(f"{place}/{other}", label, other, self.limit)))
            except HostsError as error:
                return {"message": error.message, "hint": _ON}
        for other, (there, value) in enumerate(found):
            if there is None:
                return dict(value)
            if there != label:
                message = f"process {other} is at {there!r} and process 0 at {label!r}"
                return {"message": message, "hint": _ON}
        return [value for _, value in found]

    def _get(self, key: str, label: str, other: int, limit: int) -> str:
        try:
            return str(self.client.blocking_key_value_get(key, 1000 * limit))
        except Exception as error:  # JAX has one class for all of them
            raise HostsError(
                f"{self._named(other)} did not come to {label!r} within "
                f"{plural(limit, 'second')}, or has gone",
                hint=_ON,
            ) from error


_here = Hosts()


def here() -> Hosts:
    """The processes of this run."""
    return _here


def join(count: int, index: int, coordinator: str) -> Hosts:
    """Meets the other processes; before anything else uses JAX.

    Raises:
      HostsError, UsageError: as `meeting.meet` does.
    """
    global _here
    if count == 1:
        return _here
    import jax
    from jax._src import distributed

    limit = int(os.environ.get(LIMIT, "600"))
    names = meet(count, index, coordinator, limit)
    end_at_abort()
    # JAX's own answer to SIGTERM would take the place of ours.
    jax.config.update("jax_enable_preemption_service", False)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # Programs that run side by side could meet those of another process in another order.
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    runtime: Any = vars(distributed)["_jax"]
    make: Callable[..., Any] = runtime.get_distributed_runtime_client
    # JAX ends a process that has lost another one with a code of its own, unless it is told how.
    runtime.get_distributed_runtime_client = partial(
        make, missed_heartbeat_callback=end_at_once, shutdown_on_destruction=False
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
        leave()
        raise HostsError(
            f"process {index} of {count} has met the others at {coordinator}, and then lost one",
            hint=_ON,
        ) from error
    finally:
        runtime.get_distributed_runtime_client = make
    _here = Hosts(count, index, limit, distributed.global_state.client, names)
    return _here
