"""`senn resume`: a stopped run goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli.follow import QuietOption, UntilOption, follow, until_of
from senn_cli.cli.place import RunArgument
from senn_cli.cli.together import CoordinatorOption, HostIdOption, HostsOption, together
from senn_cli.cli.validate import SetOption

if TYPE_CHECKING:
    from senn_cli.training.observer import Observer
    from senn_cli.training.run import Run


def resume(
    run: RunArgument,
    step: Annotated[
        int | None,
        typer.Option(
            "--step", metavar="N", help="Go on from the checkpoint of step N, with --branch."
        ),
    ] = None,
    overrides: SetOption = None,
    until: UntilOption = None,
    branch: Annotated[
        Path | None,
        typer.Option(
            "--branch",
            metavar="DIR",
            help="Go on in DIR, which must be new or empty, and leave RUN as it is.",
        ),
    ] = None,
    before_growth: Annotated[
        bool,
        typer.Option(
            "--before-growth",
            help="With --branch: from the checkpoint right before the growth events of a step "
            "(see checkpoints.growth in the spec).",
        ),
    ] = False,
    hosts: HostsOption = None,
    host_id: HostIdOption = None,
    coordinator: CoordinatorOption = None,
    quiet: QuietOption = False,
) -> None:
    """Go on with the run in RUN from its newest checkpoint.

    The result is that of a run that was never stopped, bit for bit on the CPU. With --set a run can
    be made longer: `--set training.epochs=400`. Data, network and the kind of optimizer stay.
    """
    stop = until_of(until)

    with together(hosts, host_id, coordinator, run=run, copied=True) as (place, silent):
        assert place is not None
        beside = place.parent / "branch" if silent and branch is not None else branch

        def action(observer: Observer) -> Run:
            from senn_cli.training.resume import resume_run

            return resume_run(
                place,
                step=step,
                overrides=overrides or (),
                until=stop,
                branch=beside,
                before_growth=before_growth,
                observers=[observer],
            )

        follow(action, quiet=quiet, silent=silent)
