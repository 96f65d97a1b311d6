"""Arrays of inputs and targets, a part each, as a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from senn_cli.data.dataset import Array, Part, Source, Task
from senn_cli.data.targets import (
    as_flags,
    as_labels,
    as_numbers,
    as_weights,
    class_names,
    class_numbers,
)
from senn_cli.errors import DataError
from senn_cli.words import plural


@dataclass(frozen=True)
class Arrays:
    """The arrays of one part as they were found.

    Attributes:
      name: what they are from, in a sentence.
      x: inputs, `(N, *shape)` or `(N,)` for a single feature.
      y: labels `(N,)`, values `(N,)` or `(N, k)`, or 0 and 1 `(N, k)`.
      weights: `(N,)`; None where all examples count alike.
      inputs, targets, counts: how to call each of them.
    """

    name: str
    x: Array
    y: Array
    weights: Array | None = None
    inputs: str = "the inputs"
    targets: str = "the targets"
    counts: str = "the weights"


def source_of(
    name: str, task: Task, parts: Mapping[str, Arrays], labels: Sequence[str] = ()
) -> Source:
    """The parts `train`, and perhaps `validation` and `test`, checked and joined.

    Args:
      name: of the source in a spec.
      task: what the targets are.
      parts: in an order that does not change, as examples are numbered in it.
      labels: of several labels their names; by default numbers from 1.

    Returns:
      Inputs uint8 as they are, all other real numbers as `as_numbers` keeps them. Classes are the
      sorted labels of all parts.

    Raises:
      DataError: lengths or shapes that do not agree, values that are not finite, other targets than
        the task has.
    """
    checked = {part: _checked(arrays, task) for part, arrays in parts.items()}
    checked = _of_one_type(checked, task)
    names: tuple[str, ...] = ()
    ys = {part: arrays.y for part, arrays in checked.items()}
    if task == "classification":
        known, names = class_names(*ys.values())
        ys = {part: class_numbers(y, known) for part, y in ys.items()}
    elif task == "multilabel":
        count = ys["train"].shape[1]
        names = tuple(labels) if labels else tuple(str(n) for n in range(1, count + 1))
    made, first = {}, 0
    for part, arrays in checked.items():
        ids = np.arange(first, first + len(arrays.x), dtype=np.int64)
        made[part] = Part(arrays.x, ys[part], ids, arrays.weights)
        first += len(arrays.x)
    return Source(
        name=name,
        task=task,
        train=made["train"],
        test=made.get("test"),
        classes=names,
        validation=made.get("validation"),
    )


def _checked(arrays: Arrays, task: Task) -> Arrays:
    x_name, y_name, w_name = (
        f"{arrays.name}, {what}" for what in (arrays.inputs, arrays.targets, arrays.counts)
    )
    x, y, weights = arrays.x, arrays.y, arrays.weights
    for what, array in ((x_name, x), (y_name, y), (w_name, weights)):
        if array is not None and array.ndim == 0:
            raise DataError(f"{what}: a single value instead of one entry an example")
        if array is not None and len(array) != len(x):
            raise DataError(
                f"{x_name} has {plural(len(x), 'example')}, but {what} has {len(array)}"
            )
    if x.size == 0:
        raise DataError(f"{x_name} is empty: its shape is {x.shape}")
    x = x if x.dtype == np.uint8 else as_numbers(x, x_name)
    x = x[:, None] if x.ndim == 1 else x
    if weights is not None:
        if weights.ndim != 1 or weights.dtype.kind not in "biuf":
            raise DataError(
                f"{w_name}: expected numbers of the shape (N,), found {weights.dtype} of the "
                f"shape {weights.shape}"
            )
        weights = as_weights(weights, w_name)
    return replace(arrays, x=x, y=_answers(y, y_name, task), weights=weights)


def _answers(y: Array, what: str, task: Task) -> Array:
    if task == "classification":
        return as_labels(y, what)
    if task == "multilabel":
        return as_flags(y, what)
    if y.ndim > 2 or y.size == 0:
        raise DataError(f"{what}: values must have shape (N,) or (N, k), not {y.shape}")
    y = as_numbers(y, what)
    return y[:, None] if y.ndim == 1 else y


def _of_one_type(parts: dict[str, Arrays], task: Task) -> dict[str, Arrays]:
    """The parts with inputs and values of one type each.

    Raises:
      DataError: parts whose examples differ in shape, 8-bit numbers beside others, or labels of
        text beside numbers.
    """
    train, others = parts["train"], [a for part, a in parts.items() if part != "train"]
    for other in others:
        pairs = [("inputs", train.x, other.x)]
        pairs += [("targets", train.y, other.y)] if task != "classification" else []
        for what, ours, theirs in pairs:
            if ours.shape[1:] != theirs.shape[1:]:
                raise DataError(
                    f"{what} of one example have shape {ours.shape[1:]} in {train.name}, "
                    f"but {theirs.shape[1:]} in {other.name}"
                )
        if (train.x.dtype == np.uint8) != (other.x.dtype == np.uint8):
            raise DataError(
                f"inputs are {train.x.dtype} in {train.name}, but {other.x.dtype} in {other.name}",
                hint="store both alike, so that both have the same range of values",
            )
        texts = [arrays.y.dtype.kind == "U" for arrays in (train, other)]
        if task == "classification" and texts[0] != texts[1]:
            raise DataError(
                f"labels are text in one of {train.name} and {other.name}, numbers in the other"
            )
    wide_x = np.result_type(*(arrays.x for arrays in parts.values()))
    found = {
        part: replace(arrays, x=arrays.x.astype(wide_x, copy=False))
        for part, arrays in parts.items()
    }
    if task != "regression":
        return found
    wide_y = np.result_type(*(arrays.y for arrays in parts.values()))
    return {part: replace(a, y=a.y.astype(wide_y, copy=False)) for part, a in found.items()}
