"""A trained network as a callable: `senn_cli.load(run)`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError
from senn_cli.nets.architecture import Architecture
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.weights import load_weights

BLOCK = 1024
"""Examples computed at a time."""


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
          x: examples as the data set has them (pixels, not scaled inputs), or flattened ones.

        Raises:
          ValueError: examples of another shape.
        """
        return self.preprocessing.answers(self.outputs(x))

    def outputs(self, x: Any) -> np.ndarray:
        """The network's raw outputs `(N, m)`: logits, or scaled predictions."""
        import jax

        from senn_cli.nets.mlp import apply

        inputs = self.preprocessing.inputs(x)
        shape = self.architecture.shape()
        widths = jax.numpy.asarray(self.architecture.widths, np.int32)
        run = jax.jit(lambda params, x: apply(shape, params, x, widths).outputs)
        parts = []
        for start in range(0, len(inputs), BLOCK):
            block = inputs[start : start + BLOCK]
            # The last block is filled up, so that one program does for all of them.
            room = BLOCK if len(inputs) > BLOCK else len(block)
            filled = np.pad(block, ((0, room - len(block)), (0, 0)))
            parts.append(np.asarray(run(self.params, filled))[: len(block)])
        if not parts:
            return np.zeros((0, self.architecture.outputs), np.float32)
        return np.concatenate(parts)


def load_model(path: Path) -> Model:
    """The final network of the run in `path`, without spare capacity.

    Raises:
      RunError: there is no run, it has not finished, or a file of it is damaged.
    """
    directory = RunDirectory.open(path)
    value = directory.preprocessing()
    if value is None:
        raise RunError(
            f"{directory.preprocessing_path} does not exist: what the network's inputs mean is "
            "unknown",
            hint=f"An older senn started this run; `senn resume {path}` writes the file.",
        )
    try:
        preprocessing = Preprocessing.from_json(value)
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{directory.preprocessing_path} is damaged: {error}") from error
    weights = directory.path / "weights"
    if not weights.is_dir():
        raise RunError(
            f"{directory.path} has no final weights: the run has not ended",
            hint=f"Finish it with: senn resume {path}",
        )
    architecture, params = load_weights(weights)
    return Model(architecture.compact(), compact(params, architecture), preprocessing)


def compact(params: dict[str, dict[str, Any]], architecture: Architecture) -> Any:
    """The parameters in use alone, of the shapes of `architecture.compact()`."""
    result: dict[str, dict[str, np.ndarray]] = {}
    for name, leaves in params.items():
        n_in, n_out = architecture.map_width(int(name.rsplit("_", 1)[1]))
        cut: dict[str, Any] = {
            "kernel": np.s_[:n_in, :n_out],
            "bias": np.s_[:n_out],
            "coefficients": np.s_[:, :n_out],
        }
        result[name] = {leaf: np.asarray(array)[cut[leaf]] for leaf, array in leaves.items()}
    return result
