from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from senn_cli.report.page.network import network
from senn_cli.report.record import read_record
from tests import toy
from tests.handmade import added, checkpoint, dense_run, inserted, row, run_directory


def told(path: Path) -> dict[str, Any]:
    return network(read_record(path))


def reads(found: dict[str, Any]) -> dict[str, list[str]]:
    """By the name of a feature those of what it reads."""
    names = [feature["name"] for feature in found["features"]]
    return {names[m["target"]]: [names[s] for s in m["sources"]] for m in found["maps"]}


def test_layers_that_follow_each_other(tmp_path: Path) -> None:
    history = [added(10, [3], 0, 0.5), inserted(20, [4, 3], 0, 0.25)]
    run = run_directory(tmp_path, history=history)
    checkpoint(run, 10, [(3, 8)], inputs=5, outputs=7)  # from before the insertion
    found = told(run)
    assert found["connected"]
    assert [(f["name"], f["role"], f["layer"], f["width"]) for f in found["features"]] == [
        ("inputs", "data", None, 5),
        ("layer 0", "hidden", 0, None),
        ("layer 1", "hidden", 1, None),
        ("outputs", "outputs", None, 7),
    ]
    assert [feature["column"] for feature in found["features"]] == [0, 1, 2, 3]
    assert reads(found) == {"layer 0": ["inputs"], "layer 1": ["layer 0"], "outputs": ["layer 1"]}


def test_before_the_first_checkpoint_the_order_is_known(tmp_path: Path) -> None:
    run = run_directory(tmp_path, hidden=[2, 3], metrics=[row(10, [2, 3])])
    found = told(run)
    assert found["connected"]
    assert [feature["width"] for feature in found["features"]] == [None] * 4
    assert list(reads(found)) == ["layer 0", "layer 1", "outputs"]
    (run / "spec.yaml").write_text("network: {kind: densenet, blocks: [[2], [3]]}\n")
    found = told(run)
    assert (found["connected"], found["maps"]) == (False, [])
    assert [f["group"] for f in found["features"]] == ["", "block 0", "block 1", ""]


def test_a_densenet_has_what_its_layers_read_and_no_buds(tmp_path: Path) -> None:
    found = told(dense_run(tmp_path))
    assert reads(found) == {
        "block 0 layer 0": ["image"],
        "block 1 layer 0": ["block 0 layer 0"],
        "block 1 layer 1": ["block 0 layer 0", "block 1 layer 0"],
        "outputs": ["block 1 layer 1"],
    }
    assert [m["window"] for m in found["maps"]] == [[3, 3], [3, 3], [3, 3], []]
    assert [f["column"] for f in found["features"]] == [0, 1, 2, 3, 4]
    assert [f["group"] for f in found["features"]] == ["", "block 0", "block 1", "block 1", ""]


def test_a_third_kind_with_two_branches_side_by_side(tmp_path: Path) -> None:
    run = run_directory(tmp_path, hidden=[2, 3, 4], metrics=[row(10, [2, 3, 4])])
    layers = [{"width": w, "capacity": w, "activation": "tanh"} for w in (2, 3, 4)]
    known = {"kind": "toy", "inputs": 5, "outputs": 2, "hidden": layers, "spare": "empty"}
    (run / "weights").mkdir()
    document = {"format": 1, "architecture": known}
    (run / "weights/architecture.json").write_text(json.dumps(document))
    with toy.known():
        found = told(run)
    assert reads(found) == {
        "left": ["data"],
        "right": ["data"],
        "joint_0": ["left", "right"],
        "classes": ["joint_0"],
    }
    assert [feature["column"] for feature in found["features"]] == [0, 1, 1, 2, 3]
