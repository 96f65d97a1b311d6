"""`senn transfer`: a run that starts from another run's network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli import completion
from senn_cli.cli.follow import QuietOption, UntilOption, follow, until_of
from senn_cli.cli.place import (
    ResumeOption,
    RunDirOption,
    RunsRootOption,
    SeedOption,
    begun,
    with_seed,
)
from senn_cli.cli.validate import SetOption
from senn_cli.words import plural

if TYPE_CHECKING:
    from senn_cli.training.observer import Observer
    from senn_cli.training.origin import Origin
    from senn_cli.training.run import Run
    from senn_cli.training.transfer import Fate


def transfer(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The spec file of the new run.")],
    origin: Annotated[
        Path,
        typer.Option(
            "--from",
            metavar="RUN",
            help="The run to start from: its directory, a checkpoint (RUN/checkpoints/STEP), "
            "RUN/weights, or what `senn import` wrote.",
            autocompletion=completion.runs,
        ),
    ],
    overrides: SetOption = None,
    run_dir: RunDirOption = None,
    runs_root: RunsRootOption = Path("runs"),
    seed: SeedOption = None,
    until: UntilOption = None,
    resume: ResumeOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train as SPEC describes, from the network of another run.

    Its hidden layers take the place of those in SPEC, and the head starts at zero for the new
    task; the section `transfer` of SPEC has other choices. What is loaded, re-initialised and left
    out is told on standard error. With `--set expansion.policy=none` the network does not grow.
    """
    from senn_cli.spec import load_spec

    loaded = load_spec(spec, with_seed(overrides, seed))
    stop = until_of(until)
    there = begun(resume, run_dir)

    def action(observer: Observer) -> Run:
        from senn_cli.training.resume import resume_run
        from senn_cli.training.transfer import transfer_run

        if there:
            # By its own spec, which has the network that was carried on.
            assert run_dir is not None
            return resume_run(run_dir, until=stop, observers=[observer])
        return transfer_run(
            loaded,
            origin,
            root=runs_root,
            run_directory=run_dir,
            until=stop,
            observers=[observer],
            told=lambda origin, fates: _tell(origin, fates, observer),
        )

    follow(action, quiet=quiet)


def _tell(origin: Origin, fates: Sequence[Fate], observer: Observer) -> None:
    """Tells where the network comes from, and the fate of every array."""
    rows = table(fates)
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    observer.note(f"from {origin.words}, {origin.path}")
    for name, shape, what in rows:
        text = f"  {name.ljust(widths[0])}  {shape.ljust(widths[1])}  {what}"
        observer.note(text.rstrip())


def table(fates: Sequence[Fate]) -> list[tuple[str, str, str]]:
    """Name, shape and fate of every parameter; other arrays of one fate share a line."""
    rows, groups = [], dict[tuple[str, str], list[str]]()
    for fate in fates:
        what = fate.outcome + (f": {fate.reason}" if fate.reason else "")
        section = fate.array.partition("/")[0]
        if section == "params":
            rows.append((fate.array, "x".join(map(str, fate.shape)), what))
        else:
            groups.setdefault((section, what), []).append(fate.array)
    for (section, what), names in groups.items():
        alone = len(names) == 1
        rows.append(
            (names[0] if alone else f"{section}/ ({plural(len(names), 'array')})", "", what)
        )
    return rows
