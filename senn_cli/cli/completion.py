"""What the shell completes: runs, kinds of plot, templates. Nothing heavy is imported."""

from __future__ import annotations

import os
from pathlib import Path


def runs(incomplete: str) -> list[str]:
    """Run directories in the runs root; where none begins so, the shell completes files."""
    root = Path(os.environ.get("SENN_RUNS") or "runs")
    try:
        found = sorted(str(path.parent) for path in root.glob("*/spec.yaml"))
    except OSError:
        return []
    return [path for path in found if path.startswith(incomplete)]


def kinds_and_runs(incomplete: str) -> list[str]:
    """Kinds of plot, then runs."""
    from senn_cli.report.plots.kinds import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)] + runs(incomplete)


def templates(incomplete: str) -> list[tuple[str, str]]:
    """Templates, each with what it is for."""
    from senn_cli.spec.template import templates as known

    return [(name, told) for name, told in known().items() if name.startswith(incomplete)]


def figures(incomplete: str) -> list[tuple[str, str]]:
    """The paper's figures, each with what it shows."""
    from senn_cli.sweep.figures import FIGURES

    return [(name, each.sentence) for name, each in FIGURES.items() if name.startswith(incomplete)]


def data_sets(incomplete: str) -> list[str]:
    """Published data sets."""
    from senn_cli.data.fetch import fetchable

    return [name for name in fetchable() if name.startswith(incomplete)]


def options(incomplete: str) -> list[tuple[str, str]]:
    """Options of specs by their dotted names, one level at a time, each with what it is."""
    from senn_cli.spec.explain import entries

    level = incomplete.count(".")
    return [
        (name, entry.forms[0].meaning)
        for name, entry in entries().items()
        if name.startswith(incomplete) and name.count(".") == level
    ]
