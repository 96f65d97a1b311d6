"""How a run's network is fed and how its answers are read: what a user of the network needs.

It is written beside the weights, so that a trained network can be used without its training data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Dataset, Task


@dataclass(frozen=True)
class Preprocessing:
    """What turns examples into network inputs, and network outputs into answers.

    Attributes:
      task: "classification" or "regression".
      shape: of one example as it is stored, such as `(28, 28)`.
      dtype: of one example as it is stored, such as `uint8`.
      classes: names of the classes in the order of the outputs; empty for regression.
      shift, scale: network input = (x - shift) * scale.
      target_shift, target_scale: prediction = output / target_scale + target_shift.
    """

    task: Task
    shape: tuple[int, ...]
    dtype: str
    classes: tuple[str, ...]
    shift: Array
    scale: Array
    target_shift: Array
    target_scale: Array

    @classmethod
    def of(cls, dataset: Dataset) -> Preprocessing:
        """That of a data set."""
        return cls(
            task=dataset.task,
            shape=tuple(dataset.train.x.shape[1:]),
            dtype=str(dataset.train.x.dtype),
            classes=dataset.classes,
            shift=np.asarray(dataset.shift, np.float32),
            scale=np.asarray(dataset.scale, np.float32),
            target_shift=np.asarray(dataset.target_shift, np.float32),
            target_scale=np.asarray(dataset.target_scale, np.float32),
        )

    def inputs(self, x: Any) -> Array:
        """Network inputs `(N, inputs)` float32 of examples `(N, *shape)`, or of flattened ones.

        Raises:
          ValueError: examples of another shape.
        """
        x = np.asarray(x)
        size = int(np.prod(self.shape, dtype=np.int64))
        if x.shape[1:] != self.shape and x.shape[1:] != (size,):
            raise ValueError(f"expected examples of shape {self.shape}, found {x.shape[1:]}")
        x = x.reshape(len(x), *self.shape).astype(np.float32)
        scaled: Array = ((x - self.shift) * self.scale).reshape(len(x), size)
        return scaled.astype(np.float32)

    def answers(self, outputs: Any) -> Array:
        """Class probabilities `(N, classes)`, or predictions `(N, k)` in the targets' units."""
        outputs = np.asarray(outputs, np.float32)
        if self.task == "regression":
            return np.asarray(outputs / self.target_scale + self.target_shift)
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
            "task": self.task,
            "shape": list(self.shape),
            "dtype": self.dtype,
            "classes": list(self.classes),
            **arrays,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Preprocessing:
        """What `to_json` described; ValueError, KeyError or TypeError if it is none."""
        task = value["task"]
        if task not in ("classification", "regression"):
            raise ValueError(f"unknown task {task!r}")
        return cls(
            task=task,
            shape=tuple(int(n) for n in value["shape"]),
            dtype=str(np.dtype(value["dtype"])),
            classes=tuple(str(name) for name in value["classes"]),
            shift=np.asarray(value["shift"], np.float32),
            scale=np.asarray(value["scale"], np.float32),
            target_shift=np.asarray(value["target_shift"], np.float32),
            target_scale=np.asarray(value["target_scale"], np.float32),
        )
