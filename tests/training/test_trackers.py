"""Trackers in a run: everything is passed on, and their faults end nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from senn_cli.spec import Spec
from senn_cli.tracking.tracker import KINDS
from senn_cli.training.trackers import Trackers, open_trackers
from tests.tracking.test_tracker import spec_of

AROUND: Any = (None, None)  # moments that no tracker looks at


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
    trackers.round([{"step": 1}, {"step": 2}], *AROUND)
    trackers.metrics({"step": 2})
    trackers.end({"status": "finished"})
    trackers.close()
    trackers.close()


ALL = [
    ("metrics", 1),
    ("event", 1),
    ("event", 2),
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
