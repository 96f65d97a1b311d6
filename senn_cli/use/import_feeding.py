"""How an imported network is fed, and how its answers are read, as a mapping says it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from senn_cli.data.dataset import Task
from senn_cli.data.encoding import Column, Encoding
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import UsageError
from senn_cli.model import mismatch
from senn_cli.nets.features import Architecture
from senn_cli.use.import_mapping import Mapping
from senn_cli.words import plural


def preprocessing_of(
    mapping: Mapping, architecture: Architecture, where: str
) -> Preprocessing | None:
    """How the network is fed as the mapping says; None where it says nothing.

    Classes without names are called by their numbers.

    Raises:
      UsageError: it does not fit the network.
    """
    feeding = mapping.preprocessing
    if feeding is None:
        return None
    image = mapping.image
    columns = feeding.columns
    shape = feeding.shape or image or (architecture.inputs,)
    encoding = None if columns is None else Encoding(tuple(map(Column, columns)))
    if columns is not None and (len(columns),) != shape:
        raise UsageError(
            f"{where}: preprocessing.columns names {plural(len(columns), 'input')} of examples of "
            f"the shape {shape}"
        )
    count = architecture.outputs
    targets = mapping.targets
    names = mapping.classes or mapping.labels or tuple(str(number) for number in range(count))
    task: Task = "classification" if targets is None else "regression"
    task = task if mapping.labels is None else "multilabel"
    scale = None if targets is None else _each(targets.scale, (count,))
    wide = np.float32 if columns is None else np.float64
    result = Preprocessing(
        task=task,
        shape=shape,
        dtype="float64" if columns is not None else feeding.dtype,
        classes=names if targets is None else (),
        shift=_each(feeding.shift, shape, wide),
        scale=_each(feeding.scale, shape, wide),
        target_shift=_each(0.0 if targets is None else targets.shift, (count,)),
        target_scale=_each(1.0, (count,)) if scale is None else scale,
        encoding=encoding,
    )
    fault = mismatch(architecture, result)
    if fault is None and targets is not None:
        if len(result.target_scale) != count or len(result.target_shift) != count:
            fault = f"targets need one number or {count}"
        elif not result.target_scale.all():
            fault = "targets.scale is 0, which no prediction can be divided by"
    if fault is not None:
        raise UsageError(f"{where}: preprocessing does not fit the network: {fault}")
    return result


def _each(
    value: float | tuple[float, ...], shape: tuple[int, ...], dtype: Any = np.float32
) -> np.ndarray:
    """The numbers, as an array that goes with `shape`: one, one a channel, or one a feature."""
    array = np.asarray(value, dtype)
    if array.ndim == 0:
        return array[None] if len(shape) > 1 else np.full(shape, array, dtype)
    return array.reshape(shape) if array.size == math.prod(shape) else array
