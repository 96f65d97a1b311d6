"""How a run's network is fed and how its answers are read: what a user of the network needs.

It is written beside the weights, so that a trained network can be used without its training data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from senn_cli.data.dataset import Array, Dataset, Link, Task, link_of
from senn_cli.data.encoding import Encoding
from senn_cli.data.normalize import kind, scaled

FORMAT = 3
"""Format 1, without a number in the file, knew no tables; 2 no links but those of the task."""


@dataclass(frozen=True)
class Preprocessing:
    """What turns examples into network inputs, and network outputs into answers.

    Attributes:
      task: a class of several, several labels, or numbers.
      shape: of one example as it is stored, such as `(28, 28)`.
      dtype: of one example as it is stored, such as `uint8`; float64 for tables.
      classes: names of the classes or labels in the order of the outputs; empty for regression.
      shift, scale: network input = (x - shift) * scale.
      target_shift, target_scale: prediction = output / target_scale + target_shift.
      encoding: how rows of a table become examples; None where examples are no such rows.
      counts: whether targets are counts; then a prediction is exp(output) before it is scaled back.
    """

    task: Task
    shape: tuple[int, ...]
    dtype: str
    classes: tuple[str, ...]
    shift: Array
    scale: Array
    target_shift: Array
    target_scale: Array
    encoding: Encoding | None = None
    counts: bool = False

    @classmethod
    def of(cls, dataset: Dataset) -> Preprocessing:
        """That of a data set."""
        return cls(
            task=dataset.task,
            shape=tuple(dataset.train.x.shape[1:]),
            dtype=str(dataset.train.x.dtype),
            classes=dataset.classes,
            shift=dataset.shift,
            scale=dataset.scale,
            target_shift=dataset.target_shift,
            target_scale=dataset.target_scale,
            encoding=dataset.encoding,
            counts=dataset.counts,
        )

    @property
    def link(self) -> Link:
        """What outputs are of the answers."""
        return link_of(self.task, counts=self.counts)

    @property
    def wide(self) -> type[np.float32] | type[np.float64]:
        """The type that examples are scaled in."""
        return np.float64 if self.dtype == "float64" else np.float32

    @property
    def wide_target(self) -> type[np.float32] | type[np.float64]:
        """The type of predictions: float64 would be rounded to the targets' mean by float32."""
        return kind(self.target_scale)

    def inputs(self, x: Any) -> Array:
        """Network inputs `(N, inputs)` float32 of examples `(N, *shape)`, or of flattened ones.

        In examples of a table NaN stands for a missing value.

        Raises:
          ValueError: examples of another shape, or missing values that nothing stands for.
        """
        x = np.asarray(x)
        size = int(np.prod(self.shape, dtype=np.int64))
        if x.shape[1:] != self.shape and x.shape[1:] != (size,):
            raise ValueError(f"expected examples of shape {self.shape}, found {x.shape[1:]}")
        x = x.reshape(len(x), *self.shape).astype(self.wide)
        if self.encoding is not None:
            x = self.encoding.filled(x)
        return scaled(x, self.shift, self.scale).reshape(len(x), size)

    def answers(self, outputs: Any) -> Array:
        """Probabilities `(N, classes)`, or predictions `(N, k)` in the targets' units."""
        outputs = np.asarray(outputs, np.float32)
        if self.task == "regression":
            outputs = outputs.astype(self.wide_target)
            outputs = np.exp(outputs) if self.link == "log" else outputs
            return np.asarray(outputs / self.target_scale + self.target_shift)
        if self.link == "logistic":  # with exponents of negative numbers alone, none overflows
            small = np.exp(-np.abs(outputs))
            return np.asarray(np.where(outputs < 0, small, 1.0) / (1.0 + small), np.float32)
        exponents = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
        return np.asarray(exponents / exponents.sum(axis=-1, keepdims=True))

    def to_json(self) -> dict[str, Any]:
        """A mapping of plain values, read back by `from_json`."""
        # A float32 written by repr as a double comes back as the same float32.
        arrays = {
            name: getattr(self, name).astype(np.float64).tolist()
            for name in ("shift", "scale", "target_shift", "target_scale")
        }
        return {
            "format": FORMAT,
            "task": self.task,
            "link": self.link,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "target_dtype": str(self.target_scale.dtype),
            "classes": list(self.classes),
            **arrays,
            "encoding": None if self.encoding is None else self.encoding.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Preprocessing:
        """What `to_json` described; ValueError, KeyError or TypeError if it is none."""
        if value.get("format", 1) not in range(1, FORMAT + 1):
            raise ValueError(f"format {value['format']} is not known to this senn")
        task = value["task"]
        if task not in get_args(Task):
            raise ValueError(f"unknown task {task!r}")
        dtype = str(np.dtype(value["dtype"]))
        wide = np.float64 if dtype == "float64" else np.float32
        wide_target = np.dtype(value.get("target_dtype", "float32"))
        encoding = value.get("encoding")
        return cls(
            task=task,
            shape=tuple(int(n) for n in value["shape"]),
            dtype=dtype,
            classes=tuple(str(name) for name in value["classes"]),
            shift=np.asarray(value["shift"], wide),
            scale=np.asarray(value["scale"], wide),
            target_shift=np.asarray(value["target_shift"], wide_target),
            target_scale=np.asarray(value["target_scale"], wide_target),
            encoding=None if encoding is None else Encoding.from_json(encoding),
            counts=value.get("link") == "log",
        )
