"""A trained network as a callable: `senn_cli.load(run)`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from senn_cli.data.asked import examples_of
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.data.targets import as_uint8
from senn_cli.errors import MISFORMED, RunError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_of
from senn_cli.nets.tables import compact
from senn_cli.runs import layout
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.imported import require_feeding
from senn_cli.runs.network import place_of, read_network
from senn_cli.words import plural

if TYPE_CHECKING:
    import jax

BLOCK = 1024
"""Examples computed at a time."""

FEWEST = 15
"""Fewer examples than the power of two above are filled up to that."""


@dataclass(frozen=True)
class Model:
    """A network with all that is needed to use it.

    Attributes:
      architecture: without spare capacity.
      params: the parameters in use, NumPy arrays.
      preprocessing: how examples become inputs, and outputs answers.
    """

    architecture: Architecture
    params: dict[str, dict[str, np.ndarray]]
    preprocessing: Preprocessing

    def __call__(self, x: Any) -> np.ndarray:
        """Class probabilities `(N, classes)` or predictions `(N, k)` for examples `(N, ...)`.

        Args:
          x: examples as the data set has them (pixels, not scaled inputs), or flattened ones; of
            any type whose numbers are such examples, tensors and sparse matrices, too. Of a table
            a data frame or a mapping of columns, which are found by name, an array of its columns
            with texts, or the numbers that `preprocessing.encoding.inputs` names: `city=Rome` is 1
            or 0, NaN a missing value. Columns that are not used, and categories that are not known,
            are warned of.

        Raises:
          ValueError: examples of another shape.
          DataError: columns that are missing; for 8-bit examples numbers that are not whole or not
            from 0 to 255.
        """
        x = self._examples(x)
        if self.preprocessing.dtype == "uint8":
            x = as_uint8(x, "x")
        return self.preprocessing.answers(self.outputs(x))

    def outputs(self, x: Any) -> np.ndarray:
        """The network's raw outputs `(N, m)`: logits, or scaled predictions."""
        x = self._examples(x)
        size = min(BLOCK, kind_of(self.architecture).block)
        widths = np.asarray(self.architecture.widths, np.int32)
        parts = []
        # Scaled a block at a time: a large image set would not fit into memory as float32.
        for start in range(0, len(x), size):
            inputs = self.preprocessing.inputs(x[start : start + size])
            # Blocks are filled up, so that a few programs do for all numbers of examples.
            room = size if len(x) > size else min(size, 1 << max(FEWEST, len(x) - 1).bit_length())
            filled = np.pad(inputs, ((0, room - len(inputs)), (0, 0)))
            found = _compiled()(self.architecture.shape(), self.params, filled, widths)
            parts.append(np.asarray(found)[: len(inputs)])
        if not parts:
            self.preprocessing.inputs(x)  # the shape is checked all the same
            return np.zeros((0, self.architecture.outputs), np.float32)
        return np.concatenate(parts)

    def _examples(self, x: Any) -> np.ndarray:
        """Examples as an array, of whatever `__call__` takes."""
        found, notes = examples_of(x, self.preprocessing)
        for note in notes:
            warnings.warn(note, stacklevel=3)
        return found

    def network(self, params: Any, inputs: jax.Array) -> jax.Array:
        """Raw outputs `(N, m)` of network inputs `(N, inputs)`, for JAX to trace.

        Args:
          params: of the form of `self.params`.
          inputs: scaled and flattened examples, float32.
        """
        import jax.numpy as jnp

        from senn_cli.nets.registry import outputs

        widths = jnp.asarray(self.architecture.widths, jnp.int32)
        return outputs(self.architecture.shape(), params, inputs, widths)


@cache
def _compiled() -> Callable[..., jax.Array]:
    """The outputs of networks, compiled once a shape for all models of a process."""
    import jax

    from senn_cli.nets.registry import outputs

    return jax.jit(outputs, static_argnums=0)


def load_model(path: Path) -> Model:
    """The network that `path` names, without spare capacity: a run's final one, or a checkpoint's.

    Args:
      path: a run directory, one of its checkpoints, `RUN/checkpoints/best` or `RUN/weights`.

    Raises:
      UsageError: there is no run, or no such checkpoint.
      RunError: it has not finished, or a file of it is damaged.
    """
    place = place_of(path)
    require_feeding(place.run)
    directory = RunDirectory.open(place.run)
    value = directory.preprocessing()
    if value is None:
        raise RunError(
            f"{directory.preprocessing_path} does not exist: what the network's inputs mean is "
            "unknown",
            hint=f"An older senn started this run; `senn resume {place.run}` writes the file.",
        )
    try:
        preprocessing = Preprocessing.from_json(value)
    except MISFORMED as error:
        raise RunError(f"{directory.preprocessing_path} is damaged: {error}") from error
    if not place.path.is_dir():
        saved = layout.complete_steps(directory.path / layout.CHECKPOINTS)
        newest = f"{directory.path / layout.CHECKPOINTS}/{saved[-1]}" if saved else ""
        other = f", or name a checkpoint: {newest}" if saved else ""
        raise RunError(
            f"{directory.path} has no final weights: the run has not ended",
            hint=f"Finish it with: senn resume {place.run}{other}",
        )
    architecture, params = read_network(place)
    model = Model(architecture.compact(), compact(params, architecture), preprocessing)
    fault = mismatch(model.architecture, preprocessing)
    if fault is not None:
        raise RunError(f"{directory.preprocessing_path} does not fit {place.path}: {fault}")
    return model


def mismatch(architecture: Architecture, preprocessing: Preprocessing) -> str | None:
    """Why this network cannot be fed in this way, or None where it can."""
    size = math.prod(preprocessing.shape)
    if size != architecture.inputs:
        return (
            f"an example has {plural(size, 'number')}, the network "
            f"{plural(architecture.inputs, 'input')}"
        )
    if preprocessing.task != "regression":
        count = len(preprocessing.classes)
        labels = preprocessing.task == "multilabel"
        what = plural(count, "label") if labels else plural(count, "class", "classes")
    else:
        count = len(preprocessing.target_shift)
        what = plural(count, "target")
    if count != architecture.outputs:
        outputs = plural(architecture.outputs, "output")
        return f"there {'is' if count == 1 else 'are'} {what}, but the network has {outputs}"
    for name in ("shift", "scale"):
        shape = getattr(preprocessing, name).shape
        try:
            fits = np.broadcast_shapes(shape, preprocessing.shape) == preprocessing.shape
        except ValueError:
            fits = False
        if not fits:
            return f"{name} has the shape {shape}, an example {preprocessing.shape}"
    return None
