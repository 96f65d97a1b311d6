"""The runs in a directory, a row each, from few bytes: summaries, and the last rows where none is.

Hundreds of runs are listed at once, so whole histories are never read. What is wrong with a run is
told in its row.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from senn_cli.errors import RunError, SennError
from senn_cli.report.record import Status, is_live, plain_spec, run_of, status_of
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.jsonl import last_row
from senn_cli.runs.rows import check_event, check_metric

FORMAT = 1
"""Version of the JSON document; a change of what a key means would raise it."""

ListedStatus = Literal[Status, "damaged"]
Figure = Literal["accuracy", "mse"]
FIGURES: tuple[Figure, ...] = get_args(Figure)
"""What is measured beside the loss."""

SORTS = ("started", "name", "status", "steps", "parameters", "result", "seconds")
"""What rows can be ordered by."""


@dataclass(frozen=True)
class Listed:
    """A run in a list; None is what its files do not tell.

    Attributes:
      path: its directory, absolute.
      directory: the same as seen from the directory that is listed.
      status: as of a `Record`, or `damaged`.
      name, policy, seed: of its spec.
      started: when it was started or last resumed, ISO 8601 with the time zone.
      steps: trained so far.
      total_steps: the length that the spec gives it.
      epochs: trained so far.
      hidden: neurons in use, a number a hidden layer.
      parameters: in use.
      events: growth events that were accepted; known at the end.
      figure, part, value: the result, of the test part or else the last of the validation part.
      seconds: spent so far.
      problem: what is wrong with a damaged run.
    """

    path: Path
    directory: str
    status: ListedStatus
    name: str | None = None
    policy: str | None = None
    seed: int | None = None
    started: str | None = None
    steps: int | None = None
    total_steps: int | None = None
    epochs: float | None = None
    hidden: tuple[int, ...] | None = None
    parameters: int | None = None
    events: int | None = None
    figure: Figure | None = None
    part: Literal["test", "validation"] | None = None
    value: float | None = None
    seconds: float | None = None
    problem: str | None = None


def find_runs(root: Path) -> list[Path]:
    """The run directories in `root` and in the folders in it, by name; or `root`, if it is one.

    A folder that cannot be read is among them, so that it is not passed over in silence.

    Raises:
      RunError: `root` cannot be read.
    """
    root = root.absolute()
    try:
        names, folders = _entries(root)
    except OSError as error:
        raise RunError(f"{root} cannot be read: {error.strerror or error}") from error
    if _is_run(names):
        return [root]
    found = []
    for folder in folders:
        try:
            names, inner = _entries(folder)
            deeper = [] if _is_run(names) else [path for path in inner if _holds_run(path)]
        except OSError:
            found.append(folder)
            continue
        found += [folder] if _is_run(names) else deeper
    return found


def runs_in(path: Path) -> list[Path] | None:
    """The runs in a folder that stands for them, by name; None where `path` is not such a folder.

    It is not where it is a run or belongs to one, or is no directory.

    Raises:
      RunError: it cannot be read.
      UsageError: it names a checkpoint that is not there.
    """
    run, _ = run_of(path)
    return None if (run / "spec.yaml").is_file() or not run.is_dir() else find_runs(run)


def list_runs(root: Path) -> list[Listed]:
    """All runs that `find_runs` finds in `root`, read."""
    root = root.absolute()
    return [read_listed(path, _seen_from(root, path)) for path in find_runs(root)]


def read_listed(path: Path, directory: str) -> Listed:
    """The row of the run in `path`; raises nothing, a fault is told in the row.

    A finished run is read from its summary alone, so damage in other files goes unnoticed here.
    """
    try:
        return _read(RunDirectory.open(path), directory)
    except SennError as error:
        return Listed(path, directory, "damaged", problem=error.message)
    except OSError as error:
        told = f"{path} cannot be read: {error.strerror or error}"
        return Listed(path, directory, "damaged", problem=told)


def ordered(rows: Iterable[Listed], by: str = "started", *, reverse: bool = False) -> list[Listed]:
    """Rows by one of `SORTS`: the newest, the largest or the best first, texts by the alphabet.

    Rows that lack the value come last in any case. Of results, accuracies come before errors.
    """
    rows = sorted(rows, key=lambda row: row.directory)
    known = [row for row in rows if _key(row, by) is not None]
    known.sort(key=lambda row: _key(row, by), reverse=reverse)
    return known + [row for row in rows if _key(row, by) is None]


def document(root: Path, rows: Iterable[Listed]) -> dict[str, Any]:
    """What `senn runs --json` prints: `format`, `root` and `runs`, each the attributes of a row."""
    return {"format": FORMAT, "root": str(root.absolute()), "runs": [asdict(row) for row in rows]}


def _read(run: RunDirectory, directory: str) -> Listed:
    live = is_live(run)  # asked first: what a run writes as it ends is then read, too
    summary = run.summary()
    status, known = status_of(live, summary), summary or {}
    spec: dict[str, Any] = {}
    row: dict[str, Any] = {}
    event: dict[str, Any] = {}
    if status != "finished":
        spec = plain_spec(run.spec_path)
        row = last_row(run.metrics_path, check_metric) or {}
        event = last_row(run.history_path, check_event) or {}
    # Of one step, growth comes after the evaluation.
    newest = max((event, row), key=lambda found: int(found.get("step", -1)))
    figure, part, value = _result(known, row)
    steps = known.get("steps", newest.get("step"))
    seconds = (known.get("seconds") or {}).get("total", row.get("seconds"))
    hidden = known.get("hidden", newest.get("hidden"))
    return Listed(
        path=run.path,
        directory=directory,
        status=status,
        name=_text(known.get("name", spec.get("name"))),
        policy=_text(known.get("policy", (spec.get("expansion") or {}).get("policy"))),
        seed=_whole(known.get("seed", spec.get("seed"))),
        started=_text((run.environment() or {}).get("time")),
        steps=_whole(steps),
        total_steps=_whole(steps) if status == "finished" else _total(spec, row),
        epochs=_real(known.get("epochs", newest.get("epoch"))),
        hidden=None if hidden is None else tuple(int(width) for width in hidden),
        parameters=_whole(known.get("parameters", newest.get("parameters"))),
        events=_whole(known.get("events")),
        figure=figure,
        part=part,
        value=value,
        seconds=_real(seconds),
    )


def _result(
    summary: Mapping[str, Any], row: Mapping[str, Any]
) -> tuple[Figure | None, Literal["test", "validation"] | None, float | None]:
    for figure in FIGURES:
        if f"test_{figure}" in summary:
            return figure, "test", _real(summary[f"test_{figure}"])
    for figure in FIGURES:
        if f"validation_{figure}" in row:
            return figure, "validation", _real(row[f"validation_{figure}"])
    return None, None, None


def _total(spec: Mapping[str, Any], row: Mapping[str, Any]) -> int | None:
    """The steps of the whole run; of epochs only known when a row tells how long they are."""
    training = spec.get("training") or {}
    if training.get("steps") is not None:
        return _whole(training["steps"])
    if training.get("epochs") is None or not row.get("epoch"):
        return None
    per_epoch = round(float(row["step"]) / float(row["epoch"]))
    return max(1, round(float(training["epochs"]) * per_epoch))


def _key(row: Listed, by: str) -> Any:
    """What a row is ordered by, ascending; None where it is not known."""
    if by == "started":
        moment = _moment(row.started)
        return None if moment is None else -moment
    if by == "name":
        return None if row.name is None else row.name.casefold()
    if by == "status":
        return row.status
    if by == "result":
        if row.value is None or row.figure is None:
            return None
        better = -row.value if row.figure == "accuracy" else row.value
        return (FIGURES.index(row.figure), better)
    value = getattr(row, by)
    return None if value is None else -value


def _moment(started: str | None) -> float | None:
    """A point in time as seconds."""
    from datetime import datetime

    try:
        return None if started is None else datetime.fromisoformat(started).timestamp()
    except (ValueError, OverflowError):
        return None


def _entries(folder: Path) -> tuple[set[str], list[Path]]:
    """The names in a folder, and the folders among them in order; hidden ones are left out."""
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if not entry.name.startswith(".")]
    folders = sorted(entry.path for entry in found if entry.is_dir())
    return {entry.name for entry in found}, [Path(path) for path in folders]


def _is_run(names: set[str]) -> bool:
    # The second is a run whose spec has been lost.
    return "spec.yaml" in names or {"metrics.jsonl", "environment.json"} <= names


def _holds_run(folder: Path) -> bool:
    try:
        return _is_run(_entries(folder)[0])
    except OSError:
        return True


def _seen_from(root: Path, path: Path) -> str:
    return path.name if path == root else str(path.relative_to(root))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _real(value: Any) -> float | None:
    """A finite number; what is not finite was not measured."""
    found = None if value is None else float(value)
    return found if found is not None and math.isfinite(found) else None
