"""PyTorch's tensors, `Dataset`s and `DataLoader`s as arrays, by what their objects can do.

PyTorch is not imported: whoever has such an object has done so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.joined import Joined
from senn_cli.errors import DataError
from senn_cli.words import in_bytes, plural

LIMIT = 8 * 10**9
"""Bytes that are read into memory at most; while they are joined it is twice that. More go into a
file, which is mapped."""

_CHANNELS = (1, 3, 4)


def is_tensor(value: object) -> bool:
    """Whether an object is a tensor of PyTorch."""
    return all(hasattr(value, name) for name in ("detach", "cpu", "numpy"))


def is_dataset(value: object) -> bool:
    """Whether an object is a `Dataset` or `DataLoader`: it yields examples, and is no container."""
    if isinstance(value, list | tuple | dict | str | bytes | set) or hasattr(value, "__array__"):
        return False
    indexed = hasattr(value, "__getitem__") and hasattr(value, "__len__")
    return indexed or hasattr(value, "__iter__")


def read_all(source: Any, what: str, limit: int = LIMIT) -> tuple[Array, Array | None, list[str]]:
    """All examples of a data set, read once.

    Args:
      source: a `DataLoader`, or a `Dataset` with numbered or iterated examples; an example is
        inputs alone or a pair of inputs and target, each a tensor, an array, a number, or an image
        of Pillow.
      what: how to call it in errors.
      limit: the most bytes in memory.

    Returns:
      (inputs, targets, notes): `(N, *shape)`, mapped from a file where they are more than `limit`,
      and `(N, ...)` or None where there are none.

    Raises:
      DataError: no examples, mappings, or examples that differ in shape.
    """
    kind = type(source).__name__
    inputs = Joined(limit, batched := _is_batched(source))
    targets: list[Array] = []
    first: Array | None = None
    paired, tensors = False, False
    for number, item in enumerate(_items(source)):
        at = f"{what}: {'batch' if batched else 'example'} {number} of the {kind}"
        pair = isinstance(item, tuple | list) and len(item) == 2
        if number and pair != paired:
            raise DataError(f"{at} is {'a' if pair else 'no'} pair, unlike the ones before it")
        paired, x = pair, item[0] if pair else item
        tensors |= is_tensor(x)
        array = _array(x, at)
        if pair:
            targets.append(_array(item[1], f"{at}, its target"))
        first = array if first is None else first
        _require_alike(first, array, batched, at)
        moved = inputs.add(array, channels_last if tensors else None)
    if not len(inputs):
        raise DataError(f"{what}: the {kind} has no examples")
    x, where = inputs.joined()
    told = f"{plural(len(x), 'example')} of a {kind} were read into {where}, {in_bytes(x.nbytes)}"
    notes = [f"{what}: {told}", *(f"{what}: {note}" for note in moved)]
    join = np.concatenate if batched else np.stack
    return x, join(targets) if paired else None, notes


def tensor_array(tensor: Any, what: str) -> Array:
    """A tensor as an array, from whatever device.

    Raises:
      DataError: a type that NumPy does not have, or a sparse tensor.
    """
    plain = tensor.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":
        plain = plain.float()  # exact: its numbers are a part of float32's
    try:
        return np.asarray(plain.numpy())
    except (TypeError, RuntimeError) as error:
        raise DataError(f"{what}: the tensor is no array of numbers: {error}") from error


def channels_last(x: Array) -> tuple[Array, list[str]]:
    """Images as `(N, H, W, C)` where PyTorch's `(N, C, H, W)` is recognised, and notes on that."""
    if x.ndim != 4 or x.shape[1] not in _CHANNELS or x.shape[-1] in _CHANNELS:
        return x, []
    moved = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    return moved, [f"images of the shape {x.shape[1:]} became {moved.shape[1:]}, channels last"]


def _is_batched(source: Any) -> bool:
    """Whether an object is a `DataLoader` that yields batches."""
    loader = hasattr(source, "dataset") and hasattr(source, "collate_fn")
    return loader and getattr(source, "batch_sampler", True) is not None


def _items(source: Any) -> Iterator[Any]:
    loader = hasattr(source, "collate_fn")
    if not loader and hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        # Such a data set need not stop an iteration by an IndexError.
        return (source[number] for number in range(len(source)))
    return iter(source)


def _array(value: Any, what: str) -> Array:
    if is_tensor(value):
        return tensor_array(value, what)
    if isinstance(value, dict):
        raise DataError(
            f"{what} is a mapping with the keys {', '.join(map(str, value))}",
            hint="let it yield pairs (inputs, target), for example by a Dataset around it; of the "
            "library datasets give dataset.to_pandas()",
        )
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise DataError(f"{what} is no array: {error}") from error
    if array.dtype.kind not in "biufcUS":
        raise DataError(f"{what} is no array of numbers: it is a {type(value).__name__}")
    return array


def _require_alike(first: Array, other: Array, batched: bool, what: str) -> None:
    ours, theirs = (a.shape[1:] if batched else a.shape for a in (first, other))
    if ours != theirs:
        raise DataError(
            f"{what} has the shape {theirs}, but the first has {ours}",
            hint="bring all of them to one shape, for example by a transform",
        )
