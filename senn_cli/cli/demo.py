"""`senn demo`: the quickstart, from wherever senn is installed."""

from __future__ import annotations

from pathlib import Path

from senn_cli.cli.follow import QuietOption, UntilOption
from senn_cli.cli.place import RunDirOption, RunsRootOption, SeedOption
from senn_cli.cli.train import train
from senn_cli.cli.validate import SetOption
from senn_cli.spec.shipped import shipped


def demo(
    overrides: SetOption = None,
    run_dir: RunDirOption = None,
    runs_root: RunsRootOption = Path("runs"),
    seed: SeedOption = None,
    until: UntilOption = None,
    quiet: QuietOption = False,
) -> None:
    """Grow a small network on handwritten digits, to see how it goes.

    It is `senn train` with the spec of the README's first command, on images that come with
    scikit-learn: nothing is downloaded. `senn new` has specs for data of your own.
    """
    train(
        str(shipped("quickstart.yaml")),
        overrides=overrides,
        run_dir=run_dir,
        runs_root=runs_root,
        seed=seed,
        until=until,
        quiet=quiet,
    )
