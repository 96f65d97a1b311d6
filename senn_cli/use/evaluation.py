"""A run's network measured on a part of its own data, or of another spec's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Dataset, Part
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.registry import load
from senn_cli.engine.objective import REGRESSION, Objective, objective_of
from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.model import Model, load_model
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.imported import DATA
from senn_cli.runs.network import place_of
from senn_cli.spec import DataSpec, load_spec
from senn_cli.spec.data import NpzSpec
from senn_cli.spec.tables import CsvSpec, TableSpec
from senn_cli.use.measures import (
    Classification,
    Multilabel,
    Regression,
    classification,
    multilabel,
    regression,
)
from senn_cli.use.shown import shown
from senn_cli.use.table_files import encoding_of, target_names
from senn_cli.words import plural

Measures = Classification | Multilabel | Regression

# Overrides that say where the same data lie; others may move examples between the parts.
_PLACES = ("data.root", "data.path", "data.test_path")


@dataclass(frozen=True)
class Evaluation:
    """What was measured on what.

    Attributes:
      data: the spec that the data come from.
      split: the part: train, validation or test.
      measures: the figures.
      notes: what to know before trusting them, as sentences.
      shown: examples with their answers, see `shown.py`.
      own: whether it is a run's final network on the run's own data.
    """

    data: Path
    split: str
    measures: Measures
    notes: tuple[str, ...]
    shown: dict[str, Any] = field(default_factory=dict)
    own: bool = False


def evaluate_run(
    run: Path, data: Path | None = None, split: str = "test", overrides: Sequence[str] = ()
) -> Evaluation:
    """Measures a run's network, the final one or a checkpoint's; inputs are scaled as the run's.

    Args:
      run: its directory, or a checkpoint in it, see `load_model`.
      data: a spec whose `data` section is used instead of the run's; its classes must be among the
        run's (they are matched by name), its examples of the run's shape and type.
      split: train, validation or test.
      overrides: `data.key=value`, as `--set` takes them.

    Raises:
      RunError: no finished run, or its files are damaged.
      UsageError: an override of something else than the data, no such part, or an imported
        network without data.
      SpecError, DataError: a spec or data that cannot be loaded, or that do not fit the run.
    """
    for text in overrides:
        if text.partition("=")[0].split(".")[0].strip() != "data":
            raise UsageError(
                f"--set {text}: only the data can be changed here, by data.key=value",
                hint="The network is the run's. Another spec's data are taken by --data SPEC.",
            )
    model = load_model(run)
    own = RunDirectory.open(place_of(run).run).spec_path
    file = data if data is not None else own
    spec = load_spec(file, overrides)
    if data is None:
        _require_data(run, spec.data)
    whole = spec if data is None else load_spec(own)
    trained = whole.data
    how, encoding = model.preprocessing, None
    tables = isinstance(trained, CsvSpec) or how.encoding is not None
    if isinstance(spec.data, TableSpec) and tables:  # it is read as the run's table was
        encoding = encoding_of(how, trained)
    dataset = load(spec, encoding)
    part = dataset.parts.get(split)
    if part is None:
        raise UsageError(
            f"the data of {file} have no {split} part, only {' and '.join(dataset.parts)}",
            hint="Name one of them with --split.",
        )
    part = fitted(part, dataset, how, str(file))
    notes = dataset.notes if data is not None else _notes(dataset, how, overrides)
    outputs = finite_outputs(model, part)
    names = _targets(spec.data, how, outputs.shape[1])
    objective = objective_of(whole) if how.task == "regression" else REGRESSION
    measures = measure(how, outputs, part, names, objective)
    final = data is None and not notes and place_of(run).step is None
    return Evaluation(file, split, measures, notes, shown(how, outputs, part, names), final)


def _require_data(run: Path, data: DataSpec) -> None:
    """UsageError where an imported network has no data, which only its user knows."""
    expected = run.absolute() / DATA
    if not isinstance(data, NpzSpec) or data.path != expected or expected.exists():
        return
    raise UsageError(
        f"{run} was imported, so that nothing tells what to evaluate it on",
        hint="Name data with --data SPEC, a file with a line such as `data: {source: npz, path: "
        f"test.npz, test: 0.9}}`, or put the arrays x and y into {expected}.",
    )


def finite_outputs(model: Model, part: Part) -> Array:
    """The network's outputs `(N, k)`.

    Raises:
      RunError: the network yields numbers that are not finite.
    """
    outputs = model.outputs(part.x)
    bad = int((~np.isfinite(outputs).all(axis=1)).sum())
    if bad:
        raise RunError(f"the network's outputs are not finite for {bad} of {len(part)} examples")
    return outputs


def measure(
    how: Preprocessing,
    outputs: Array,
    part: Part,
    targets: Sequence[str],
    objective: Objective = REGRESSION,
) -> Measures:
    """The figures of a network's outputs for `part`, whose labels are the run's.

    Args:
      targets: names of the targets of a regression.
      objective: of a regression, what the network was trained on.
    """
    if how.task == "classification":
        return classification(outputs, part.y, how.classes)
    if how.task == "multilabel":
        return multilabel(outputs, part.y, how.classes)
    return regression(outputs, part.y, how.target_shift, how.target_scale, targets, objective)


def _targets(data: DataSpec, how: Preprocessing, count: int) -> tuple[str, ...]:
    """The names of the targets; numbers from 1 where there are none."""
    names = target_names(data, how)
    return names if names is not None and len(names) == count else _numbers(count)


def fitted(part: Part, dataset: Dataset, how: Preprocessing, where: str) -> Part:
    """`part` as examples of the run: of its shape, with its class numbers.

    Args:
      part: of `dataset`.
      how: the run's preprocessing.
      where: how to call the data in an error.

    Raises:
      DataError: another task, shape or type, a class that the run doesn't know, or another number
        of targets.
    """
    if dataset.task != how.task:
        raise DataError(f"{where}: the data are a {dataset.task}, but the run a {how.task}")
    shape = part.x.shape[1:]
    if _without_channel(shape) != _without_channel(how.shape):
        raise DataError(
            f"{where}: one example has the shape {shape}, but the run's have {how.shape}"
        )
    if (part.x.dtype == np.uint8) != (how.dtype == "uint8"):
        raise DataError(
            f"{where}: the inputs are {part.x.dtype}, but the run's are {how.dtype}",
            hint="Store both alike, so that both have the same range of values.",
        )
    x = np.asarray(part.x).reshape(len(part), *how.shape)
    if dataset.task == "regression":
        if dataset.outputs != len(how.target_shift):
            raise DataError(
                f"{where}: {plural(dataset.outputs, 'target')} an example, but the run has "
                f"{len(how.target_shift)}"
            )
        return replace(part, x=x)
    unknown = [name for name in dataset.classes if name not in how.classes]
    if unknown:
        raise DataError(
            f"{where}: the run does not know {_some(unknown)}; its classes are {_some(how.classes)}"
        )
    if dataset.task == "multilabel":
        columns = np.zeros((len(part), len(how.classes)), part.y.dtype)
        columns[:, [how.classes.index(name) for name in dataset.classes]] = part.y
        return replace(part, x=x, y=columns)
    numbers = np.array([how.classes.index(name) for name in dataset.classes], np.int32)
    return replace(part, x=x, y=numbers[part.y])


def _notes(dataset: Dataset, how: Preprocessing, overrides: Sequence[str]) -> tuple[str, ...]:
    found = []
    moved = [text for text in overrides if text.partition("=")[0].strip() not in _PLACES]
    if moved:
        found.append(
            f"with {' '.join(moved)} the parts may differ from the run's, so that examples which "
            "it was trained on may be among these"
        )
    elif not (_same(dataset.shift, how.shift) and _same(dataset.scale, how.scale)):
        found.append("the data are not those of the run: their scaling would be another one")
    return tuple(found)


def _same(ours: Array, theirs: Array) -> bool:
    return ours.shape == theirs.shape and bool(np.allclose(ours, theirs, rtol=1e-5))


def _without_channel(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[:-1] if len(shape) == 3 and shape[-1] == 1 else shape


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(str(i) for i in range(1, count + 1))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
