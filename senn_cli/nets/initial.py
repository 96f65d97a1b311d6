"""Initial weights: a function of the seed and of the widths in use, never of the capacity."""

from __future__ import annotations

import numpy as np

from senn_cli.nets.architecture import Activation
from senn_cli.nets.mlp_architecture import MlpArchitecture
from senn_cli.randomness import numpy_generator

ArrayTree = dict[str, dict[str, np.ndarray]]


def draw_neurons(
    rng: np.random.Generator, n_in: int, n: int, activation: Activation
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Input weights, biases and coefficients of `n` neurons from the initial distribution.

    Kernels are LeCun normal; for rational neurons biases and coefficients are unit normal, as in
    the paper's appendix; for others biases are zero.

    Returns:
      Kernel `(n_in, n)`, bias `(n,)`, coefficients `(3, n)` or None.
    """
    kernel = (rng.standard_normal((n_in, n)) / np.sqrt(n_in)).astype(np.float32)
    if activation != "rational":
        return kernel, np.zeros(n, np.float32), None
    bias = rng.standard_normal(n).astype(np.float32)
    return kernel, bias, rng.standard_normal((3, n)).astype(np.float32)


def initial_parameters(architecture: MlpArchitecture, seed: int) -> ArrayTree:
    """Parameters of `architecture` at its capacity; whatever is not in use is zero."""
    rng = numpy_generator(seed, "initial", 0)
    params: ArrayTree = {}
    for index in range(len(architecture.maps)):
        n_in, n_out = architecture.map_width(index)
        cap_in, cap_out = architecture.map_capacity(index)
        hidden = index < len(architecture.hidden)
        activation = architecture.hidden[index].activation if hidden else "silu"
        kernel, bias, coefficients = draw_neurons(rng, n_in, n_out, activation)
        room = ((0, cap_in - n_in), (0, cap_out - n_out))
        params[f"map_{index}"] = {"kernel": np.pad(kernel, room), "bias": np.pad(bias, room[1])}
        if coefficients is not None:
            padded = np.pad(coefficients, ((0, 0), room[1]))
            params[f"activation_{index}"] = {"coefficients": padded}
    return params
