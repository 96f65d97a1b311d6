"""The command `senn`, as the script of that name and as `python -m senn_cli` start it.

What has to be there from the first moment comes before anything large is imported.
"""

from __future__ import annotations

import os
import sys

from senn_cli.cache import TRACED_VARIABLE

TRAINING = ("demo", "train", "resume", "transfer", "bench")
"""Verbs that a signal ends with an exit code of their own."""

THREADS = "OPENBLAS_NUM_THREADS"
"""How many threads LAPACK works with; read when NumPy is imported."""


MEMBERS = "--members"
"""In place of a verb, of `python -m senn_cli` alone: this is a process of a sweep."""


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    _prepare(sys.argv[1:2] and sys.argv[1] in TRAINING)
    from senn_cli.cli.app import main as run

    run()


def _prepare(trains: object) -> None:
    """Sees to signals, threads and streams."""
    # The factorisations of growth and curvature are small and many. Where cores are shared, threads
    # that wait for each other's turn take many times as long as one; whoever has large layers and
    # cores of their own says so. XLA's products have threads of their own.
    os.environ.setdefault(THREADS, "1")
    os.environ.setdefault(TRACED_VARIABLE, "1")
    from senn_cli.training.interruption import end_at_signals

    if trains:
        end_at_signals()
    from senn_cli.cli.streams import secure

    secure()


if __name__ == "__main__":
    if sys.argv[1:2] == [MEMBERS]:
        _prepare(trains=True)
        from senn_cli.cli.members import train_members

        train_members(int(sys.argv[2]))
    else:
        main()
