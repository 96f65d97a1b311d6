"""The recordings of a run, `recordings/<kind>-<step>-<when>.npz`, which training writes on demand.

| `when` | the network |
|---|---|
| `before` | right before a growth round that changed it; at step 0, as it began |
| `after` | right after such a round |
| `end` | at the end of training |
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from senn_cli.errors import RunError, UsageError
from senn_cli.report.record import Record

FOLDER = "recordings"
Array = npt.NDArray[Any]

_WHEN = ("before", "after", "end")
_NEEDS = {
    "landscape": "a network with one input and one output, such as data.source regression, that "
    "has a hidden layer",
    "boundary": "a classifier with two inputs, such as data.source moons",
}


@dataclass(frozen=True)
class Moment:
    """When a recording was made.

    Attributes:
      step: the training step.
      when: `before`, `after` or `end`.
    """

    step: int
    when: str

    @property
    def order(self) -> tuple[int, int]:
        """Recordings sort by this."""
        return self.step, _WHEN.index(self.when)


@dataclass(frozen=True)
class Landscape:
    """The score of a new neuron over its location and scale, and the function at that time.

    Attributes:
      moment: when.
      location: `(L,)` ascending, in units of the input.
      scale: `(S,)` ascending, in units of the input.
      ratio: `(S, L)`, the best Delta eta' / eta_c of a neuron there.
      threshold: the ratio that passes both tau and alpha.
      line_x, line_y: `(K,)`, the network's function.
      target_x, target_y: `(T,)`, the target.
      train_x, train_y: `(N,)`, the samples.
      neurons: `(n, 2)`, location and scale of the existing neurons.
      accepted, rejected: `(k, 2)` and `(m, 2)`, those of proposals.
    """

    moment: Moment
    location: Array
    scale: Array
    ratio: Array
    threshold: float
    line_x: Array
    line_y: Array
    target_x: Array
    target_y: Array
    train_x: Array
    train_y: Array
    neurons: Array
    accepted: Array
    rejected: Array


@dataclass(frozen=True)
class Boundary:
    """Class probabilities over the plane of two inputs.

    Attributes:
      moment: when.
      x, y: `(G,)` and `(H,)` ascending and evenly spaced, in units of the inputs.
      probabilities: `(H, G, classes)`.
      train_x, train_y: `(N, 2)` and `(N,)`, the samples and their classes.
      hidden: widths of the hidden layers.
    """

    moment: Moment
    x: Array
    y: Array
    probabilities: Array
    train_x: Array
    train_y: Array
    hidden: tuple[int, ...]


def landscapes(record: Record) -> tuple[Landscape, ...]:
    """All landscapes of a run in order.

    Raises:
      RunError: there are none, or one is damaged.
    """
    found = []
    for moment, path in _files(record, "landscape"):
        shapes: dict[str, tuple[str | int, ...]] = {
            "location": ("L",), "scale": ("S",), "ratio": ("S", "L"), "threshold": (),
            "line_x": ("K",), "line_y": ("K",), "target_x": ("T",), "target_y": ("T",),
            "train_x": ("N",), "train_y": ("N",), "neurons": ("n", 2), "accepted": ("k", 2),
            "rejected": ("m", 2),
        }  # fmt: skip
        arrays = _arrays(path, shapes)
        threshold = float(arrays.pop("threshold"))
        found.append(Landscape(moment, threshold=threshold, **arrays))
    return tuple(found)


def boundaries(record: Record) -> tuple[Boundary, ...]:
    """All decision boundaries of a run in order.

    Raises:
      RunError: there are none, or one is damaged.
    """
    found = []
    for moment, path in _files(record, "boundary"):
        shapes: dict[str, tuple[str | int, ...]] = {
            "x": ("G",), "y": ("H",), "probabilities": ("H", "G", "classes"), "train_x": ("N", 2),
            "train_y": ("N",), "hidden": ("layers",),
        }  # fmt: skip
        arrays = _arrays(path, shapes)
        hidden = tuple(int(width) for width in arrays.pop("hidden"))
        found.append(Boundary(moment, hidden=hidden, **arrays))
    return tuple(found)


_Recording = TypeVar("_Recording", Landscape, Boundary)


def at_steps(found: Sequence[_Recording], steps: Sequence[int]) -> list[_Recording]:
    """Those of the steps, in order.

    Raises:
      UsageError: there is no recording of a step.
    """
    known = sorted({each.moment.step for each in found})
    missing = [step for step in steps if step not in known]
    if missing:
        raise UsageError(
            f"--steps: nothing was recorded at step {missing[0]}",
            hint=f"Recorded steps: {', '.join(map(str, known))}.",
        )
    return [each for each in found if each.moment.step in steps]


def _files(record: Record, kind: Literal["landscape", "boundary"]) -> list[tuple[Moment, Path]]:
    """Files of a kind up to the record's step, in order."""
    folder = record.path / FOLDER
    found = []
    for path in folder.glob(f"{kind}-*.npz"):
        match = re.fullmatch(rf"{kind}-([0-9]+)-({'|'.join(_WHEN)})", path.stem)
        if match and (record.step is None or int(match[1]) <= record.step):
            found.append((Moment(int(match[1]), match[2]), path))
    if found:
        return sorted(found, key=lambda item: item[0].order)
    wanted = (record.spec.get("record") or {}).get(kind)
    raise RunError(
        f"{record.path} has no recordings of a {kind}"
        + (f" yet, although its record.{kind} is true" if wanted else ""),
        hint=(
            "The first one is written at the first growth, the last one at the end of training."
            if wanted
            else f"Train it with `record.{kind}: true` (`--set record.{kind}=true`); it needs "
            f"{_NEEDS[kind]}."
        ),
    )


def _arrays(path: Path, shapes: dict[str, tuple[str | int, ...]]) -> dict[str, Array]:
    """The arrays of a file, checked against shapes; letters stand for sizes that must agree."""
    try:
        # The file is opened here, as numpy leaves it open where it is no archive.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in shapes if name in file.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise RunError(f"{path} is damaged: {error}") from error
    sizes: dict[str | int, int] = {}
    for name, shape in shapes.items():
        if name not in arrays:
            raise RunError(f"{path} is damaged: it has no array {name}")
        array = arrays[name]
        right = array.ndim == len(shape) and all(
            size == (letter if isinstance(letter, int) else sizes.setdefault(letter, size))
            for letter, size in zip(shape, array.shape, strict=True)
        )
        if not right or array.dtype.kind not in "fiub":
            expected = f"({', '.join(map(str, shape))})"
            raise RunError(
                f"{path} is damaged: {name} has shape {array.shape} and type {array.dtype}, "
                f"expected numbers {expected}"
            )
    return arrays
