"""From what a user has in Python to a run: the data go into the run's own directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from senn_cli.data.dataset import Task
from senn_cli.data.kept import keep
from senn_cli.data.python import ArgumentError, Given, given
from senn_cli.errors import SpecError
from senn_cli.python.run import Run
from senn_cli.runs.directory import RunDirectory
from senn_cli.spec.load import from_values, read_mapping
from senn_cli.training.observer import Observer
from senn_cli.training.run import train_run

MOST_CLASSES = 30
"""Whole numbers that are more than so many are values rather than classes, unless it is said."""

Section = Mapping[str, Any]


def fit_given(
    x: Any,
    y: Any = None,
    spec: Section | str | os.PathLike[str] | None = None,
    *,
    task: Task | None = None,
    sample_weight: Any = None,
    overrides: Sequence[str] = (),
    root: Path = Path("runs"),
    run_directory: Path | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Trains on `x` and `y` and leaves a run directory with them in it.

    Args:
      x, y, sample_weight: see `data.python.given`.
      spec: the rest of a spec, as a mapping or a YAML file: `data` may have all options but the
        source; `network` is an mlp unless it says otherwise.
      task: what `y` is; None to take it from there or, if nothing says it, from the values: text,
        booleans and few whole numbers are classes.
      overrides: as `--set` takes them.
      root, run_directory: as for `train_run`.
      observers: told of the run's moments, in this order.

    Raises:
      ArgumentError: what cannot be learned from.
      SennError: as `train_run`.
    """
    values = as_mapping(spec)
    own = _section(values.get("data", {}), "data")
    fills = own.get("missing", "refuse") not in ("refuse", "drop")
    named: Any = task or own.get("task")
    found = given(x, y, sample_weight, task=named, fills=fills)
    if named is None and found.y is not None:
        named = guessed_task(found)
        found = given(x, y, sample_weight, task=named, fills=fills)
    if found.y is None:
        raise ArgumentError("y is missing: fit needs the targets of the examples", hint="fit(X, y)")
    with _directory(root, run_directory, str(values.get("name", "fit"))) as directory:
        data = {**keep(found, directory.path, named), **own}
        network = _network(values.get("network", {}))
        whole = {"name": "fit", **values, "network": network, "data": data}
        loaded = from_values(whole, Path.cwd(), overrides)
        for one in observers:
            for note in found.notes:
                one.note(f"note: {note}")
        return Run.of(train_run(loaded, run_directory=directory, observers=observers))


def guessed_task(found: Given) -> Task:
    """What targets are by their type: text, booleans and a few whole numbers are classes."""
    y = found.y
    assert y is not None
    if y.ndim == 2 and y.shape[1] > 1:
        return "multilabel" if y.dtype.kind in "bu" else "regression"
    if y.dtype.kind in "bUS":
        return "classification"
    few = len(set(y.ravel()[:100_000].tolist())) <= MOST_CLASSES
    return "classification" if y.dtype.kind in "iu" and few else "regression"


def as_mapping(spec: Section | str | os.PathLike[str] | None) -> dict[str, Any]:
    """A spec without data as plain values.

    Raises:
      SpecError: a file that cannot be read, or is no mapping.
    """
    if spec is None:
        return {}
    return dict(spec) if isinstance(spec, Mapping) else read_mapping(spec)


def _network(section: Any) -> Any:
    """The section `network`, of an mlp where it does not say its kind."""
    if isinstance(section, str):
        return {"kind": section}
    return {"kind": "mlp", **section} if isinstance(section, Mapping) else section


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """`one` with what `other` says in its place; sections of both are merged in turn.

    A word is a section's kind: `{"optimizer": "adam"}` with `{"optimizer": {"learning_rate": 0.1}}`
    has both.
    """
    together = dict(one)
    for key, value in other.items():
        old = together.get(key)
        if isinstance(old, str) and isinstance(value, Mapping) and "kind" not in value:
            old = {"kind": old}
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        together[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return together


def _section(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or {"source", "path", "target"} & value.keys():
        raise SpecError(
            f"{name} of the spec names data, but X and y are given",
            hint=f"Leave {name}.source out; options such as {name}.validation and {name}.normalize "
            "may stay. Data of a spec are trained on by senn_cli.train(spec).",
        )
    return dict(value)


@contextmanager
def _directory(root: Path, path: Path | None, name: str) -> Iterator[RunDirectory]:
    """A new run directory, which goes again where no run comes of it."""
    made = RunDirectory.create(root, name) if path is None else RunDirectory.at(path)
    try:
        yield made
    except BaseException:
        if not made.spec_path.exists():
            shutil.rmtree(made.path, ignore_errors=True)
        raise
