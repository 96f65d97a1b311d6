"""How an imported network is fed, as its mapping says."""

from __future__ import annotations

import math

import numpy as np

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import UsageError
from senn_cli.model import mismatch
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.use.import_mapping import Mapping


def preprocessing_of(
    mapping: Mapping, architecture: AnyArchitecture, where: str
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
    shape = feeding.shape or image or (architecture.inputs,)
    count = architecture.outputs
    targets = mapping.targets
    names = mapping.classes or tuple(str(number) for number in range(count))
    scale = None if targets is None else _each(targets.scale, (count,))
    result = Preprocessing(
        task="classification" if targets is None else "regression",
        shape=shape,
        dtype=feeding.dtype,
        classes=names if targets is None else (),
        shift=_each(feeding.shift, shape),
        scale=_each(feeding.scale, shape),
        target_shift=_each(0.0 if targets is None else targets.shift, (count,)),
        target_scale=_each(1.0, (count,)) if scale is None else scale,
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


def _each(value: float | tuple[float, ...], shape: tuple[int, ...]) -> np.ndarray:
    """The numbers, as an array that goes with `shape`: one, one a channel, or one a feature."""
    array = np.asarray(value, np.float32)
    if array.ndim == 0:
        return array[None] if len(shape) > 1 else np.full(shape, array, np.float32)
    return array.reshape(shape) if array.size == math.prod(shape) else array
