"""Reading a network that was trained elsewhere: the mapping, given or found, and what it makes.

Nothing is written here; see `senn_cli.use.imports`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError, UsageError
from senn_cli.model import mismatch
from senn_cli.nets.features import Architecture, ArrayTree
from senn_cli.spec.dump import as_yaml
from senn_cli.use import export_safetensors
from senn_cli.use.about import read_description
from senn_cli.use.import_feeding import preprocessing_of
from senn_cli.use.import_mapping import WORDS
from senn_cli.use.import_names import told as names_tell
from senn_cli.use.import_network import build
from senn_cli.use.import_reader import Origin, check_finite
from senn_cli.use.import_sklearn import is_estimator, open_estimator
from senn_cli.use.import_tasks import TASKS
from senn_cli.use.mapping_file import parse_mapping, read_mapping
from senn_cli.use.weights_files import WeightsFile, open_weights
from senn_cli.words import plural

_FIRST = ("kind", "activation", "pool", "image", "layout", "flatten", "maps", "blocks", "head")
"""The order of a mapping's keys where it is written."""


@dataclass(frozen=True)
class Plan:
    """A network as it was read, before anything is written.

    Attributes:
      source: the file, or the object of Python.
      mapping: which array is what, as a mapping file says it; None for an export of senn.
      written: the mapping file, if one was given.
      notes: what was assumed where none was.
      architecture, params, arrays, preprocessing: see `Imported`.
    """

    source: Path
    mapping: str | None
    written: Path | None
    notes: tuple[str, ...]
    architecture: Architecture
    params: ArrayTree
    arrays: tuple[Origin, ...]
    preprocessing: Preprocessing | None


def read_weights(weights: Any, mapping: Path | None = None, overrides: Sequence[str] = ()) -> Plan:
    """Reads a network that was trained elsewhere; writes nothing.

    Args:
      weights: the path of a file as `weights_files` knows them, or a fitted estimator.
      mapping: a file as `import_mapping` describes it; None where names, a configuration or senn's
        own description tell.
      overrides: keys of the mapping, given or found, as `key=value`.

    Raises:
      UsageError: a file that cannot be used, a mapping that does not fit it, or none where nothing
        tells.
      RunError: a damaged file, an array of another shape or type, or with numbers that are not
        finite.
    """
    file = open_estimator(weights) if is_estimator(weights) else open_weights(Path(weights))
    if mapping is None and "senn" in file.metadata:
        if overrides:
            raise UsageError(f"{file.path} is an export of senn, of which all is known: no --set")
        if "mapping" in file.metadata:  # the arrays are PyTorch's, as `--format torch` writes them
            return _exported_for_torch(file)
        model = export_safetensors.read(file.path)
        check_finite(model.params, str(file.path))
        arrays = tuple(
            Origin(f"params/{part}/{leaf}", array.shape, f"from {part}.{leaf}")
            for part, leaves in model.params.items()
            for leaf, array in leaves.items()
        )
        known = (model.architecture, model.params, arrays, model.preprocessing)
        return Plan(file.path, None, None, (), *known)
    if mapping is None:
        told = names_tell(file) if file.told is None else file.told()
        where, said = f"the mapping found for {file.path}", _keys(overrides)
        said |= set(TASKS) if said & set(TASKS) else set()
        # What outputs are taken for gives way to what is said of them.
        values = {key: v for key, v in told.values.items() if key not in said or key not in TASKS}
        notes = tuple(note for key, note in told.notes.items() if key not in said)
        text = as_yaml(values)
        if len(values["maps"]) > 1 and "activation" not in {*values, *_keys(overrides)}:
            raise UsageError(
                f"{file.path} does not tell the activation of its "
                f"{plural(len(values['maps']) - 1, 'hidden layer')}",
                hint=f"Say it: --activation {' | '.join(WORDS)}. Beside that, this was found:\n"
                + text,
            )
        described = parse_mapping(text, where, overrides)
    else:
        where, notes = str(mapping), ()
        described = read_mapping(mapping, overrides)
    architecture, params, origins = build(file, described, where)
    feeding = preprocessing_of(described, architecture, where)
    used = described.model_dump(mode="json", exclude_unset=True)
    used = {key: used[key] for key in (*(k for k in _FIRST if k in used), *used)}
    return Plan(file.path, as_yaml(used), mapping, notes, architecture, params, origins, feeding)


def _keys(overrides: Sequence[str]) -> set[str]:
    """The keys that are set from outside."""
    return {text.partition("=")[0].strip() for text in overrides}


def explained(plan: Plan) -> str:
    """The mapping as YAML, with what it makes and what was assumed in comments."""
    network = plan.architecture
    sizes = " -> ".join(map(str, (network.inputs, *network.widths, network.outputs)))
    lines = [f"makes of {plan.source}: {network.kind}, {sizes}, {network.parameters:,} parameters"]
    lines += [f"{one.array} ({', '.join(map(str, one.shape))}): {one.words}" for one in plan.arrays]
    lines += [f"note: {note}" for note in plan.notes]
    if plan.mapping is None:
        lines.append("it is an export of senn, which describes itself and needs no mapping")
    return "".join(f"# {line}\n" for line in lines) + (plan.mapping or "")


def _exported_for_torch(file: WeightsFile) -> Plan:
    """The network in the `network.safetensors` of a PyTorch export."""
    try:
        _, preprocessing = read_description(file.metadata["senn"])
    except ValueError as error:
        raise RunError(f"{file.path}: metadata `senn`: {error}") from error
    where = f"the metadata of {file.path}"
    described = parse_mapping(file.metadata["mapping"], where)  # JSON is YAML
    architecture, params, arrays = build(file, described, where)
    fault = mismatch(architecture, preprocessing)
    if fault is not None:
        raise RunError(f"{file.path}: metadata `senn`: {fault}")
    return Plan(file.path, None, None, (), architecture, params, arrays, preprocessing)
