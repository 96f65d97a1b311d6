"""The paper's figures: the sweep behind each, and which of its runs are drawn how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from senn_cli.errors import UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.kinds import KINDS, draw
from senn_cli.report.plots.options import DOUBLE, Options
from senn_cli.report.record import Record, read_record
from senn_cli.runs.sweeps import read_sweep_file
from senn_cli.spec.describe import alternatives, quote
from senn_cli.spec.shipped import shipped
from senn_cli.spec.suggest import closest
from senn_cli.sweep.folder import Folder


@dataclass(frozen=True)
class Picture:
    """A picture of some runs of a sweep.

    Attributes:
      kind: of plot.
      settings: numbers of the sweep's settings, as they stand in it; None for all.
      seeds: whether the runs of all seeds are drawn, or that of the first alone.
      baseline: the setting that others are compared with.
      place: where in the figure it is, where that has several.
      width: in inches; None for the kind's own.
    """

    kind: str
    settings: tuple[int, ...] | None = (0,)
    seeds: bool = False
    baseline: int | None = None
    place: str = ""
    width: float | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Attributes:
      sentence: what it shows, in a few words.
      pictures: what it is drawn as.
    """

    sentence: str
    pictures: tuple[Picture, ...]


FIGURES = {
    "figure-2": Figure("neurons are added where a regression errs", (Picture("landscape"),)),
    "figure-3": Figure("layers are inserted when half-moons need them", (Picture("boundary"),)),
    "figure-4": Figure(
        "sizes and accuracy on MNIST, and on parts of it",
        (
            Picture("anytime", seeds=True, place="left", width=DOUBLE),
            Picture("sizes", None, seeds=True, place="right"),
        ),
    ),
    "figure-5": Figure(
        "a DenseNet on CIFAR-10, with one cycle of the learning rate and with several",
        (Picture("widths", place="left"), Picture("widths", (1,), place="right")),
    ),
    "figure-6": Figure(
        "from CIFAR-10 to Tiny-ImageNet, with growth and without",
        (Picture("improvement", seeds=True, baseline=1),),
    ),
}
"""By name; the sweeps are `specs/paper/NAME.yaml`, settings in the order that pictures count."""

_SMALL = "-small"


def variants() -> Iterator[tuple[str, Path]]:
    """All figures and their small variants, in order, each with its sweep."""
    for name in FIGURES:
        for each in (name, name + _SMALL):
            path = shipped(f"paper/{each}.yaml")
            if path.is_file():
                yield each, path


def sweep_of(name: str, *, small: bool) -> Path:
    """The sweep of a figure.

    Args:
      name: a key of `FIGURES`.
      small: whether the variant for two cores is meant.

    Raises:
      UsageError: there is no such figure, or no small variant of it.
    """
    if name not in FIGURES:
        near = closest(name, FIGURES)
        raise UsageError(
            f"there is no figure {quote(name)}; the figures are {alternatives(FIGURES)}",
            hint=f"Did you mean {near}?" if near else "`senn reproduce --list` says what each is.",
        )
    path = shipped(f"paper/{name}{_SMALL if small else ''}.yaml")
    if small and not path.is_file():
        raise UsageError(
            f"{name} has no small variant, as all of it is small",
            hint=f"Leave --small out: senn reproduce {name}",
        )
    return path


def pictures(name: str, folder: Folder) -> Iterator[Path]:
    """Draws a figure from the runs of its sweep that have finished; yields the files.

    Raises:
      RunError: a run is damaged, or lacks what is drawn, or none that is drawn has finished.
      UsageError: matplotlib is not installed, or runs cannot be compared.
    """
    members = (read_sweep_file(folder.path) or {"members": []})["members"]
    own = [one for one in members if one["control"] is None]
    order = list(dict.fromkeys(one["setting"] for one in own))

    def runs(settings: Sequence[int] | None, seeds: bool) -> list[Record]:
        wanted = order if settings is None else [order[number] for number in settings]
        found = [
            read_record(folder.path / one["name"])
            for one in own
            if one["setting"] in wanted and (folder.path / one["name"] / "summary.json").is_file()
        ]
        return found if seeds else found[:1]

    for picture in FIGURES[name].pictures:
        against = () if picture.baseline is None else runs((picture.baseline,), True)
        shown = runs(picture.settings, picture.seeds)
        if not shown or (picture.baseline is not None and not against):
            continue
        width = picture.width or KINDS[picture.kind].width
        path = folder.path / "-".join(part for part in (name, picture.place) if part)
        with style.styled():
            figure = draw(picture.kind, shown, Options(width=width, baseline=tuple(against)))
            style.save(figure, path.with_suffix(".svg"))
        yield path.with_suffix(".svg")
