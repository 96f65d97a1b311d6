"""Whatever is edited in a run's files, every look at it works, or names the line and field."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from senn_cli.cli.app import app
from senn_cli.errors import RunError, SennError
from senn_cli.report.plots.kinds import KINDS, draw
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.style import styled
from senn_cli.report.record import read_record
from senn_cli.training.origin import origins
from tests.handmade import added, dense_run, event, inserted, row, run_directory

CANDIDATE = {
    "kind": "width", "site": "layer 0", "layer": 0, "delta_eta": 0.5, "delta_eta_lower": 0.4,
    "bias": 0.01, "eta": 1.0, "score": 0.5, "ratio": 0.5, "passes": True, "weights": [0.1, 0.2],
}  # fmt: skip
MEASURED: dict[str, Any] = {
    "candidates": [CANDIDATE], "train_loss": 0.7, "eta": 1.0, "ratio": 0.6, "delta_eta": 0.6,
    "seconds": {"score": 0.5, "surgery": 0.1}, "epoch": 2.0, "stop": 0.1, "bound": None,
}  # fmt: skip
HISTORY = (
    event(10, [2], site="layer 0", **MEASURED),
    added(20, [3], 0, 0.3, **MEASURED, loss_before=0.7, loss_after=0.7),
    inserted(30, [2, 3], 0, 0.2, **MEASURED),
    event(40, [2, 3], "enlarge_capacity", layer=1, capacity=12, **MEASURED),
    event(50, [2, 2], "prune_neurons", layer=1, neuron=1, predicted_change=0.1,
          realised_change=0.05, **MEASURED),
    event(60, [2, 3], reason="stopped",
          end={"metric": "train_loss", "step": 30, "value": 0.7, "restored": True}),
)  # fmt: skip
METRICS = tuple(
    row(10 * k, hidden, train_loss=1 - k / 10, validation_loss=1.1 - k / 10, eta=1.0,
        validation_accuracy=k / 10, parameters=20, learning_rate=0.1, seconds=k / 2)
    for k, hidden in enumerate([[2], [2], [3], [2, 3], [2, 3], [2, 2]])
)  # fmt: skip
SUMMARY = {
    "name": "made", "status": "finished", "policy": "senn", "seed": 3, "test_accuracy": 0.9,
    "test_loss": 0.3, "hidden": [2, 2], "parameters": 24, "events": 4, "compilations": 5,
    "compiled": {"train": 1}, "steps": 60, "epochs": 6.0, "seconds": {"train": 1.5, "total": 3.0},
    "best": {"metric": "train_loss", "step": 30, "value": 0.7}, "stopped_early": True,
    "weights_step": 30,
}  # fmt: skip
ENVIRONMENT = {
    "senn": "0.1", "python": "3.11", "packages": {"jax": "0.10"}, "cpus": 2, "git": None,
    "command": ["senn"], "variables": {}, "time": "2026-01-02T03:04:05+00:00", "device": "CPU",
    "devices": ["cpu:0"],
}  # fmt: skip
RESUMED = ({"time": "2026-01-02T04:04:05+00:00", "step": 20, "overrides": ["seed=3"]},)
FILES = ("metrics.jsonl", "history.jsonl", "summary.json", "environment.json", "resumed.jsonl")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of an MLP and one of a DenseNet, with all that a run's files hold."""
    root = tmp_path_factory.mktemp("runs")
    mlp = run_directory(
        root / "mlp", metrics=METRICS, history=HISTORY, summary=SUMMARY, resumed=RESUMED
    )
    (mlp / "environment.json").write_text(json.dumps(ENVIRONMENT))
    dense = dense_run(root / "dense")
    (dense / "environment.json").write_text(json.dumps(ENVIRONMENT))
    return mlp, dense


def called(*arguments: object) -> None:
    """Runs a command; whatever is no SennError comes through."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            app(list(map(str, arguments)), standalone_mode=False)
    except SennError:
        pass


def looked_at(run: Path) -> None:
    """Every command that looks at runs; one of each reader where its files are refused."""
    called("inspect", run)
    called("runs", run)
    try:
        read_record(run)
    except SennError:
        return
    called("inspect", run, "--step", 30)
    called("inspect", "history", run, "--rejected")
    called("inspect", "history", run, "--json")
    called("inspect", "architecture", run)
    called("inspect", run, "--json")
    called("report", run, "-o", run / "report.html")
    called("compare", run, run)
    called("compare", run, "--json")


def drawn(run: Path) -> None:
    """Every plot."""
    for name, kind in KINDS.items():
        try:
            records = [read_record(run)]
            options = Options(width=kind.width, baseline=tuple(records) if kind.baseline else ())
            with styled(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a layout that 1e99 leaves no room for
                figure = draw(name, records, options)
                figure.savefig(StringIO(), format="svg")
        except SennError:
            continue


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all fields within a row."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*at, key)
        if isinstance(item, dict | list):
            yield from places(item, (*at, key))


GONE = object()
VALUES: tuple[Any, ...] = (
    GONE, None, "text", "", True, 0, 1, -1, 7, 0.5, 2**53, 10**30, 1e99, 1e300, [], [1], ["a"],
    [1, 2, 3], [[]], [{}], {}, {"a": 1}, {"a": None}, [None], "layer 9", "insert_layer",
)  # fmt: skip


def edited(content: Any, at: Sequence[str | int], value: Any) -> None:
    """Puts `value` at a path, or removes what is there."""
    for key in at[:-1]:
        content = content[key]
    if value is GONE:
        del content[at[-1]]
    else:
        content[at[-1]] = value


def mutated(run: Path, choose: Callable[[Sequence[Any]], Any]) -> Callable[[], None]:
    """Edits one field of one file of a run; returns what puts the file back."""
    file = run / choose([name for name in FILES if (run / name).exists()])
    kept = file.read_text()
    rows = [json.loads(line) for line in kept.splitlines()] if file.suffix == ".jsonl" else None
    content: Any = json.loads(kept) if rows is None else rows
    number = None if rows is None else choose(range(len(rows)))
    row = content if number is None else content[number]
    edited(row, choose(list(places(row))), choose(VALUES))
    text = json.dumps(content) if rows is None else "".join(json.dumps(r) + "\n" for r in content)
    file.write_text(text)
    return lambda: file.write_text(kept) and None


def test_as_they_are_all_looks_work(runs: tuple[Path, Path]) -> None:
    for run in runs:
        with redirect_stdout(StringIO()):
            app(["inspect", str(run)], standalone_mode=False)
            app(["report", str(run), "-o", str(run / "report.html")], standalone_mode=False)
            app(["compare", str(run), str(run)], standalone_mode=False)
        assert read_record(run).accepted
        drawn(run)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_edit_makes_a_look_fail_otherwise_than_by_an_error(
    runs: tuple[Path, Path], data: st.DataObject
) -> None:
    run = data.draw(st.sampled_from(runs))
    restore = mutated(run, lambda options: data.draw(st.sampled_from(options)))
    try:
        looked_at(run)
    finally:
        restore()


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_edit_makes_a_plot_fail_otherwise_than_by_an_error(
    runs: tuple[Path, Path], data: st.DataObject
) -> None:
    run = data.draw(st.sampled_from(runs))
    restore = mutated(run, lambda options: data.draw(st.sampled_from(options)))
    try:
        drawn(run)
    finally:
        restore()


@pytest.mark.parametrize(
    ("file", "line", "at", "value", "message"),
    [
        ("metrics.jsonl", 2, ["step"], "ten", "step should be a whole number from 0 to"),
        (
            "metrics.jsonl",
            3,
            ["hidden"],
            [None],
            "hidden should be a list of whole numbers",
        ),
        ("metrics.jsonl", 1, ["train_loss"], [1], "train_loss should be a finite number up to 1e"),
        ("history.jsonl", 2, ["parameters"], 10**40, "parameters .* found a larger number"),
        ("history.jsonl", 2, ["edit"], "grow", "edit should be one of add_neurons, .*found 'grow'"),
        ("history.jsonl", 2, ["layer"], GONE, "layer should be a whole number .*found nothing"),
        (
            "history.jsonl",
            3,
            ["hidden"],
            [2],
            "hidden has 1 layer after insert_layer, but 1 layer",
        ),
        (
            "history.jsonl",
            1,
            ["candidates", 0, "ratio"],
            "x",
            r"candidates\[0\]: ratio should be a",
        ),
        ("history.jsonl", 1, ["seconds", "score"], {}, "seconds should be an object of numbers"),
        ("summary.json", None, ["seconds"], [1], "seconds should be an object of numbers, found a"),
        ("summary.json", None, ["name"], {}, "name should be a text, found an object"),
        ("environment.json", None, ["time"], 5, "time should be a text, found 5"),
        ("resumed.jsonl", 1, ["overrides"], "seed=3", "overrides should be a list of texts"),
    ],
)
def test_the_error_names_file_line_and_field(
    tmp_path: Path, file: str, line: int | None, at: list[Any], value: Any, message: str
) -> None:
    run = run_directory(
        tmp_path / "run", metrics=METRICS, history=HISTORY, summary=SUMMARY, resumed=RESUMED
    )
    (run / "environment.json").write_text(json.dumps(ENVIRONMENT))
    path = run / file
    where = str(path) if line is None else f"{path}:{line}"
    rows = [json.loads(text) for text in path.read_text().splitlines()]
    edited(rows[(line or 1) - 1], at, value)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(RunError, match=f"^{where}: {message}"):
        read_record(run)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: mlp, hidden: [2]", "kind: mlp, hidden: {a: 2}", "network.hidden should be a list"),
        ("expansion: {", "expansion: 5\nother: {", "expansion should be an object, found 5"),
        ("seed: 3", "seed: three", "seed should be a whole number, found 'three'"),
    ],
)
def test_an_edited_spec_is_told_by_its_field(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    run = run_directory(tmp_path / "run", metrics=METRICS)
    text = (run / "spec.yaml").read_text()
    assert old in text
    (run / "spec.yaml").write_text(text.replace(old, new))
    with pytest.raises(RunError, match=f"spec.yaml: {message}"):
        read_record(run)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"path": "/a"}, "origin: name should be a text, found nothing"),
        ({"path": "/a", "name": "a", "step": "x"}, "origin: step should be a whole number"),
        (5, "a link of its chain is no mapping"),
    ],
)
def test_an_edited_chain_of_transfers_is_told(tmp_path: Path, link: Any, message: str) -> None:
    run = run_directory(tmp_path / "run", metrics=METRICS, history=HISTORY)
    origin = {"path": "/b", "name": "b"}
    (run / "transfer.json").write_text(json.dumps({"origin": origin, "chain": [link]}))
    with pytest.raises(RunError, match=message):
        origins(run)
    called("inspect", run)
