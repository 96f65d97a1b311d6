"""The `meta.json` of a checkpoint: format, step, the arrays' table, the caller's data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from senn_cli.errors import RunError
from senn_cli.runs.arrays import reason
from senn_cli.runs.environment import senn_version

if TYPE_CHECKING:
    import numpy as np

FORMAT = 1
"""Version of the layout and of `meta.json`; another version's checkpoints are not read."""

_FIRST_KFAC = "curvature/stale"
"""An array of natural gradients from before factors had an age a row; later ones have none."""
_SHOWN = 5  # of the arrays that differ, in a message


def read_document(path: Path, step: int) -> dict[str, Any]:
    """The content of a `meta.json`, checked as far as this module relies on it.

    Raises:
      RunError: it is missing, damaged, of another step or of another format.
    """
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise RunError(f"{path} is missing: the checkpoint is damaged") from error
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} is damaged: {reason(error)}") from error
    if not isinstance(document, dict) or "format" not in document:
        raise RunError(f"{path} is damaged: it has no format")
    if document["format"] != FORMAT:
        raise RunError(
            f"{path} was written by senn {document.get('senn', 'of an unknown version')} in "
            f"format {document['format']}; senn {senn_version()} reads format {FORMAT}"
        )
    if document.get("step") != step:
        raise RunError(f"{path} is of step {document.get('step')}, not of {step}")
    table = document.get("arrays")
    sound = (
        isinstance(document.get("meta"), dict)
        and isinstance(table, dict)
        and all(isinstance(e, dict) and {"shape", "dtype", "crc32"} <= {*e} for e in table.values())
    )
    if not sound:
        raise RunError(f"{path} is damaged: parts of it are missing")
    return document


def check_arrays(
    path: Path,
    table: Mapping[str, Mapping[str, Any]],
    expected: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]],
) -> None:
    """RunError naming the arrays that differ from what is expected."""
    if _FIRST_KFAC in table and _FIRST_KFAC not in expected:
        raise RunError(
            f"{path} is of a former senn, whose Kronecker factors had one age for all their rows; "
            "this one cannot go on with them. The network is whole: `senn transfer` starts a new "
            "run from it",
        )

    def text(dtype: Any, shape: Any) -> str:
        return f"{dtype}{tuple(shape)}" if isinstance(shape, list | tuple) else f"{dtype}?"

    have = {name: text(entry["dtype"], entry["shape"]) for name, entry in table.items()}
    want = {name: text(dtype.name, shape) for name, (shape, dtype) in expected.items()}
    differing = [name for name in {**want, **have} if have.get(name) != want.get(name)]
    lines = [
        f"{name}: expected {want.get(name, 'no such array')}, found {have.get(name, 'none')}"
        for name in differing[:_SHOWN]
    ]
    if len(differing) > _SHOWN:
        lines.append(f"and {len(differing) - _SHOWN} more")
    if lines:
        raise RunError(f"{path} holds other arrays than expected: {'; '.join(lines)}")
