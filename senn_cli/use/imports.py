"""Importing a network that was trained elsewhere, so that growth can start from it.

What is written can be named to `senn transfer --from`. Where it is known how examples become
inputs, it is a run directory, which every view and use of finished runs takes; nothing was trained
in it, and it has 0 steps. Where that is not known, it holds weights alone.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senn_cli.errors import RunError
from senn_cli.nets.registry import kind_of
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.environment import environment
from senn_cli.runs.files import write_atomic
from senn_cli.runs.free import require_free
from senn_cli.runs.imported import DATA
from senn_cli.runs.jsonl import dumps
from senn_cli.runs.weights import save_weights
from senn_cli.training.origin import FORMAT, TRANSFER, digest_of
from senn_cli.use.import_plan import Plan, read_weights


@dataclass(frozen=True)
class Imported(Plan):
    """What was written.

    Attributes:
      path: the directory, absolute.
      digest: of the parameters, as transfers name them.
    """

    path: Path
    digest: str


def write_import(plan: Plan, output: Path) -> Imported:
    """Writes a network that was read to a new or empty directory.

    Raises:
      UsageError: the directory cannot be used.
      RunError: it cannot be written.
    """
    output = output.absolute()
    require_free(output, "-o")
    flat = {
        f"params/{p}/{leaf}": a for p, leaves in plan.params.items() for leaf, a in leaves.items()
    }
    found = Imported(**vars(plan), path=output, digest=digest_of(flat))
    existed = output.exists()
    try:
        _write(found)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        if existed:
            output.mkdir(exist_ok=True)
        raise
    return found


def import_weights(
    weights: Any, mapping: Path | None, output: Path, overrides: Sequence[str] = ()
) -> Imported:
    """Reads a network as `read_weights` does, and writes it to the directory `output`."""
    require_free(output.absolute(), "-o")
    return write_import(read_weights(weights, mapping, overrides), output)


def _write(found: Imported) -> None:
    """Writes the directory; what makes it a network to start from comes last."""
    path = found.path
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_atomic(path / TRANSFER, dumps(_record(found), indent=1) + "\n")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    save_weights(path / "weights", found.architecture, found.params)
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
    run.write_spec(_spec(found))


def _record(found: Imported) -> dict[str, Any]:
    """The content of `transfer.json`, as `senn_cli.training.origin` describes it."""
    architecture = found.architecture
    return {
        "format": FORMAT,
        "origin": {
            "name": found.source.name,
            "run": None,
            "path": str(found.source.absolute()),
            "step": None,
            "source": "import",
            "digest": found.digest,
            "kind": architecture.kind,
            "inputs": architecture.inputs,
            "hidden": list(architecture.widths),
            "outputs": architecture.outputs,
        },
        "chain": [],
        "settings": {
            "mapping": None if found.written is None else str(found.written.absolute()),
            "map": found.mapping,
        },
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


def _spec(found: Imported) -> str:
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
        f"Imported from {found.source.name!r}: it was trained elsewhere, not as this says.",
        f"`senn evaluate` looks for examples in {DATA} (arrays x and y), or takes --data SPEC.",
    ]
    return "".join(f"# {line}\n" for line in said) + dump_spec(spec)
