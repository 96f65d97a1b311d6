"""Importing a network that was trained elsewhere, so that growth can start from it.

What is written can be named to `senn transfer --from`. Where it is known how examples become
inputs, it is a run directory, which every view and use of finished runs takes; nothing was trained
in it, and it has 0 steps. Where that is not known, it holds weights alone.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError, UsageError
from senn_cli.nets.features import Architecture, ArrayTree
from senn_cli.nets.registry import kind_of
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.environment import environment
from senn_cli.runs.files import write_atomic
from senn_cli.runs.free import require_free
from senn_cli.runs.imported import DATA
from senn_cli.runs.jsonl import dumps
from senn_cli.runs.weights import save_weights
from senn_cli.training.origin import FORMAT, TRANSFER, digest_of
from senn_cli.use import export_safetensors
from senn_cli.use.import_mapping import read_mapping
from senn_cli.use.import_network import build, preprocessing_of
from senn_cli.use.import_reader import Origin, WeightsFile, check_finite, open_weights


@dataclass(frozen=True)
class Imported:
    """What was written.

    Attributes:
      path: the directory, absolute.
      architecture: of the network, without spare capacity.
      arrays: where every array comes from.
      preprocessing: None where nothing says how examples become inputs.
      digest: of the parameters, as transfers name them.
    """

    path: Path
    architecture: Architecture
    arrays: tuple[Origin, ...]
    preprocessing: Preprocessing | None
    digest: str


def import_weights(weights: Path, mapping: Path | None, output: Path) -> Imported:
    """Reads a network that was trained elsewhere, and writes it to a directory.

    Args:
      weights: a `.safetensors` or `.npz` file.
      mapping: a file as `import_mapping` describes it; None for an export of senn, which describes
        itself.
      output: a new or empty directory.

    Raises:
      UsageError: a file or directory that cannot be used, or a mapping that does not fit the file.
      RunError: a damaged file, an array of another shape or type, or with numbers that are not
        finite; or the directory cannot be written.
    """
    output = output.absolute()
    require_free(output, "-o")
    file = open_weights(weights)
    preprocessing: Preprocessing | None
    if mapping is None:
        architecture, params, arrays, preprocessing = _exported(file)
    else:
        described = read_mapping(mapping)
        architecture, params, arrays = build(file, described, str(mapping))
        preprocessing = preprocessing_of(described, architecture, str(mapping))
    flat = {f"params/{p}/{leaf}": a for p, leaves in params.items() for leaf, a in leaves.items()}
    found = Imported(output, architecture, arrays, preprocessing, digest_of(flat))
    existed = output.exists()
    try:
        _write(found, params, weights, mapping)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        if existed:
            output.mkdir(exist_ok=True)
        raise
    return found


def _exported(
    file: WeightsFile,
) -> tuple[Architecture, ArrayTree, tuple[Origin, ...], Preprocessing]:
    """The network in a file that `senn export --format safetensors` wrote."""
    if "senn" not in file.metadata:
        raise UsageError(
            f"{file.path} does not describe itself: it is no network that senn exported as "
            "safetensors",
            hint="Say in a mapping file what its arrays are: senn import WEIGHTS MAPPING",
        )
    model = export_safetensors.read(file.path)
    check_finite(model.params, str(file.path))
    arrays = tuple(
        Origin(f"params/{part}/{leaf}", array.shape, f"from {part}.{leaf}")
        for part, leaves in model.params.items()
        for leaf, array in leaves.items()
    )
    return model.architecture, model.params, arrays, model.preprocessing


def _write(found: Imported, params: ArrayTree, weights: Path, mapping: Path | None) -> None:
    """Writes the directory; what makes it a network to start from comes last."""
    path = found.path
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_atomic(path / TRANSFER, dumps(_record(found, weights, mapping), indent=1) + "\n")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    save_weights(path / "weights", found.architecture, params)
    if found.preprocessing is None:
        return
    run = RunDirectory(path)
    run.write_preprocessing(found.preprocessing.to_json())
    try:
        run.metrics_path.touch()
        run.history_path.touch()
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    run.write_summary(_summary(found))
    run.write_environment(environment())
    run.write_spec(_spec(found, weights))


def _record(found: Imported, weights: Path, mapping: Path | None) -> dict[str, Any]:
    """The content of `transfer.json`, as `senn_cli.training.origin` describes it."""
    architecture = found.architecture
    return {
        "format": FORMAT,
        "origin": {
            "name": weights.name,
            "run": None,
            "path": str(weights.absolute()),
            "step": None,
            "source": "import",
            "digest": found.digest,
            "kind": architecture.kind,
            "inputs": architecture.inputs,
            "hidden": list(architecture.widths),
            "outputs": architecture.outputs,
        },
        "chain": [],
        "settings": {"mapping": None if mapping is None else str(mapping.absolute())},
        "arrays": [
            {
                "array": one.array,
                "outcome": "re-initialised" if one.zero else "loaded",
                "reason": one.words,
                "shape": list(one.shape),
            }
            for one in found.arrays
        ],
    }


def _summary(found: Imported) -> dict[str, Any]:
    return {
        "name": found.path.name,
        "status": "finished",
        "policy": "none",
        "seed": 0,
        "hidden": list(found.architecture.widths),
        "parameters": found.architecture.parameters,
        "events": 0,
        "steps": 0,
        "run_directory": str(found.path),
    }


def _spec(found: Imported, weights: Path) -> str:
    """A spec of the network, whose data lie where the user may put some."""
    from senn_cli.spec import dump_spec, parse_spec

    assert found.preprocessing is not None
    kind = kind_of(found.architecture)
    content = {
        "data": {"source": "npz", "path": DATA, "task": found.preprocessing.task},
        "network": {"kind": kind.name} | kind.section(found.architecture),
        "expansion": {"policy": "none"},
    }
    # JSON is YAML 1.2; the name of the run is that of the directory.
    spec = parse_spec(json.dumps(content), f"{found.path.name}.yaml", found.path)
    said = [
        f"Imported from {weights.name!r}: the network was trained elsewhere, not as this says.",
        f"`senn evaluate` looks for examples in {DATA} (arrays x and y), or takes --data SPEC.",
    ]
    return "".join(f"# {line}\n" for line in said) + dump_spec(spec)
