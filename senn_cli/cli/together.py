"""`--hosts`, `--host-id`, `--coordinator`: this process as one of several that train one run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

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
    from senn_cli.cluster.detect import detect

    found = detect(os.environ, hosts=hosts, host_id=host_id, coordinator=coordinator)
    if found.words:
        typer.echo(found.words, err=True)
    if not found.several:
        yield run, False
        return
    from senn_cli.engine.hosts import join

    met = join(found.count, found.index, found.coordinator)
    with tempfile.TemporaryDirectory(prefix="senn-host-") as own:
        place = Path(own) / "run" if met.index else run
        if met.index and copied and run is not None:
            shutil.copytree(run, Path(own) / "run", ignore=shutil.ignore_patterns("lock.json"))
        with met.until_end():
            met.gathered("the run is read", None)
            yield place, met.index > 0
