"""Which trackers a spec wants, whether their packages are there, and what their faults do."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from senn_cli.errors import UsageError
from senn_cli.spec import Spec, parse_spec
from senn_cli.tracking.tracker import KINDS, Trackers, check_trackers, open_trackers, wanted

BASE = "data: digits\nnetwork: mlp\n"
PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def spec_of(track: str) -> Spec:
    return parse_spec(f"{BASE}track: {track}\n", "s.yaml")


class Recorder:
    """Writes down what it is told; raises in the methods that `fails` names."""

    def __init__(self, *fails: str) -> None:
        self.fails = fails
        self.calls: list[Any] = []

    def _called(self, name: str, value: object) -> None:
        self.calls.append((name, value))
        if name in self.fails:
            raise OSError(28, "No space left on device")

    def metrics(self, row: Mapping[str, Any]) -> None:
        self._called("metrics", row["step"])

    def event(self, event: Mapping[str, Any]) -> None:
        self._called("event", event["step"])

    def end(self, summary: Mapping[str, Any]) -> None:
        self._called("end", summary["status"])

    def close(self) -> None:
        self._called("close", None)


def all_of_a_run(trackers: Trackers) -> None:
    trackers.metrics({"step": 1})
    trackers.event({"step": 1})
    trackers.metrics({"step": 2})
    trackers.end({"status": "finished"})
    trackers.close()
    trackers.close()


ALL = [
    ("metrics", 1),
    ("event", 1),
    ("metrics", 2),
    ("end", "finished"),
    ("close", None),
]


def test_everything_is_passed_on_in_order() -> None:
    one, two, notes = Recorder(), Recorder(), list[str]()
    all_of_a_run(Trackers([("A", one), ("B", two)], notes.append))
    assert one.calls == two.calls == ALL
    assert notes == []


def test_one_that_fails_is_reported_once_and_switched_off() -> None:
    bad, good, notes = Recorder("metrics", "close"), Recorder(), list[str]()
    all_of_a_run(Trackers([("TensorBoard", bad), ("B", good)], notes.append))
    assert bad.calls == [("metrics", 1), ("close", None)]
    assert good.calls == ALL
    assert notes == [
        "TensorBoard is switched off, the run goes on without it: "
        "[Errno 28] No space left on device"
    ]


def test_a_fault_at_the_end_is_reported_too() -> None:
    notes: list[str] = []
    all_of_a_run(Trackers([("A", Recorder("close"))], notes.append))
    assert len(notes) == 1


def test_an_interruption_is_no_fault_of_a_tracker() -> None:
    class Interrupted(Recorder):
        def metrics(self, row: Mapping[str, Any]) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Trackers([("A", Interrupted())], print).metrics({"step": 1})


def test_long_and_silent_reasons() -> None:
    class Odd(Recorder):
        def metrics(self, row: Mapping[str, Any]) -> None:
            raise row["error"]

    notes: list[str] = []
    Trackers([("A", Odd())], notes.append).metrics({"error": RuntimeError("x" * 999 + "\nmore")})
    Trackers([("A", Odd())], notes.append).metrics({"error": TimeoutError()})
    assert notes[0].endswith(": " + "x" * 200 + "...")
    assert notes[1].endswith(": TimeoutError")


def test_none_is_wanted_by_default() -> None:
    assert wanted(parse_spec(BASE, "s.yaml")) == ()
    assert wanted(spec_of("{tensorboard: false, mlflow: {enabled: false}}")) == ()
    assert [kind.key for kind in wanted(spec_of("{wandb: true, tensorboard: {}}"))] == [
        "tensorboard",
        "wandb",
    ]


def test_a_missing_package_is_told_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("tensorboardX", "mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
    check_trackers(parse_spec(BASE, "s.yaml"))
    with pytest.raises(UsageError) as one:
        check_trackers(spec_of("{tensorboard: true}"))
    assert one.value.message == ("track.tensorboard needs tensorboardX, which is not installed")
    assert one.value.hint == "Install it with: pip install 'senn-cli[tensorboard]'"
    assert one.value.exit_code == 2
    with pytest.raises(UsageError) as two:
        check_trackers(spec_of("{mlflow: true, wandb: true}"))
    assert two.value.message.endswith("and track.wandb needs wandb, which are not installed")
    assert two.value.hint == "Install it with: pip install 'senn-cli[mlflow,wandb]'"


def test_a_folder_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # `wandb` and MLflow leave folders of such names where they run.
    (tmp_path / "folder_without_code").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "senn_cli.tracking.tracker.KINDS",
        tuple(kind._replace(module="folder_without_code") for kind in KINDS),
    )
    with pytest.raises(UsageError, match="needs folder_without_code"):
        check_trackers(spec_of("{wandb: true}"))


def test_a_module_that_was_made_by_hand_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", ModuleType("wandb"))
    check_trackers(spec_of("{wandb: true}"))


def test_every_hint_names_an_extra_that_has_the_package() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    for kind in KINDS:
        assert any(line.startswith(kind.module) for line in extras[kind.key])


def test_one_that_cannot_be_opened_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Recorder()

    def fails(spec: Spec, run: Path, step: int) -> Recorder:
        raise ConnectionError("no route to host")

    def works(spec: Spec, run: Path, step: int) -> Recorder:
        opened.calls.append((run, step))
        return opened

    makers = {"mlflow": fails, "wandb": works}
    monkeypatch.setattr(
        "senn_cli.tracking.tracker.KINDS",
        tuple(kind._replace(make=makers.get(kind.key, kind.make)) for kind in KINDS),
    )
    notes: list[str] = []
    trackers = open_trackers(spec_of("{mlflow: true, wandb: true}"), tmp_path, 7, notes.append)
    trackers.metrics({"step": 8})
    assert opened.calls == [(tmp_path, 7), ("metrics", 8)]
    assert notes == ["MLflow is switched off, the run goes on without it: no route to host"]


def test_their_packages_are_imported_by_nothing_but_a_run_that_wants_them() -> None:
    script = (
        "import sys, senn_cli.tracking.tracker as t;"
        "from senn_cli.spec import parse_spec;"
        "spec = parse_spec('data: digits\\nnetwork: mlp\\ntrack: {tensorboard: true}', 's');"
        "t.wanted(spec); t.open_trackers(parse_spec('data: digits\\nnetwork: mlp'), '.', 0, print);"
        "heavy = {'tensorboardX', 'mlflow', 'wandb', 'jax', 'numpy'} & set(sys.modules);"
        "print(sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
