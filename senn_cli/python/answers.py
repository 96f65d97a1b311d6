"""A network's answers to what a user has in Python."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from senn_cli.data import asked
from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.python import ArgumentError
from senn_cli.errors import DataError
from senn_cli.use.examples import as_examples


def examples_of(x: Any, how: Preprocessing) -> Array:
    """Examples of a run; columns of frames are found by the names that the run's own had.

    Raises:
      ArgumentError: what cannot be examples of this run.
    """
    if how.encoding is None and isinstance(x, np.ndarray) and x.dtype.kind == "O":
        with contextlib.suppress(TypeError, ValueError):  # numbers as objects
            x = x.astype(np.float64)
    try:
        found, _ = asked.examples_of(x, how, "X")
        return as_examples(found, how, "X")
    except DataError as error:
        raise ArgumentError(error.message, hint=error.hint) from error


def labels_of(answers: Array, how: Preprocessing) -> Array:
    """What is predicted: a class of every example, labels as 0 and 1, or values.

    Args:
      answers: probabilities `(N, classes)`, or predictions `(N, k)`.

    Returns:
      Classes `(N,)`, whole numbers where all names are, else texts; labels uint8 `(N, k)`; values
      `(N,)` or `(N, k)`.
    """
    if how.task == "classification":
        return np.asarray(names_of(how)[answers.argmax(axis=1)])
    if how.task == "multilabel":
        return (answers > 0.5).astype(np.uint8)
    return answers[:, 0] if answers.shape[1] == 1 else answers


def names_of(how: Preprocessing) -> Array:
    """The classes, as whole numbers where all their names are."""
    if how.classes and all(str(_whole(name)) == name for name in how.classes):
        return np.array([_whole(name) for name in how.classes])
    return np.array(how.classes)


def _whole(name: str) -> int | None:
    try:
        return int(name)
    except ValueError:
        return None
