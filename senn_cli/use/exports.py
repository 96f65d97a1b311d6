"""Exporting a run: the files are written, loaded back, compared with the run, then put in place."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError, UsageError
from senn_cli.model import Model
from senn_cli.nets.leaves import without_buds
from senn_cli.spec.describe import alternatives
from senn_cli.use import (
    export_flax,
    export_onnx,
    export_safetensors,
    export_stablehlo,
    export_torch,
)
from senn_cli.use.about import describe
from senn_cli.use.export_inputs import Input, by_column, random_examples, whole
from senn_cli.use.loaded import Loaded

SAMPLE = 1000
"""Inputs that an export is compared on."""

BLOCK = 100
"""Those compared at a time: the activations of a large network take gigabytes."""

TOLERANCE = 1e-5
"""The largest difference from the run, unless float32 itself is less exact; see `allowed`."""


@dataclass(frozen=True)
class Format:
    """A kind of export.

    Attributes:
      write: makes the files, the main one first, of a model, its description and a file's stem.
      load: reads the main file back.
      usage: lines of Python that load the main file and run it, without this package.
      folder: whether it always is a folder.
      serves: whether networks of a kind, such as `mlp`, have this form.
      inputs: what it takes.
    """

    write: Callable[[Model, Mapping[str, Any], str], dict[str, bytes]]
    load: Callable[[Path], Loaded]
    usage: Callable[[Model, Path], tuple[str, ...]]
    folder: bool = False
    serves: Callable[[str], bool] = lambda kind: True
    inputs: Callable[[Preprocessing], tuple[Input, ...]] = by_column


def _format(module: Any, **other: Any) -> Format:
    return Format(module.write, module.load, module.usage, **other)


def _array(how: Preprocessing) -> tuple[Input, ...]:
    return (whole(how),)


FORMATS = {
    "safetensors": _format(export_safetensors, inputs=_array),
    "stablehlo": _format(export_stablehlo, inputs=_array),
    "onnx": _format(export_onnx, serves=export_onnx.serves),
    "flax": _format(export_flax, folder=True, serves=export_flax.serves),
    "torch": _format(export_torch, folder=True, serves=export_torch.serves),
}


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes:
      files: the main one first.
      size: of all files, bytes.
      difference, rounding: of the export from the run, and of the run from float64; see `compare`.
      usage: lines of Python that load it and run it, without this package.
    """

    files: tuple[Path, ...]
    size: int
    difference: float
    rounding: float
    usage: tuple[str, ...]


def export_model(
    model: Model, name: str, kind: str, output: Path, *, replace: bool = False
) -> Exported:
    """Writes a model in one of `FORMATS`; nothing is left behind unless it agrees with `model`.

    Args:
      model: the run's network.
      name: of the run.
      kind: the format.
      output: a directory, or the name of the main file (not for flax); a name without an ending is
        a directory, which is made.
      replace: whether files that are there are replaced.

    Raises:
      UsageError: networks of this kind have no such form, a file is in the way, or a package is
        not installed.
      RunError: it cannot be written, or what was written differs from the run.
    """
    form, model = FORMATS[kind], _bare(model)
    if not form.serves(model.architecture.kind):
        others = [name for name, one in FORMATS.items() if one.serves(model.architecture.kind)]
        raise UsageError(
            f"a network of kind {model.architecture.kind} cannot be written as {kind}",
            hint=f"It can be written as {alternatives(others)}.",
        )
    folder, stem = place(output, kind)
    files = form.write(model, describe(model, name, form.inputs(model.preprocessing)), stem)
    targets = tuple(folder / file for file in files)
    taken = [path for path in targets if path.exists()]
    if taken and (not replace or any(path.is_dir() for path in taken)):
        raise UsageError(
            f"{taken[0]} exists already",
            hint="Give another place with -o, or replace it with --force.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=".senn-export-", dir=folder))
        try:
            for file, content in files.items():
                (scratch / file).write_bytes(content)
            found, rounding = compare(model, form.load(scratch / targets[0].name))
            if not found <= allowed(rounding):  # also for NaN
                raise RunError(
                    f"the network exported as {kind} differs from the run by {found:.2g}, more "
                    f"than {allowed(rounding):.2g}; nothing was written"
                )
            for path in targets:
                os.replace(scratch / path.name, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror or error}") from error
    size = sum(map(len, files.values()))
    return Exported(targets, size, found, rounding, form.usage(model, targets[0]))


def _bare(model: Model) -> Model:
    """The same network without buds, which nothing reads yet and other programs do not expect."""
    params = without_buds(model.architecture, model.params)
    return Model(model.architecture.without_buds(), params, model.preprocessing)


def place(output: Path, kind: str) -> tuple[Path, str]:
    """The folder that an export goes to, and the stem of its files.

    Raises:
      UsageError: a file where a folder is needed, or a name with another ending than the format's.
    """
    suffix = f".{kind}"
    if output.is_dir() or not output.suffix:
        folder, stem = output, "network"
    elif FORMATS[kind].folder:
        raise UsageError(f"-o {output}: the format {kind} writes several files; name a directory")
    elif output.suffix != suffix:
        raise UsageError(
            f"-o {output}: a file of the format {kind} ends with {suffix}",
            hint=f"For example `-o {output.stem}{suffix}`, or name a directory.",
        )
    else:
        folder, stem = output.parent, output.stem
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"-o {output}: {folder} is a file, not a directory")
    return folder, stem


def compare(model: Model, loaded: Loaded, n: int = SAMPLE) -> tuple[float, float]:
    """How far an export, and float32 itself, are from a model over `n` random inputs.

    Inputs are those of `random_examples`; `n` is rounded up to whole blocks. Differences of the
    outputs, and of the answers, are taken relative to the largest magnitude among an example's, or
    to 1 where that is larger. Predictions are counted in deviations of the targets, and where they
    are float64 from the targets' mean.

    Returns:
      The largest difference of the export from the run, and that of the run from the same network
      computed in float64.
    """
    import jax

    how = model.preprocessing
    rng = np.random.default_rng(0)
    exactly = jax.jit(model.network)
    difference = rounding = 0.0
    for _ in range(0, n, BLOCK):
        examples = random_examples(how, rng, BLOCK)
        # A GPU's usual precision has ten bits in products, which nothing else could agree with.
        with jax.default_matmul_precision("highest"):
            run = model.outputs(examples)
            found = loaded(examples)
        with jax.enable_x64(True):
            params = jax.tree.map(lambda array: np.asarray(array, np.float64), model.params)
            exact = np.asarray(exactly(params, how.inputs(examples).astype(np.float64)))
        # NumPy's maximum keeps NaN.
        parts = (difference, _largest(run, found[0]), _apart(how, how.answers(run), found[1]))
        difference = float(np.max(parts))
        rounding = float(np.max((rounding, _largest(run, exact))))
    return difference, rounding


def allowed(rounding: float) -> float:
    """The difference that an export may have where float32 rounds the run's outputs by so much.

    A network of rational neurons can amplify rounding so that two orders of the same sums differ
    by more than `TOLERANCE`; a faulty export differs by far more than the cap.
    """
    return min(max(TOLERANCE, 4 * rounding), 100 * TOLERANCE)


def _apart(how: Preprocessing, ours: Array, theirs: Array) -> float:
    """How far the answers are apart."""
    if how.task == "classification" or ours.shape != theirs.shape:
        return _largest(ours, theirs)
    far = how.target_shift if theirs.dtype == np.float64 else 0.0
    ours, theirs = ((values - far) * how.target_scale for values in (ours, theirs))
    return _largest(ours, theirs)


def _largest(ours: Array, theirs: Array) -> float:
    if ours.shape != theirs.shape:
        return float("inf")
    scale = np.maximum(1.0, np.abs(ours).max(axis=1, keepdims=True))
    return float((np.abs(ours.astype(np.float64) - theirs) / scale).max())
