"""The run directory: one place for all that a run leaves behind.

| file | content |
|---|---|
| `spec.yaml` | the resolved spec with every default; it can be run again as it is |
| `environment.json` | versions, devices, commit, command |
| `preprocessing.json` | how examples become network inputs, and outputs answers |
| `transfer.json` | where a transferred network came from, and what became of its arrays |
| `metrics.jsonl` | one row an evaluation |
| `history.jsonl` | one growth event a line, rejections included |
| `summary.json` | the result, written once at the end |
| `resumed.jsonl` | one line a resumption: when, from which step, with which changes |
| `spec-1.yaml`, ... | the specs before such changes |
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError, UsageError
from senn_cli.runs import rows
from senn_cli.runs.files import write_atomic
from senn_cli.runs.free import require_free, taken
from senn_cli.runs.jsonl import append_row, cut_at, dumps, read_rows
from senn_cli.runs.names import stamped
from senn_cli.words import quoted

_ATTEMPTS = 100


def how_to_go_on(path: Path) -> str:
    """The command that goes on with the run in `path`, or what is missing for it to work."""
    if not (path / "spec.yaml").is_file():
        where = quoted(path / "spec.yaml")
        return (
            f"{path / 'spec.yaml'} is missing, without which nothing can go on. Put it back with "
            f"`senn train SPEC --print-spec > {where}`, then: senn resume {quoted(path)}"
        )
    return f"Go on with: senn resume {quoted(path)}"


@dataclass(frozen=True)
class RunDirectory:
    """A run's directory and the files in it; makes nothing by itself (see `create` and `at`).

    Attributes:
      path: the absolute path of the directory.

    Every method that writes raises `RunError` where the disk is full or not writable, and every
    method that reads raises it where a file is damaged; the message names the file.
    """

    path: Path

    @classmethod
    def create(cls, root: Path, name: str) -> RunDirectory:
        """Makes `root/<name>-<YYYYmmdd-HHMMSS>-<6 hex digits>/`, which no other run has.

        The directory is made by a call that fails where it exists, so that runs which start at
        the same second never share one.

        Raises:
          RunError: `root` cannot be written.
        """
        root = root.absolute()
        try:
            root.mkdir(parents=True, exist_ok=True)
            for _ in range(_ATTEMPTS):
                path = root / stamped(name)
                try:
                    path.mkdir()
                except FileExistsError:
                    continue
                return cls(path)._claim()
        except OSError as error:
            raise RunError(
                f"no run directory can be made in {root}: {error.strerror or error}",
                hint="Choose another place with --run-dir.",
            ) from error
        raise RunError(f"no free name for a run directory was found in {root}")

    @classmethod
    def at(cls, path: Path) -> RunDirectory:
        """Takes the directory that the user named with `--run-dir`.

        Raises:
          UsageError: it is a file, or a directory with something in it.
          RunError: it cannot be written.
        """
        path = path.absolute()
        require_free(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            return cls(path)._claim()
        except (FileExistsError, NotADirectoryError) as error:
            raise taken(path) from error
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from error

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Opens the directory of a run that was started before.

        Raises:
          UsageError: there is no such directory, or it holds no `spec.yaml`.
        """
        run = cls(path.absolute())
        if not run.spec_path.is_file():
            what = f"holds no {run.spec_path.name}" if path.is_dir() else "does not exist"
            raise UsageError(
                f"{run.path} is not a run directory: it {what}.",
                hint="`senn runs` lists the runs that there are.",
            )
        return run

    def _claim(self) -> RunDirectory:
        # Of two processes that found the directory empty, only one can make this file.
        self.metrics_path.open("xb").close()
        return self

    @property
    def spec_path(self) -> Path:
        """The resolved spec."""
        return self.path / "spec.yaml"

    @property
    def environment_path(self) -> Path:
        """The surroundings of the run."""
        return self.path / "environment.json"

    @property
    def preprocessing_path(self) -> Path:
        """How the network is fed."""
        return self.path / "preprocessing.json"

    @property
    def metrics_path(self) -> Path:
        """The metrics, one JSON object a line."""
        return self.path / "metrics.jsonl"

    @property
    def history_path(self) -> Path:
        """The growth events, one JSON object a line."""
        return self.path / "history.jsonl"

    @property
    def summary_path(self) -> Path:
        """The result."""
        return self.path / "summary.json"

    @property
    def resumed_path(self) -> Path:
        """The resumptions, one JSON object a line."""
        return self.path / "resumed.jsonl"

    def write_spec(self, text: str) -> None:
        """Writes the resolved spec, a YAML text."""
        self._replace(self.spec_path, text)

    def write_environment(self, environment: Mapping[str, Any]) -> None:
        """Writes what `senn_cli.runs.environment` and the caller know of the surroundings."""
        self._replace(self.environment_path, dumps(environment, indent=2) + "\n")

    def write_preprocessing(self, preprocessing: Mapping[str, Any]) -> None:
        """Writes how the network is fed, which does not change during a run."""
        self._replace(self.preprocessing_path, dumps(preprocessing, indent=None) + "\n")

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Writes the result of the run."""
        self._replace(self.summary_path, dumps(summary, indent=2) + "\n")

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Appends one row of metrics."""
        self._guarded(self.metrics_path, lambda path: append_row(path, row))

    def append_history(self, event: Mapping[str, Any]) -> None:
        """Appends one growth event."""
        self._guarded(self.history_path, lambda path: append_row(path, event))

    def append_resumed(self, row: Mapping[str, Any]) -> None:
        """Appends one resumption."""
        self._guarded(self.resumed_path, lambda path: append_row(path, row))

    def keep_spec(self) -> None:
        """Copies the spec, which is about to be replaced, to the first free `spec-<n>.yaml`."""
        number = 1
        while (old := self.path / f"spec-{number}.yaml").exists():
            number += 1
        self._guarded(old, lambda path: shutil.copy2(self.spec_path, path))

    def remove_summary(self) -> None:
        """Removes the result, if there is one: the run goes on."""
        self._guarded(self.summary_path, lambda path: path.unlink(missing_ok=True))

    def sizes(self) -> dict[str, int]:
        """The bytes of `metrics` and `history`, which are on the disk when this returns."""
        found = {}
        for name, path in (("metrics", self.metrics_path), ("history", self.history_path)):
            try:
                with path.open("rb") as file:
                    os.fsync(file.fileno())
                found[name] = path.stat().st_size
            except FileNotFoundError:
                found[name] = 0
            except OSError as error:
                raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
        return found

    def cut(self, metrics_bytes: int, history_bytes: int) -> None:
        """Moves what lies behind these sizes into `metrics.cut.jsonl` and `history.cut.jsonl`.

        Raises:
          RunError: a file is shorter than that, or cannot be written.
        """
        for path, size in ((self.metrics_path, metrics_bytes), (self.history_path, history_bytes)):
            try:
                cut_at(path, size, path.with_name(path.stem + ".cut.jsonl"))
            except OSError as error:
                raise RunError(f"{path} cannot be cut: {error.strerror or error}") from error

    def metrics(self) -> list[dict[str, Any]]:
        """All rows of metrics in order, as `rows.METRICS` has them; a torn line is left out."""
        found = read_rows(self.metrics_path)
        rows.check_metrics(self.metrics_path, found)
        return found

    def history(self) -> list[dict[str, Any]]:
        """All growth events in order, as `rows.HISTORY` has them; a torn line is left out."""
        found = read_rows(self.history_path)
        rows.check_history(self.history_path, found)
        return found

    def resumptions(self) -> list[dict[str, Any]]:
        """All resumptions in order."""
        found = read_rows(self.resumed_path)
        for number, row in enumerate(found, start=1):
            rows.check(f"{self.resumed_path}:{number}", row, rows.RESUMED)
        return found

    def summary(self) -> dict[str, Any] | None:
        """The result, or None while the run has none."""
        return self._object(self.summary_path, rows.SUMMARY)

    def environment(self) -> dict[str, Any] | None:
        """The surroundings, or None where they were not written."""
        return self._object(self.environment_path, rows.ENVIRONMENT)

    def preprocessing(self) -> dict[str, Any] | None:
        """How the network is fed, or None where it was not written."""
        return self._object(self.preprocessing_path, {})

    def _replace(self, path: Path, text: str) -> None:
        self._guarded(path, lambda path: write_atomic(path, text))

    def _guarded(self, path: Path, write: Callable[[Path], object]) -> None:
        try:
            write(path)
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from error

    def _object(self, path: Path, fields: Mapping[str, rows.Kind]) -> dict[str, Any] | None:
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RunError(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path} is damaged: {error}") from error
        if not isinstance(value, dict):
            raise RunError(f"{path} is damaged: expected a JSON object.")
        rows.check(str(path), value, fields)
        return value
