"""The answers of a run's network to files, as a table in CSV."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError
from senn_cli.model import load_model
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.network import place_of
from senn_cli.spec import load_spec
from senn_cli.use.inputs import read_inputs
from senn_cli.use.table_files import target_names


@dataclass(frozen=True)
class Predictions:
    """Answers with where their examples came from.

    Attributes:
      preprocessing: of the run.
      targets: names of the columns of answers: targets or labels; empty for a classification.
      names: the file of every example.
      rows: its number within the file, from 0.
      answers: probabilities `(N, classes)`, or values `(N, targets)` in the targets' units.
      notes: what to know about the inputs, as sentences.
    """

    preprocessing: Preprocessing
    targets: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[int, ...]
    answers: Array
    notes: tuple[str, ...] = ()


def predict_files(run: Path, inputs: Sequence[Path], array: str | None = None) -> Predictions:
    """The answers of a run's network, the final one or a checkpoint's, to files and folders.

    Args:
      run: its directory, or a checkpoint in it, see `load_model`.
      inputs: see `senn_cli.use.inputs`.
      array: the name of the array in archives.

    Raises:
      RunError: no finished run, its files are damaged, or an answer is not finite.
      UsageError, DataError: inputs that cannot be read or do not fit the run.
    """
    model = load_model(run)
    data = load_spec(RunDirectory.open(place_of(run).run).spec_path).data
    names: list[str] = []
    rows: list[int] = []
    notes: list[str] = []
    answers = [np.zeros((0, model.architecture.outputs), np.float32)]
    for given in read_inputs(inputs, model.preprocessing, data, array):
        names += given.names
        rows += given.rows
        notes += given.notes
        answers.append(model(given.x))
    found = np.concatenate(answers)
    bad = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(bad):
        first = int(bad[0])
        raise RunError(
            f"the network's answer to {names[first]}, row {rows[first]}, is not finite "
            f"({len(bad)} of {len(found)})"
        )
    targets: tuple[str, ...] = ()
    if model.preprocessing.task == "regression":
        count = model.architecture.outputs
        targets = target_names(data, model.preprocessing) or _numbered(count)
    how = model.preprocessing
    if how.task == "multilabel":
        targets = how.classes
    return Predictions(how, targets, tuple(names), tuple(rows), found, tuple(notes))


def as_csv(predictions: Predictions, *, probabilities: bool = False) -> str:
    """A header, and a row for every example: its file, its number within it, and the answer.

    The answer is the most probable class and its probability, the probability of every label, or
    the value of every target.

    Args:
      probabilities: with a column `p_<class>` for every class.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    classes = predictions.preprocessing.classes
    if predictions.preprocessing.task == "classification":
        head = ["class", "probability"]
        head += [f"p_{name}" for name in classes] if probabilities else []
    else:
        head = list(predictions.targets)
    writer.writerow(["input", "row", *head])
    for name, row, answer in zip(
        predictions.names, predictions.rows, predictions.answers, strict=True
    ):
        cells = _written(answer, predictions.preprocessing)
        if predictions.preprocessing.task == "classification":
            best = int(answer.argmax())
            cells = [classes[best], cells[best], *(cells if probabilities else [])]
        writer.writerow([_decodable(name), str(row), *cells])
    return text.getvalue()


def _written(answer: Array, how: Preprocessing) -> list[str]:
    """The shortest texts that tell the network's outputs, which are float32, from all others."""
    if answer.dtype == np.float32:
        return [str(value) for value in answer]
    outputs = ((answer - how.target_shift) * how.target_scale).astype(np.float32)
    steps = np.spacing(np.abs(outputs)).astype(np.float64) / how.target_scale
    decimals = np.ceil(-np.log10(steps)).astype(int)
    return [
        repr(round(float(value), int(places)))
        for value, places in zip(answer, decimals, strict=True)
    ]


def _decodable(name: str) -> str:
    """A file's name as UTF-8 can hold it: bytes that are no text are written as escapes."""
    return os.fsencode(name).decode("utf-8", errors="backslashreplace")


def _numbered(count: int) -> tuple[str, ...]:
    return ("prediction",) if count == 1 else tuple(f"prediction_{i + 1}" for i in range(count))
