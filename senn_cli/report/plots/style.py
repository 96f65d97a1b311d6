"""One look for all figures: sizes as printed, colours that colour-blind readers can tell apart."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senn_cli.errors import RunError, UsageError
from senn_cli.report.words import printable
from senn_cli.runs.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
"""What a figure can be written as."""

# Okabe and Ito's palette without its yellow, which white paper swallows.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
BLUE, BLACK, GREY, RED = COLOURS[0], "#000000", "#767676", "#CC3311"

_RC: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",  # texts stay texts: small files that can be searched and edited
    "svg.hashsalt": "senn",  # the same figure is the same file
    "pdf.fonttype": 42,
}
_PREVIEW = 100  # dots per inch while a legend is fitted; its size in inches doesn't depend on it


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save figures within; nothing outside of it changes, and no display is needed.

    Raises:
      UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.style import context
    except ImportError as error:
        raise UsageError(
            f"plots need matplotlib, which cannot be imported ({error})",
            title="Not installed",
            hint="Run `pip install 'senn-cli[plot]'`.",
        ) from error
    # "default": a matplotlibrc of the user's must not mix with these sizes.
    with context(["default", _RC]), warnings.catch_warnings():
        # A name may have letters that the font lacks; a viewer of an SVG has other fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches; without pyplot, so no window is ever involved."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_PREVIEW, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, path: Path, *, dpi: int = 200) -> None:
    """Writes a figure in the format that the name of `path` ends with, replacing what is there.

    Args:
      figure: as `draw` made it.
      path: ends with one of `FORMATS`.
      dpi: of PNG files, and of the images within SVG and PDF.

    Raises:
      RunError: the file cannot be written.
    """
    kind = path.suffix[1:].lower()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dpi, metadata=dates[kind])
    try:
        write_atomic(path, buffer.getvalue())
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def plain(text: str) -> str:
    """A user's text for a figure: in one line, its dollars no mathematics, shown in a legend."""
    text = printable(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # legends leave out names with `_`


def colours(number: int) -> list[str]:
    """This many colours to tell lines apart; from dark to light where the palette is too short."""
    if number <= len(COLOURS):
        return list(COLOURS[:number])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # Its last part is too light for lines on white.
    return [to_hex(colormaps["viridis"](0.9 * i / (number - 1))) for i in range(number)]


def legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str] = ()) -> None:
    """A legend below everything, in as many columns as fit into the figure's width.

    Args:
      figure: where nothing else lies outside of the axes at the bottom.
      handles: what is explained; none for no legend.
      labels: their texts, empty for those of the handles.
    """
    if not handles:
        return
    texts = list(labels) or [str(handle.get_label()) for handle in handles]
    for rows in range(1, len(texts) + 1):
        columns = math.ceil(len(texts) / rows)
        made = figure.legend(
            handles=list(handles), labels=texts, loc="outside lower center", ncols=columns
        )
        size = made.get_window_extent()
        if size.width <= 0.98 * figure.bbox.width or columns == 1:
            return
        made.remove()


def log_axis(axes: Axes) -> None:
    """A logarithmic y axis; with 1, 2 and 5 as plain numbers where it has few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < 300 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())


def step_axis(axes: Axes, label: str = "training step") -> None:
    """Whole numbers along x, as a person writes them, and never so many that they touch."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    room = axes.figure.get_figure(root=True).get_figwidth()
    axes.xaxis.set_major_locator(
        MaxNLocator(nbins=5 if room < 5 else 8, integer=True, steps=[1, 2, 2.5, 5, 10])
    )
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if label:
        axes.set_xlabel(label)
