"""`--format stablehlo`: a program for `jax.export`, and the description beside it as JSON.

It takes float32 `(b, inputs)` for any b and runs on CPU, CUDA, ROCm and TPU without this package:
`jax.export.deserialize(Path("network.stablehlo").read_bytes()).call(x)` is a mapping with `logits`
and `probabilities`, or `outputs` and `predictions`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import RunError
from senn_cli.model import Model
from senn_cli.use.about import read_description, result_names
from senn_cli.use.loaded import Loaded

if TYPE_CHECKING:
    import jax

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def write(model: Model, about: Mapping[str, Any], stem: str) -> dict[str, bytes]:
    """The files of the export by name."""
    import jax
    from jax import export

    shape = jax.ShapeDtypeStruct(
        (*export.symbolic_shape("b"), model.architecture.inputs), np.float32
    )
    # A GPU's usual precision has ten bits in products, which would be part of the program.
    with jax.default_matmul_precision("highest"):
        made = export.export(jax.jit(program(model)), platforms=PLATFORMS)(shape)
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    return {f"{stem}.stablehlo": bytes(made.serialize()), f"{stem}.json": text.encode()}


def program(model: Model) -> Any:
    """The function from examples `(b, inputs)` to outputs and answers, for JAX to trace."""
    import jax
    import jax.numpy as jnp

    how = model.preprocessing
    raw, final = result_names(how.task)
    size = model.architecture.inputs
    shift, scale = (
        np.broadcast_to(value, how.shape).reshape(size) for value in (how.shift, how.scale)
    )

    def run(x: jax.Array) -> dict[str, jax.Array]:
        outputs = model.network(model.params, (x - shift) * scale)
        if how.task == "regression":
            return {raw: outputs, final: outputs / how.target_scale + how.target_shift}
        return {raw: outputs, final: jnp.asarray(jax.nn.softmax(outputs, axis=-1))}

    return run


def load(path: Path) -> Loaded:
    """The network in a file that `write` made.

    Raises:
      RunError: the file or the description beside it cannot be read or is damaged.
    """
    from jax import export

    beside = path.with_suffix(".json")
    try:
        _, how = read_description(beside.read_bytes())
    except (OSError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        raise RunError(f"{beside} is no description of a network: {text}") from error
    try:
        deserialize: Any = export.deserialize
        called = deserialize(bytearray(path.read_bytes())).call
    except Exception as error:  # a damaged file can raise almost anything in the decoder
        raise RunError(f"{path} is no exported program of JAX, or damaged: {error}") from error
    raw, final = result_names(how.task)

    def run(x: Array) -> tuple[Array, Array]:
        results = called(x)
        return np.asarray(results[raw]), np.asarray(results[final])

    return run
