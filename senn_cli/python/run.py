"""A run in Python: its files as data frames and pictures, its network as a function."""

from __future__ import annotations

import html
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senn_cli.cli.summary import result_rows
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import SennError, UsageError
from senn_cli.nets.tables import compact
from senn_cli.report.record import Record, read_record
from senn_cli.runs.directory import RunDirectory
from senn_cli.training import run as trained

if TYPE_CHECKING:
    import pandas
    from numpy.typing import NDArray

    from senn_cli.model import Model
    from senn_cli.python.pictures import Picture
    from senn_cli.use.exports import Exported


@dataclass(frozen=True, eq=False, repr=False)
class Run(trained.Run):
    """A run that has ended, or that was stopped; a path wherever one is asked for.

    Attributes:
      path: its directory.
      summary: the content of `summary.json`; for one that stopped, what is known so far.
      architecture: what it grew to.
      params: the parameters, NumPy arrays at the architecture's capacity.
    """

    @classmethod
    def of(cls, run: trained.Run) -> Run:
        """The same run with all that can be done with it."""
        return cls(run.path, run.summary, run.architecture, run.params)

    def __fspath__(self) -> str:
        """So that `senn_cli.resume`, `load` and `transfer` take a run for its directory."""
        return str(self.path)

    def __repr__(self) -> str:
        facts = ", ".join(f"{label}: {value}" for label, value in self._rows() if label != "run")
        return f"<Run {self.summary.get('name')}: {facts}>"

    @property
    def record(self) -> Record:
        """What its files tell, read now."""
        return read_record(self.path)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of metrics, one an evaluation: step, epoch, train_loss, hidden, ..."""
        return list(self.record.metrics)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The decisions of all growth rounds in their order, rejections with their reasons."""
        return list(self.record.history)

    @property
    def metrics(self) -> pandas.DataFrame:
        """`rows` as a data frame of pandas."""
        return _frame(self.rows, "metrics", "rows")

    @property
    def history(self) -> pandas.DataFrame:
        """`events` as a data frame of pandas."""
        return _frame(self.events, "history", "events")

    @cached_property
    def preprocessing(self) -> Preprocessing:
        """How examples become inputs, and outputs answers."""
        return Preprocessing.from_json(RunDirectory.open(self.path).preprocessing() or {})

    @cached_property
    def model(self) -> Model:
        """The network as it is in memory, spare capacity included."""
        from senn_cli.model import Model

        return Model(self.architecture, self.params, self.preprocessing)

    def predict(self, x: Any) -> NDArray[Any]:
        """Classes, labels as 0 and 1, or values of examples: arrays, frames, tensors, ...

        Raises:
          ArgumentError: what cannot be examples of this run.
        """
        from senn_cli.python.answers import labels_of

        return labels_of(self.answers(x), self.preprocessing)

    def predict_proba(self, x: Any) -> NDArray[Any]:
        """Probabilities `(N, classes)` of a classification, or of every label.

        Raises:
          UsageError: of a regression.
          ArgumentError: as `predict`.
        """
        if self.preprocessing.task == "regression":
            raise UsageError("a regression has no probabilities", hint="Call predict.")
        return self.answers(x)

    def answers(self, x: Any) -> NDArray[Any]:
        """What the network says: probabilities, or values `(N, k)` in the targets' units."""
        from senn_cli.python.answers import examples_of

        return self.model(examples_of(x, self.preprocessing))

    def plot(self, kind: str = "growth", **options: Any) -> Picture:
        """A picture, which a notebook shows; `.figure` is matplotlib's, `.save(path)` writes it.

        Args:
          kind: one of `senn plot --list`: growth, loss, scores, gains, seconds, widths, ...
          options: `width` in inches, `title`, `steps`, `baseline`.

        Raises:
          UsageError: no such kind or option, or matplotlib is not installed.
          RunError: the run has not recorded what the kind shows.
        """
        from senn_cli.python.pictures import picture

        return picture(self.record, kind, options)

    def report(self, output: str | Path | None = None) -> Path:
        """Writes the page of `senn report` and returns its path.

        Args:
          output: a file; `report.html` in the run's directory by default.
        """
        from senn_cli.cli.report import write_page
        from senn_cli.report.page.assemble import page

        path = self.path / "report.html" if output is None else Path(output)
        write_page(path, page([self.record], datetime.now().astimezone()))
        return path

    def export(
        self, kind: str, output: str | Path | None = None, *, replace: bool = False
    ) -> Exported:
        """Writes the network for other programs, as `senn export` does.

        Args:
          kind: the format, such as `onnx`, `safetensors`, `stablehlo`, `flax`.
          output: a directory or a file; `RUN/export/FORMAT` by default.
          replace: whether files that are there are replaced.

        Returns:
          What was written: `files`, the main one first, and how far it differs from the run.

        Raises:
          UsageError: no such format, a file is in the way, or a package is not installed.
          RunError: it cannot be written, or differs from the run.
        """
        from senn_cli.model import Model
        from senn_cli.use.exports import FORMATS, export_model

        if kind not in FORMATS:
            raise UsageError(f"there is no format {kind!r}; there are {', '.join(FORMATS)}")
        small = Model(
            self.architecture.compact(), compact(self.params, self.architecture), self.preprocessing
        )
        place = self.path / "export" / kind if output is None else Path(output)
        return export_model(small, str(self.summary.get("name")), kind, place, replace=replace)

    def _rows(self) -> list[tuple[str, str]]:
        return [row for row in result_rows(self.summary) if row[0] != "compilations"]

    def _repr_html_(self) -> str:
        """The summary as a table, and the picture of growth where it can be drawn."""
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for label, value in self._rows()
        )
        try:
            drawn = self.plot("growth")._repr_html_()
        except SennError as error:  # no hidden layer up to now, or no matplotlib
            drawn = f"<p>{html.escape(error.message)}</p>"
        return f"<table>{cells}</table>{drawn}"


def _frame(rows: list[dict[str, Any]], name: str, plain: str) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            f"run.{name} is a data frame and needs pandas, which cannot be imported ({error})",
            title="Not installed",
            hint=f"Run `pip install pandas`; run.{plain} is the same as a list of mappings.",
        ) from error
    return pandas.DataFrame(rows)
