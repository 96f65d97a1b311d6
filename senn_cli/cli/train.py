"""`senn train`: a spec in, a grown network out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli.follow import QuietOption, UntilOption, follow, until_of, write
from senn_cli.cli.place import (
    ResumeOption,
    RunDirOption,
    RunsRootOption,
    SeedOption,
    begun,
    with_seed,
)
from senn_cli.cli.together import CoordinatorOption, HostIdOption, HostsOption, together
from senn_cli.cli.validate import SetOption
from senn_cli.errors import UsageError

if TYPE_CHECKING:
    from senn_cli.spec import Spec
    from senn_cli.training.observer import Observer
    from senn_cli.training.run import Run


def train(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The spec file.")],
    overrides: SetOption = None,
    run_dir: RunDirOption = None,
    runs_root: RunsRootOption = Path("runs"),
    seed: SeedOption = None,
    print_spec: Annotated[
        bool,
        typer.Option(
            "--print-spec",
            help="Print the spec with every default, which can be run again, and stop.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Load the data, print layers, steps and memory, and stop; nothing is written.",
        ),
    ] = False,
    until: UntilOption = None,
    resume: ResumeOption = None,
    hosts: HostsOption = None,
    host_id: HostIdOption = None,
    coordinator: CoordinatorOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train a network that grows as SPEC describes, and leave a run directory.

    Progress goes to standard error, the summary to standard output.
    The exit code is 3 if the run diverges; 130 after Ctrl-C and 75 after other signals, and then
    `senn resume` goes on.
    """
    from senn_cli.spec import load_spec

    if print_spec and dry_run:
        raise UsageError("--print-spec and --dry-run exclude each other")
    there = begun(resume, run_dir)
    loaded = load_spec(spec, with_seed(overrides, seed))
    if print_spec:
        _print_spec(loaded)
    elif dry_run:
        _print_plan(loaded)
    else:
        with together(hosts, host_id, coordinator, run=run_dir, copied=there) as (place, silent):
            _train(loaded, runs_root, place, until, there, quiet=quiet, silent=silent)


def _print_spec(spec: Spec) -> None:
    from senn_cli.spec import dump_spec

    # As UTF-8 whatever the terminal: a file that it is directed to is a spec.
    write(dump_spec(spec).encode("utf-8"))


def _print_plan(spec: Spec) -> None:
    from senn_cli.cli import console
    from senn_cli.cli.plan import print_plan
    from senn_cli.data.registry import load
    from senn_cli.engine.gpu import expected_platform
    from senn_cli.training.foreseen import doubts
    from senn_cli.training.plan import make_plan
    from senn_cli.training.ready import require_ready

    for doubt in doubts(spec):
        typer.echo(f"warning: {doubt}", err=True)
    dataset = load(spec)
    require_ready(spec, dataset, expected_platform(spec.device.kind))
    print_plan(spec, make_plan(spec, dataset), console.stdout())


def _train(
    spec: Spec,
    root: Path,
    run_directory: Path | None,
    until: str | None,
    going_on: bool,
    *,
    quiet: bool,
    silent: bool,
) -> None:
    stop = until_of(until)

    def action(observer: Observer) -> Run:
        from senn_cli.training.run import train_run

        if going_on:
            from senn_cli.training.resume import resume_run

            assert run_directory is not None
            return resume_run(run_directory, spec=spec, until=stop, observers=[observer])
        return train_run(
            spec, root=root, run_directory=run_directory, until=stop, observers=[observer]
        )

    follow(action, quiet=quiet, silent=silent)
