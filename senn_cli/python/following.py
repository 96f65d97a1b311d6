"""Following a run from Python: what is shown, who is told, and what is said when it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from senn_cli.errors import InterruptedRun
from senn_cli.python.callbacks import checked
from senn_cli.python.run import Run
from senn_cli.python.views import view
from senn_cli.training import run as trained
from senn_cli.training.observer import Observer, Observers, Start


class _Place(Observer):
    """Remembers where the run writes."""

    directory = ""

    def start(self, start: Start) -> None:
        """Remembers it."""
        self.directory = start.run_directory


def followed(
    action: Callable[[Sequence[Observer]], trained.Run], verbose: int, callbacks: Iterable[Any]
) -> Run:
    """The run that `action` trains, told to callbacks and shown as `verbose` says.

    Args:
      action: trains with these observers.
      verbose: see `views.view`.
      callbacks: `Callback`s.

    Raises:
      InterruptedRun: Ctrl-C, or another signal; its hint says how to go on in Python.
      SennError: as `action`.
    """
    place = _Place()
    watch = Observers([place, *checked(callbacks), *view(verbose)])
    watch.phase("import")
    try:
        return Run.of(action([watch]))
    except InterruptedRun as error:
        hint = f"Go on with: senn_cli.resume({place.directory!r})"
        raise InterruptedRun(error.message, exit_code=error.exit_code, hint=hint) from None
    finally:
        watch.close()
