from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import RunError
from senn_cli.report.listing import Listed, document, find_runs, list_runs, ordered, read_listed
from senn_cli.runs.lock import RunLock
from tests.handmade import event, row, run_directory

SUMMARY = {
    "name": "made",
    "status": "finished",
    "policy": "senn",
    "seed": 3,
    "test_accuracy": 0.875,
    "hidden": [4, 2],
    "parameters": 47,
    "events": 5,
    "steps": 30,
    "epochs": 3.0,
    "seconds": {"train": 1.0, "total": 2.5},
}


def started(run: Path, time: str) -> Path:
    (run / "environment.json").write_text(json.dumps({"time": time}))
    return run


def listed(path: Path) -> Listed:
    return read_listed(path, path.name)


def trained(path: Path, training: str, **more: Any) -> Listed:
    """The row of an interrupted run of a spec with this training section."""
    run = run_directory(path, **more)
    with (run / "spec.yaml").open("a") as file:
        file.write(f"training: {training}\n")
    return listed(run)


def test_a_finished_run(tmp_path: Path) -> None:
    run = started(run_directory(tmp_path / "a", summary=SUMMARY), "2025-01-02T03:04:05+00:00")
    assert listed(run) == Listed(
        path=run,
        directory="a",
        status="finished",
        name="made",
        policy="senn",
        seed=3,
        started="2025-01-02T03:04:05+00:00",
        steps=30,
        total_steps=30,
        epochs=3.0,
        hidden=(4, 2),
        parameters=47,
        events=5,
        figure="accuracy",
        part="test",
        value=0.875,
        seconds=2.5,
    )


def test_an_interrupted_run_is_known_by_its_last_rows(tmp_path: Path) -> None:
    found = trained(
        tmp_path / "a",
        "{epochs: 12}",
        metrics=[row(10, [2]), row(20, [3], validation_mse=0.25, parameters=9, seconds=1.5)],
        history=[event(20, [4])],
    )
    assert (found.status, found.name, found.policy, found.seed) == (
        "interrupted",
        "made",
        "senn",
        3,
    )
    # The event of the same step comes after the evaluation.
    assert (found.steps, found.hidden, found.parameters) == (20, (4,), 40)
    assert (found.figure, found.part, found.value) == ("mse", "validation", 0.25)
    assert found.total_steps == 120  # rows are ten steps an epoch
    assert found.seconds == 1.5


def test_how_long_a_run_will_be(tmp_path: Path) -> None:
    assert trained(tmp_path / "a", "{steps: 360}").total_steps == 360
    assert trained(tmp_path / "b", "{epochs: 2}").total_steps is None  # nobody knows an epoch's yet
    assert trained(tmp_path / "c", "{minutes: 2}", metrics=[row(10, [2])]).total_steps is None
    assert trained(tmp_path / "d", "{epochs: 2.5}", metrics=[row(10, [2])]).total_steps == 25


def test_status(tmp_path: Path) -> None:
    run = run_directory(tmp_path / "a", metrics=[row(10, [2])])
    assert listed(run).status == "interrupted"
    with RunLock(run):
        assert listed(run).status == "running"
    diverged = SUMMARY | {"status": "diverged", "test_accuracy": None}
    found = listed(run_directory(tmp_path / "b", summary=diverged))
    assert (found.status, found.figure, found.value) == ("diverged", "accuracy", None)


@pytest.mark.parametrize(
    ("file", "content", "what"),
    [
        ("summary.json", "{", "summary.json is damaged"),
        ("summary.json", "[]", "summary.json is damaged"),
        ("summary.json", '{"hidden": 3}', "summary.json: hidden should be a list"),
        ("summary.json", '{"steps": "many"}', "summary.json: steps should be a whole"),
        ("summary.json", '{"seconds": 3}', "summary.json: seconds should be an"),
        ("environment.json", "nope", "environment.json is damaged"),
        ("spec.yaml", "a: [", "spec.yaml is damaged"),
        ("spec.yaml", "- a", "spec.yaml is damaged"),
        ("spec.yaml", "expansion: 3", "spec.yaml: expansion should be an object"),
        ("spec.yaml", "training: {epochs: x}", "spec.yaml: training.epochs should"),
        ("metrics.jsonl", "nope\n", "metrics.jsonl"),
        ("metrics.jsonl", '{"step": "x"}\n', "metrics.jsonl, last line: step should"),
        ("history.jsonl", "[]\n", "history.jsonl"),
    ],
)
def test_damage_is_a_row(tmp_path: Path, file: str, content: str, what: str) -> None:
    run = run_directory(tmp_path / "a", metrics=[row(10, [2])], history=[event(10, [2])])
    (run / file).write_text(content)
    found = listed(run)
    assert found.status == "damaged"
    assert found.problem is not None
    assert what in found.problem
    assert str(run) in found.problem


def test_runs_are_found_in_folders(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for name in ("b", "a", "seeds/1", "seeds/0"):
        run_directory(root / name)
    run_directory(root / "a" / "inner")  # within a run
    run_directory(root / "too" / "deep" / "down")
    run_directory(root / ".hidden")
    (root / "empty").mkdir()
    (root / "file").write_text("x")
    (root / "fresh").mkdir()
    (root / "fresh" / "metrics.jsonl").touch()  # killed before anything was written
    (root / "linked").symlink_to(root / "b", target_is_directory=True)
    names = [str(path.relative_to(root)) for path in find_runs(root)]
    assert names == ["a", "b", "linked", "seeds/0", "seeds/1"]
    assert [found.directory for found in list_runs(root)] == names
    assert find_runs(root / "a") == [root / "a"]
    with pytest.raises(RunError, match="cannot be read"):
        find_runs(root / "absent")


def test_a_run_without_its_spec_is_damaged(tmp_path: Path) -> None:
    run = started(run_directory(tmp_path / "a", metrics=[row(10, [2])]), "")
    (run / "spec.yaml").unlink()
    (found,) = list_runs(tmp_path)
    assert found.status == "damaged"
    assert "holds no spec.yaml" in str(found.problem)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    (found,) = list_runs(tmp_path)
    assert found.status == "damaged"


def made(directory: str, **known: Any) -> Listed:
    return Listed(Path("/", directory), directory, known.pop("status", "finished"), **known)


def order(rows: list[Listed], by: str, *, reverse: bool = False) -> str:
    return "".join(row.directory for row in ordered(rows, by, reverse=reverse))


def test_order() -> None:
    rows = [
        made("a", steps=5, name="y", started="2025-01-01T12:00:00+00:00", seconds=1.0),
        made("b", steps=7, name="X", started="2025-01-01T13:30:00+02:00", seconds=3.0),
        made("c", steps=6, name="z", started="2025-01-01T12:30:00+00:00", status="damaged"),
        made("d"),
    ]
    assert order(rows, "steps") == "bcad"
    assert order(rows, "steps", reverse=True) == "acbd"
    assert order(rows, "name") == "bacd"
    assert order(rows, "started") == "cabd"  # 11:30 in UTC is the oldest
    assert order(rows, "seconds") == "bacd"
    assert order(rows, "status") == "cabd"


def test_the_best_result_comes_first() -> None:
    rows = [
        made("a", figure="mse", value=0.5),
        made("b", figure="mse", value=0.25),
        made("c", figure="accuracy", value=0.5),
        made("d", figure="accuracy", value=0.75),
        made("e", figure="accuracy", value=None),
    ]
    assert order(rows, "result") == "dcbae"


def test_the_document(tmp_path: Path) -> None:
    run_directory(tmp_path / "a", summary=SUMMARY | {"test_accuracy": float("nan")})
    found = document(tmp_path, list_runs(tmp_path))
    assert (found["format"], found["root"]) == (1, str(tmp_path))
    assert found["runs"][0]["value"] is None  # not finite
    assert set(found["runs"][0]) == {
        "path", "directory", "status", "name", "policy", "seed", "started", "steps", "total_steps",
        "epochs", "hidden", "parameters", "events", "figure", "part", "value", "seconds", "problem",
    }  # fmt: skip
