"""The kinds of plot by name; a kind's module, and matplotlib with it, is imported when drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from senn_cli.errors import UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.options import DOUBLE, SINGLE, Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from senn_cli.report.record import Record


@dataclass(frozen=True)
class Kind:
    """A kind of plot.

    Attributes:
      sentence: what it shows, one line.
      many: whether it draws several runs in one figure.
      width: in inches, where none is asked for.
      steps: whether recorded steps can be chosen.
      baseline: whether it needs runs to compare with.
    """

    sentence: str
    many: bool = False
    width: float = SINGLE
    steps: bool = False
    baseline: bool = False


KINDS: dict[str, Kind] = {
    "growth": Kind(
        "Widths of all layers over steps, stacked, with the growth events.", width=DOUBLE
    ),
    "loss": Kind(
        "Loss and accuracy over steps, with the growth events of a single run.", many=True
    ),
    "scores": Kind("The score of every site over steps, against the threshold tau.", width=DOUBLE),
    "gains": Kind("Predicted against realised gain of every growth round.", many=True),
    "seconds": Kind("Where the time went.", many=True),
    "landscape": Kind(
        "Score of a new neuron over its location and scale (the paper's figure 2).",
        width=DOUBLE,
        steps=True,
    ),
    "boundary": Kind(
        "Layer score over steps, with decision boundaries (the paper's figure 3).", steps=True
    ),
    "anytime": Kind(
        "Total hidden size and validation accuracy over mini-batches (figure 4, left).", many=True
    ),
    "sizes": Kind(
        "Final hidden size over how much of the data was learnt from (figure 4, right).", many=True
    ),
    "widths": Kind("Width of every layer in every block over epochs (the paper's figure 5)."),
    "improvement": Kind(
        "Improvement over the runs given to --baseline, by epoch (the paper's figure 6).",
        many=True,
        baseline=True,
    ),
    "cost": Kind(
        "The result over parameters, seconds and operations, of every setting.",
        many=True,
        width=DOUBLE,
    ),
}
"""All kinds of plot, in the order of `senn plot --list`."""


def draw(name: str, records: Sequence[Record], options: Options | None = None) -> Figure:
    """The figure of the kind `name`; call it, and save the figure, within `style.styled()`.

    Args:
      name: a key of `KINDS`.
      records: the runs, one or more as the kind wants them.
      options: None for the kind's own width and no more.

    Raises:
      UsageError: the kind draws one run and got several, needs a baseline, or has no such option.
      RunError: a run has not recorded what the kind shows.
    """
    kind = KINDS[name]
    options = Options(width=kind.width) if options is None else options
    if len(records) > 1 and not kind.many:
        many = ", ".join(each for each, other in KINDS.items() if other.many)
        raise UsageError(
            f"{name} draws one run, but {len(records)} are given",
            hint=f"Draw each run by itself. Several in one figure: {many}.",
        )
    if options.steps and not kind.steps:
        chosen = " and ".join(each for each, other in KINDS.items() if other.steps)
        raise UsageError(f"--steps is for {chosen}, not for {name}")
    if options.baseline and not kind.baseline:
        raise UsageError(f"--baseline is for improvement, not for {name}")
    if kind.baseline and not options.baseline:
        raise UsageError(
            f"{name} needs --baseline RUN: the run, or a run a seed, that others are compared with",
            hint="For example `senn plot improvement runs/senn --baseline runs/static`.",
        )
    options = replace(options, title=style.plain(options.title))
    figure: Figure = import_module(f"senn_cli.report.plots.{name}").draw(records, options)
    if options.title:
        figure.set_figheight(figure.get_figheight() + 0.25)
        figure.suptitle(options.title)
    return figure
