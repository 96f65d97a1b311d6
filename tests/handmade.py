"""Run directories and histories written by hand, for tests of what reads them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from senn_cli.report.record import Record

SPEC = """\
name: {name}
seed: 3
network: {{kind: mlp, hidden: {hidden}, activation: {activation}}}
expansion: {{policy: senn, threshold: 0.5}}
"""


def run_directory(
    path: Path,
    *,
    name: str = "'made'",
    hidden: Sequence[int] = (2,),
    activation: str = "rational",
    metrics: Iterable[Mapping[str, Any]] = (),
    history: Iterable[Mapping[str, Any]] = (),
    summary: Mapping[str, Any] | None = None,
    resumed: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """A run directory without checkpoints; `name` is YAML."""
    path.mkdir(parents=True, exist_ok=True)
    spec = SPEC.format(name=name, hidden=list(hidden), activation=activation)
    (path / "spec.yaml").write_text(spec, encoding="utf-8")
    for file, rows in (("metrics", metrics), ("history", history), ("resumed", resumed)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        if lines:
            (path / f"{file}.jsonl").write_text(lines)
    if summary is not None:
        (path / "summary.json").write_text(json.dumps(summary))
    return path


def checkpoint(
    run: Path,
    step: int,
    hidden: Sequence[tuple[int, int]],
    *,
    inputs: int = 2,
    outputs: int = 2,
    place: str = "checkpoints",
) -> Path:
    """A checkpoint without arrays: layers of (width, capacity), rational."""
    path = run / place / str(step)
    path.mkdir(parents=True)
    layers = [{"width": w, "capacity": c, "activation": "rational"} for w, c in hidden]
    known = {"kind": "mlp", "inputs": inputs, "outputs": outputs, "hidden": layers}
    document = {
        "format": 1,
        "step": step,
        "metric": None,
        "meta": {"architecture": known},
        "arrays": {},
    }
    (path / "meta.json").write_text(json.dumps(document))
    (path / "complete").touch()
    return path


def weights(run: Path, hidden: Sequence[tuple[int, int]], *, inputs: int, outputs: int) -> Path:
    """The final architecture without arrays."""
    path = run / "weights"
    path.mkdir()
    layers = [{"width": w, "capacity": c, "activation": "tanh"} for w, c in hidden]
    known = {"kind": "mlp", "inputs": inputs, "outputs": outputs, "hidden": layers}
    (path / "architecture.json").write_text(json.dumps({"format": 1, "architecture": known}))
    return path


def row(step: int, hidden: Sequence[int], **more: Any) -> dict[str, Any]:
    """A row of metrics."""
    return {"step": step, "epoch": step / 10, "hidden": list(hidden), **more}


def event(step: int, hidden: Sequence[int], edit: str | None = None, **more: Any) -> dict[str, Any]:
    """A line of the history with the widths after it; a rejection without an edit."""
    known = {
        "step": step,
        "edit": edit,
        "accepted": edit is not None,
        "reason": "because",
        "threshold": 0.5,
        "hidden": list(hidden),
        "capacities": [8] * len(hidden),
        "parameters": 10 * sum(hidden),
    }
    return known | more


def added(step: int, hidden: Sequence[int], layer: int, gain: float, **more: Any) -> dict[str, Any]:
    """One neuron added to `layer`, with its predicted gain."""
    known = {"layer": layer, "neurons": 1, "site": f"layer {layer}", "predicted_gain": gain}
    return event(step, hidden, "add_neurons", **(known | more))


def inserted(step: int, hidden: Sequence[int], at: int, gain: float, **more: Any) -> dict[str, Any]:
    """A layer inserted within map `at`, with its predicted gain."""
    known = {"map": at, "side": "inputs", "neurons": hidden[at], "site": f"map {at}"}
    return event(step, hidden, "insert_layer", **(known | {"predicted_gain": gain} | more))


def record(
    *,
    history: Sequence[Mapping[str, Any]] = (),
    metrics: Sequence[Mapping[str, Any]] = (),
    hidden: Sequence[int] = (2,),
) -> Record:
    """What `read_record` would make of these, without a directory."""
    return Record(
        path=Path("/nowhere"),
        spec={"name": "made", "network": {"hidden": list(hidden)}},
        environment={},
        metrics=tuple(map(dict, metrics)),
        history=tuple(map(dict, history)),
        origin=None,
        summary=None,
        resumed=(),
        status="interrupted",
    )
