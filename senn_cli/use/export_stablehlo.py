"""`--format stablehlo`: a program for `jax.export`, and the description beside it as JSON.

It takes float32 `(b, inputs)` for any b and runs on CPU, CUDA, ROCm and TPU without this package:
`jax.export.deserialize(Path("network.stablehlo").read_bytes()).call(x)` is a mapping with `logits`
and `probabilities`, or `outputs` and `predictions`. Where float32 cannot hold a table's numbers,
there is no such program. NaN stands for a missing value of a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError, UsageError
from senn_cli.model import Model
from senn_cli.use.about import feature_names, gap_values, read_description, result_names
from senn_cli.use.export_inputs import Input, call_of, quoted, whole
from senn_cli.use.loaded import Loaded

if TYPE_CHECKING:
    import jax

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")

COARSE = 1e-3
"""The largest rounding of a table's numbers to float32 that is put up with, in deviations."""


def write(model: Model, about: Mapping[str, Any], stem: str) -> dict[str, bytes]:
    """The files of the export by name."""
    import jax
    from jax import export

    _require_float32(model)
    given = _input(model.preprocessing)
    shape = jax.ShapeDtypeStruct((*export.symbolic_shape("b"), *given.shape), given.dtype)
    # A GPU's usual precision has ten bits in products, which would be part of the program.
    with jax.default_matmul_precision("highest"):
        made = export.export(jax.jit(program(model)), platforms=PLATFORMS)(shape)
    text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
    return {f"{stem}.stablehlo": bytes(made.serialize()), f"{stem}.json": text.encode()}


def usage(model: Model, file: Path) -> tuple[str, ...]:
    """Lines of Python that load the export and run it."""
    final = result_names(model.preprocessing.task)[1]
    return (
        "import numpy as np; from jax import export",
        f'program = export.deserialize(bytearray(open({quoted(file)}, "rb").read()))',
        call_of(model.preprocessing, (_input(model.preprocessing),)),
        "results = program.call(x)",
        f"print(results[{quoted(final)}])",
    )


def _input(how: Preprocessing) -> Input:
    """Examples in their own shape, of 8 bits or float32: JAX has float64 where it is told to."""
    one = whole(how)
    return one if one.dtype == "uint8" else replace(one, dtype="float32")


def program(model: Model) -> Any:
    """The function from examples `(b, *shape)` to outputs and answers, for JAX to trace."""
    import jax
    import jax.numpy as jnp

    how = model.preprocessing
    raw, final = result_names(how.task)
    size, fill = model.architecture.inputs, gap_values(model)
    shift, scale = (
        np.broadcast_to(value, how.shape).reshape(size) for value in (how.shift, how.scale)
    )
    # Of a table in two parts: the first difference is exact near the shift, whatever its size.
    shift, rest = shift.astype(np.float32), (shift - shift.astype(np.float32)).astype(np.float32)
    scale, target_shift, target_scale = (
        value.astype(np.float32) for value in (scale, how.target_shift, how.target_scale)
    )

    def run(x: jax.Array) -> dict[str, jax.Array]:
        x = x.reshape(-1, size).astype(jnp.float32)
        if fill is not None:
            x = jnp.where(jnp.isnan(x), fill.astype(np.float32), x)
        x = x - shift
        if rest.any():
            x = jax.lax.optimization_barrier(x) - rest
        outputs = model.network(model.params, x * scale)
        if how.link == "logistic":
            return {raw: outputs, final: jax.nn.sigmoid(outputs)}
        if how.link == "softmax":
            return {raw: outputs, final: jnp.asarray(jax.nn.softmax(outputs, axis=-1))}
        mean = jnp.exp(outputs) if how.link == "log" else outputs
        return {raw: outputs, final: mean / target_scale + target_shift}

    return run


def _require_float32(model: Model) -> None:
    """Refuses what a program of float32 would round away."""
    how = model.preprocessing
    names = feature_names(model) or [f"x{number + 1}" for number in range(how.shift.size)]
    targets = how.encoding.targets if how.encoding is not None else ()
    for what, of, shift, scale, wide in (
        ("column", names, how.shift, how.scale, how.wide),
        ("target", targets, how.target_shift, how.target_scale, how.wide_target),
    ):
        if wide is np.float32:
            continue
        coarse = np.abs(shift * scale) * float(np.finfo(np.float32).eps) / 2 > COARSE
        large = np.abs(shift) + 10 / scale > float(np.finfo(np.float32).max)
        bad = np.flatnonzero(coarse | large)
        if len(bad):
            place = int(bad[0])
            name = f" {of[place]!r}" if len(of) == shift.size else ""
            raise UsageError(
                f"the format stablehlo takes and gives float32, which is too coarse for the {what}"
                f"{name}: its values lie around {shift.flat[place]:.6g}, with a deviation of "
                f"{1 / scale.flat[place]:.3g}",
                hint="The formats onnx, flax and safetensors compute in float64 where they must.",
            )


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
        made = deserialize(bytearray(path.read_bytes()))
    except Exception as error:  # a damaged file can raise almost anything in the decoder
        raise RunError(f"{path} is no exported program of JAX, or damaged: {error}") from error
    raw, final = result_names(how.task)

    def run(x: Array) -> tuple[Array, Array]:
        # Of an older export flattened examples.
        (taken,) = made.in_avals
        results = made.call(x.astype(taken.dtype).reshape(-1, *taken.shape[1:]))
        return np.asarray(results[raw]), np.asarray(results[final])

    return run
