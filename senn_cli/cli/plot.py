"""`senn plot`: a figure for a paper, from what runs recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from senn_cli.cli import completion
from senn_cli.errors import UsageError

if TYPE_CHECKING:
    from senn_cli.report.plots.options import Options


def plot(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND RUN",
            help="The kind of plot, and the run directories; the kind may come last, too.",
            autocompletion=completion.kinds_and_runs,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write it: FILE.svg, .png or .pdf; a figure that is there is replaced. "
            "Without it KIND.svg in the run's directory, for several runs in the present one.",
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(
            "--width",
            metavar="INCHES",
            help="`single` (3.3 inches, a column), `double` (6.8), or a number of inches.",
        ),
    ] = None,
    dpi: Annotated[
        int,
        typer.Option(
            "--dpi",
            metavar="N",
            min=50,
            max=1200,
            help="Dots per inch of a PNG, and of images within an SVG or PDF.",
        ),
    ] = 200,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="A title above it.")] = "",
    steps: Annotated[
        str | None,
        typer.Option(
            "--steps",
            metavar="N,N,...",
            help="For landscape and boundary: the recorded steps to show.",
        ),
    ] = None,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            "--baseline",
            metavar="RUN",
            help="For improvement: a run to compare with. Can be repeated, once a seed.",
            autocompletion=completion.runs,
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the kinds of plot, each with what it shows.")
    ] = False,
) -> None:
    """Draw a figure from what runs recorded, and print its path.

    Nothing is run again. It needs matplotlib, which comes with the package's extra `plot`.
    """
    from senn_cli.cli import console
    from senn_cli.report.plots.kinds import KINDS
    from senn_cli.report.words import printable

    if show_list:
        long = max(map(len, KINDS))
        for name, kind in KINDS.items():
            typer.echo(f"{name:<{long}}  {kind.sentence}")
        return
    name, runs = kind_and_runs(arguments or [])
    path = _output(output, name, runs)
    options = _options(name, width, title, steps, baseline or [])
    _draw(name, runs, options, path, dpi)
    out = console.stdout()
    out.print(printable(str(path), out.encoding), soft_wrap=True)


def kind_and_runs(arguments: Sequence[str]) -> tuple[str, list[Path]]:
    """The kind of plot among the arguments, wherever it stands, and the runs.

    Raises:
      UsageError: there is no kind among them, or more than one, or no run.
    """
    from senn_cli.report.plots.kinds import KINDS
    from senn_cli.spec.describe import alternatives, printable
    from senn_cli.spec.suggest import closest

    given = [word for word in arguments if word in KINDS]
    known = alternatives(KINDS)
    if not given:
        unknown = [word for word in arguments if not Path(word).exists()]
        what = f"{printable(unknown[0])} is none" if unknown else "none is given"
        near = closest(unknown[0], KINDS) if unknown else None
        raise UsageError(
            f"senn plot needs a kind of plot, and {what}; the kinds are {known}",
            hint=f"Did you mean {near}?" if near else "`senn plot --list` says what each shows.",
        )
    if len(given) > 1:
        raise UsageError(
            f"senn plot draws one kind at a time, and {' and '.join(given)} are given",
            hint=f"A run in a directory of that name is ./{given[1]}.",
        )
    runs = [Path(word) for word in arguments if word not in KINDS]
    if not runs:
        raise UsageError(
            f"senn plot {given[0]} needs a run",
            hint=f"For example `senn plot {given[0]} runs/NAME`; `senn runs` lists them. "
            f"A run in a directory of that name is ./{given[0]}.",
        )
    return given[0], runs


def _output(given: Path | None, name: str, runs: Sequence[Path]) -> Path:
    """Where the figure goes to; checked before anything is read or drawn."""
    from senn_cli.report.plots.style import FORMATS
    from senn_cli.report.record import run_of

    if given is None:
        return (run_of(runs[0])[0] if len(runs) == 1 else Path.cwd()) / f"{name}.svg"
    if given.suffix[1:].lower() not in FORMATS:
        raise UsageError(
            f"--output {given}: a figure's name ends with .svg, .png or .pdf, not with "
            f"{given.suffix or 'nothing'}",
            hint=f"For example `-o {given.stem or name}.svg`.",
        )
    if given.is_dir():
        raise UsageError(f"--output {given} is a directory; name a file")
    if not given.absolute().parent.is_dir():
        raise UsageError(f"--output {given}: the directory {given.parent} does not exist")
    return given


def _options(
    name: str, width: str | None, title: str, steps: str | None, baseline: Sequence[Path]
) -> Options:
    from senn_cli.report.plots.kinds import KINDS
    from senn_cli.report.plots.options import Options
    from senn_cli.report.record import read_record

    return Options(
        width=KINDS[name].width if width is None else _inches(width),
        title=title,
        steps=() if steps is None else _steps(steps),
        baseline=tuple(read_record(path) for path in baseline),
    )


def _inches(text: str) -> float:
    from senn_cli.report.plots.options import DOUBLE, SINGLE

    named = {"single": SINGLE, "double": DOUBLE}
    try:
        inches = named[text] if text in named else float(text)
    except ValueError:
        inches = 0.0
    if not SINGLE * 0.9 <= inches <= 20:
        raise UsageError(
            f"--width {text} should be `single` ({SINGLE} inches), `double` ({DOUBLE}) or a number "
            "of inches from 3 to 20"
        )
    return inches


def _steps(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--steps {text} should be whole numbers with commas, such as 30,90")
    return tuple(int(part) for part in parts)


def _draw(name: str, runs: Sequence[Path], options: Options, path: Path, dpi: int) -> None:
    from senn_cli.report.plots import style
    from senn_cli.report.plots.kinds import draw
    from senn_cli.report.record import read_record

    records = [read_record(run) for run in runs]
    with style.styled():
        style.save(draw(name, records, options), path, dpi=dpi)
