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


def bud_or_layer(layer: int, site: str, ratio: float) -> dict[str, Any]:
    """The score of a standing proposal of a DenseNet, as its history has it."""
    kind = "depth" if "bud" in site else "width"
    return {"layer": layer, "kind": kind, "site": site, "ratio": ratio}


_WIDTH, _BUD = bud_or_layer(1, "block 1 layer 0", 0.25), bud_or_layer(1, "block 1 bud 0", 0.5)
_OF_DENSENET: dict[str, Any] = {"train_loss": None, "threshold": 0.125}

DENSE_HISTORY: tuple[dict[str, Any], ...] = (
    event(20, [8, 8], site="block 1 bud 0", ratio=0.5, candidates=[_BUD, _WIDTH], **_OF_DENSENET),
    event(40, [8, 8], "enlarge_capacity", layer=1, site="block 1 layer 0", capacity=12,
          candidates=[], train_loss=None, threshold=None),
    event(40, [8, 10], "add_neurons", layer=1, site="block 1 layer 0", neurons=2, channels=[8, 9],
          ratio=0.25, predicted_gain=0.5, candidates=[_WIDTH, _BUD], **_OF_DENSENET),
    event(60, [8, 4, 10], "insert_layer", layer=1, site="block 1 bud 0", neurons=4, ratio=0.5,
          predicted_gain=0.25, candidates=[_BUD], **_OF_DENSENET),
    event(80, [8, 4, 9], "prune_neurons", layer=2, site="block 1 layer 1", neuron=3, ratio=0.0625,
          predicted_change=0.002, realised_change=0.003,
          candidates=[bud_or_layer(2, "block 1 layer 1", 0.0625)], **_OF_DENSENET),
    event(80, [7, 4, 9], "prune_neurons", layer=0, site="block 0 layer 0", neuron=1, ratio=0.03125,
          predicted_change=-0.001, realised_change=0.0005,
          candidates=[bud_or_layer(0, "block 0 layer 0", 0.03125)], **_OF_DENSENET),
    event(100, [7, 4, 9], site="block 1 bud 1", capacities=[8, 8, 12], ratio=0.0625,
          candidates=[bud_or_layer(2, "block 1 bud 1", 0.0625)], **_OF_DENSENET),
)  # fmt: skip
"""A DenseNet of a layer in each of two blocks that gains room, channels and a layer, and loses two.

The loss is not measured in the rounds. The layer of step 60 stands before the one that block 1
began with, which is number 2 from then on.
"""

DENSE_SPEC = """\
name: dense
seed: 0
network: {kind: densenet, blocks: [[8], [8]], bud: 4}
expansion: {policy: senn, proposals: null, threshold: 0.125, dormant: {bud_factor: 3.0}}
"""


def dense_run(path: Path) -> Path:
    """A run with `DENSE_HISTORY` and its final architecture, images of 4 by 4 in one colour."""
    widths = ([8, 8], [8, 8], [8, 10], [8, 4, 10], [7, 4, 9], [7, 4, 9])
    rows = [row(20 * k, hidden, train_loss=1 - k / 10) for k, hidden in enumerate(widths)][1:]
    spent = {"train": 6.0, "track": 3.0, "total": 9.0}
    run_directory(path, metrics=rows, history=DENSE_HISTORY, summary={"seconds": spent})
    (path / "spec.yaml").write_text(DENSE_SPEC)
    (path / "weights").mkdir(exist_ok=True)
    blocks = [
        [{"width": w, "capacity": c, "activation": "silu"} for w, c in block]
        for block in ([(7, 8)], [(4, 8), (9, 12)])
    ]
    known = {
        "kind": "densenet", "image": [4, 4, 1], "outputs": 2, "blocks": blocks, "bud": 4,
        "pool": "max3s2",
    }  # fmt: skip
    (path / "weights" / "architecture.json").write_text(
        json.dumps({"format": 1, "architecture": known})
    )
    return path
