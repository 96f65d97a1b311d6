from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.report.live.feed import INTERVAL, Feed
from senn_cli.runs.holder import Holder
from tests.counting import documents_read
from tests.handmade import row, run_directory
from tests.report.live.test_delta import carried_out
from tests.report.page.made import grown_run
from tests.report.page.test_assemble import data_of


class Clock:
    """A clock that stands still unless it is set forward."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def follow(clock: Clock) -> Callable[..., Feed]:
    def made(*places: Path) -> Feed:
        return Feed(places, clock, lambda: datetime(2025, 1, 2, tzinfo=UTC))

    return made


def append(run: Path, *rows: dict[str, Any]) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write("".join(json.dumps(each) + "\n" for each in rows))


def test_a_row_that_comes_is_told_alone(
    tmp_path: Path, clock: Clock, follow: Callable[..., Feed]
) -> None:
    run = grown_run(tmp_path / "r")
    feed = follow(run)
    shown = data_of(feed.page())
    first = shown.pop("live")["version"]
    assert feed.since(first)["changes"] == []
    append(run, row(60, [2, 5], train_loss=0.125))
    clock.seconds += INTERVAL
    with documents_read() as read:
        answer = feed.since(first)
    assert len([value for value in read if isinstance(value, dict) and "step" in value]) == 1
    assert [["runs", 0, "curves", "train_loss"], 5, [0.125]] in answer["changes"]
    assert carried_out(shown, answer["changes"]) == feed.since(None)["whole"]
    assert len(json.dumps(answer)) < 2000
    assert feed.since(answer["version"])["changes"] == []


def test_nothing_is_read_before_it_is_time(
    tmp_path: Path, clock: Clock, follow: Callable[..., Feed]
) -> None:
    run = grown_run(tmp_path / "r")
    feed = follow(run)
    version = feed.since(None)["version"]
    append(run, row(60, [2, 5]))
    assert feed.since(version)["version"] == version
    clock.seconds += INTERVAL / 2
    assert feed.since(version)["version"] == version
    clock.seconds += INTERVAL / 2
    assert feed.since(version)["version"] > version


def test_a_state_that_is_not_known_gets_the_whole(
    tmp_path: Path, follow: Callable[..., Feed]
) -> None:
    feed = follow(grown_run(tmp_path / "r"))
    for version in (None, 0, 99):
        answer = feed.since(version)
        assert ("whole" in answer) is (version != 0)  # from nothing on, all is a change
    assert carried_out({}, feed.since(0)["changes"]) == feed.since(None)["whole"]


def test_runs_that_come_into_a_folder_are_taken_up(
    tmp_path: Path, clock: Clock, follow: Callable[..., Feed]
) -> None:
    feed = follow(tmp_path)
    data = feed.since(None)["whole"]
    assert data["runs"] == []
    assert data["notes"] == [f"There is no run in {tmp_path} yet; this page shows those that come."]
    run_directory(tmp_path / "b", name="second", metrics=[row(10, [2], train_loss=1.0)])
    clock.seconds += INTERVAL
    data = feed.since(None)["whole"]
    assert ([run["name"] for run in data["runs"]], data["notes"]) == (["second"], [])
    run_directory(tmp_path / "a", name="third")  # before it by the alphabet, but it came later
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "spec.yaml").write_text("seed: [")
    clock.seconds += INTERVAL
    data = feed.since(None)["whole"]
    assert [run["name"] for run in data["runs"]] == ["second", "third"]
    assert len(data["comparison"]["rows"]) == 2
    (note,) = data["notes"]
    assert note.startswith(f"{tmp_path / 'c' / 'spec.yaml'} is damaged")


def test_a_run_that_is_deleted_is_kept_and_said_so(
    tmp_path: Path, clock: Clock, follow: Callable[..., Feed]
) -> None:
    run, other = grown_run(tmp_path / "a"), grown_run(tmp_path / "b")
    feed = follow(run, other)
    shutil.rmtree(run)
    clock.seconds += INTERVAL
    data = feed.since(None)["whole"]
    gone, left = data["runs"]
    assert (gone["status"], left["status"]) == ("deleted", "finished")
    assert "no longer there" in gone["note"]
    assert len(gone["curves"]["step"]) == 5
    assert [line[1] for line in data["comparison"]["rows"]] == ["deleted", "finished"]
    grown_run(run)
    clock.seconds += INTERVAL
    assert feed.since(None)["whole"]["runs"][0]["status"] == "finished"


def test_damage_that_comes_later_is_told_with_what_was_read_before(
    tmp_path: Path, clock: Clock, follow: Callable[..., Feed]
) -> None:
    run = grown_run(tmp_path / "r")
    feed = follow(run)
    append(run, {"step": -1})
    clock.seconds += INTERVAL
    (shown,) = feed.since(None)["whole"]["runs"]
    assert shown["status"] == "damaged"
    assert "metrics.jsonl:6: step" in shown["note"]
    assert len(shown["curves"]["step"]) == 5


def test_the_status_follows_the_process(
    tmp_path: Path, clock: Clock, follow: Callable[..., Feed]
) -> None:
    run = run_directory(tmp_path / "r", metrics=[row(10, [2])])
    lock = run / "lock.json"
    lock.write_text(json.dumps(asdict(Holder.current())))
    feed = follow(run)
    (shown,) = feed.since(None)["whole"]["runs"]
    assert (shown["status"], shown["note"]) == ("running", "")
    lock.unlink()
    clock.seconds += INTERVAL
    (shown,) = feed.since(None)["whole"]["runs"]
    assert shown["status"] == "interrupted"


def test_a_run_that_is_named_must_be_one(tmp_path: Path, follow: Callable[..., Feed]) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        follow(tmp_path / "none")
    run = run_directory(tmp_path / "r")
    (run / "metrics.jsonl").write_text("no JSON\n")
    with pytest.raises(RunError, match="not a line of JSON"):
        follow(run)
