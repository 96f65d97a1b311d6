"""`--hosts`, `--host-id`, `--coordinator`: this process as one of several that train one run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.errors import SennError, UsageError
from senn_cli.words import quoted

if TYPE_CHECKING:
    from senn_cli.engine.hosts import Hosts

HostsOption = Annotated[
    int | None,
    typer.Option(
        "--hosts",
        metavar="N",
        help="This process is one of N that train the run together; srun and mpirun say so "
        "themselves, and 1 says that it is alone.",
    ),
]
HostIdOption = Annotated[
    int | None,
    typer.Option("--host-id", metavar="K", help="The number of this process, 0 to N-1."),
]
CoordinatorOption = Annotated[
    str | None,
    typer.Option(
        "--coordinator",
        metavar="HOST:PORT",
        help="A free port of the machine of process 0, the same for all.",
    ),
]


@contextmanager
def together(
    hosts: int | None,
    host_id: int | None,
    coordinator: str | None,
    *,
    run: Path | None,
    copied: bool,
) -> Iterator[tuple[Path | None, bool]]:
    """Meets the other processes, if there are any, and parts from them at the end.

    Process 0 writes the run directory. Another one has a directory of its own, which it removes, so
    that all run the same code and nothing of a run is ever written twice.

    Args:
      run: the run's directory, as far as it is known.
      copied: whether the run is there already; then the other processes read it first.

    Yields:
      The directory to write into, and whether this process is to be silent.

    Raises:
      UsageError: options or variables that do not go together.
      HostsError: the others have not come, or have gone.
    """
    met = meet(hosts, host_id, coordinator)
    if met is None:
        yield run, False
        return
    with tempfile.TemporaryDirectory(prefix="senn-host-") as own, met.until_end():
        there = copied and run is not None and run.is_dir()
        seen = met.gathered("the run is found", there)
        if any(seen) and not all(seen):
            raise UsageError(
                f"process {seen.index(False)} does not find {run}, and process {seen.index(True)} "
                "does",
                hint="To go on with a run, all machines need to see it, at the same path.",
            )
        place = Path(own) / "run" if met.index else run
        if there and met.index:
            assert run is not None and place is not None
            shutil.copytree(run, place, ignore=shutil.ignore_patterns("lock.json"))
        met.gathered("the run is read", None)
        try:
            yield place, met.index > 0
        except SennError as error:
            if met.index:
                _rename(error, str(place), "RUN" if run is None else quoted(run.absolute()))
            raise


def _rename(error: SennError, place: str, run: str) -> None:
    """Has an error name the run, and not what this process has of it."""
    error.message = error.message.replace(place, run)
    error.hint = None if error.hint is None else error.hint.replace(place, run)


def meet(hosts: int | None, host_id: int | None, coordinator: str | None) -> Hosts | None:
    """Meets the other processes; None where this one is alone.

    Raises:
      UsageError, HostsError: as for `together`.
    """
    from senn_cli.cluster.detect import detect

    found = detect(os.environ, hosts=hosts, host_id=host_id, coordinator=coordinator)
    if found.words:
        typer.echo(found.words, err=True)
    if not found.several:
        return None
    from senn_cli.engine.hosts import join

    _keep_stdout()
    return join(found.count, found.index, found.coordinator)


def _keep_stdout() -> None:
    """Keeps standard output for results: Gloo says there how many it has met, now on stderr."""
    own = sys.stdout
    own.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(kept, "w", encoding=own.encoding, errors=own.errors)  # noqa: SIM115
