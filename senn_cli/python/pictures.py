"""A plot that a notebook shows by itself."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senn_cli.errors import UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.kinds import KINDS, draw
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record, read_record
from senn_cli.spec.describe import alternatives

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture:
    """A figure of a run.

    Attributes:
      figure: matplotlib's.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    @property
    def svg(self) -> str:
        """The figure as a text of SVG."""
        with style.styled():
            text = io.StringIO()
            self.figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()

    def save(self, path: str | Path, dpi: int = 200) -> Path:
        """Writes FILE.svg, .png or .pdf, and returns its path.

        Raises:
          UsageError: another ending.
          RunError: it cannot be written.
        """
        target = Path(path)
        if target.suffix[1:].lower() not in style.FORMATS:
            raise UsageError(f"{target}: a figure's name ends with .svg, .png or .pdf")
        with style.styled():
            style.save(self.figure, target, dpi=dpi)
        return target

    def _repr_html_(self) -> str:
        # An image of its own: ids within SVGs of one page would get into each other's way.
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="" src="data:image/svg+xml;base64,{data}">'


def picture(record: Record, kind: str, options: dict[str, Any]) -> Picture:
    """The plot `kind` of a run.

    Args:
      options: `width` in inches, `title`, `steps` (numbers), `baseline` (runs to compare with).

    Raises:
      UsageError: no such kind or option, or matplotlib is not installed.
      RunError: the run has not recorded what the kind shows.
    """
    if kind not in KINDS:
        raise UsageError(f"there is no plot {kind!r}; the kinds are {alternatives(KINDS)}")
    unknown = sorted(options.keys() - {"width", "title", "steps", "baseline"})
    if unknown:
        raise UsageError(f"plot has no option {unknown[0]}; it has width, title, steps, baseline")
    baseline = tuple(read_record(Path(run)) for run in options.pop("baseline", ()))
    chosen = {"width": KINDS[kind].width, "baseline": baseline, **options}
    with style.styled():
        return Picture(draw(kind, [record], Options(**chosen)))
