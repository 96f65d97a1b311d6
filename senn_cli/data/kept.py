"""What was given in Python as files in a run's own directory, which a spec names."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Task
from senn_cli.data.features import choose
from senn_cli.data.python import Given
from senn_cli.data.table import Table, texts


def keep(given: Given, folder: Path, task: Task) -> dict[str, Any]:
    """Writes examples, targets and weights into `folder`, and returns a `data` section for them.

    A table becomes `data.csv`, numbers with all their digits; arrays become `data.npz`.

    Args:
      given: with targets.
      folder: where to; it exists.
      task: what the targets are.

    Raises:
      DataError: text whose values are nearly all different, such as names.
    """
    assert given.y is not None
    if not isinstance(given.x, Table):
        path = folder / "data.npz"
        arrays = {"x": given.x, "y": given.y}
        weighted = {} if given.weights is None else {"weights": given.weights}
        np.savez(path, allow_pickle=False, **arrays, **weighted)
        section = {"source": "npz", "path": str(path), "task": task}
        return section if given.weights is None else section | {"weights": "weights"}
    return _keep_table(given.x, given, folder / "data.csv", task)


def _keep_table(table: Table, given: Given, path: Path, task: Task) -> dict[str, Any]:
    columns = {name: table.column(name) for name in table.header}
    targets = []
    for place, values in enumerate(_columns(given.y)):
        own = given.targets[place] if place < len(given.targets) else f"target {place + 1}"
        targets.append(_free(own, columns))
        columns[targets[-1]] = _cells(values)
    section: dict[str, Any] = {
        "source": "csv",
        "path": str(path),
        "target": targets if len(targets) > 1 else targets[0],
        "task": task,
        "header": 1,
        "delimiter": ",",
    }
    if table.declared:  # a file of text has no types
        chosen = choose([table], table.header, "auto")
        listed = [name for name, yes in zip(table.header, chosen, strict=True) if yes]
        section["categories"] = listed
    if given.weights is not None:
        section["weights"] = _free("sample_weight", columns)
        columns[section["weights"]] = _cells(given.weights)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)  # whose ends of lines have it quote both of their letters
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return section


def _columns(y: Array | None) -> list[Array]:
    assert y is not None
    return [y] if y.ndim == 1 else list(y.T)


def _cells(values: Array) -> list[str]:
    if values.dtype.kind == "f":
        return texts(values.astype(np.float64))
    return [str(value) for value in values.tolist()]


def _free(name: str, taken: dict[str, list[str]]) -> str:
    """A name that no column has."""
    while name in taken:
        name += "_"
    return name
