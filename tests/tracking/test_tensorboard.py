"""Event files, read back record by record; tensorboardX must be installed."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from senn_cli.spec import Spec, parse_spec
from senn_cli.tracking.tensorboard import TensorBoardTracker

pytest.importorskip("tensorboardX", reason="needs the extra tensorboard")

BASE = "data: digits\nnetwork: mlp\n"


def spec_of(directory: Path | None = None) -> Spec:
    options = "true" if directory is None else f"{{directory: {directory}}}"
    return parse_spec(f"{BASE}track: {{tensorboard: {options}}}\n", "s.yaml")


def events(file: Path) -> Iterator[Any]:
    """The events of a file: length (8 bytes), its checksum (4), content, its checksum (4)."""
    from tensorboardX.proto.event_pb2 import Event

    content = file.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]


def points(file: Path) -> list[tuple[str, int, Any]]:
    """Tag, step and value of all scalars and texts of a file."""
    return [
        (
            value.tag,
            event.step,
            value.tensor.string_val[0].decode()
            if value.HasField("tensor")
            else pytest.approx(value.simple_value),
        )
        for event in events(file)
        for value in event.summary.value
    ]


def files(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def row(step: int, loss: float) -> dict[str, Any]:
    return {"step": step, "train_loss": loss, "hidden": [3, 2], "parameters": 38}


EVENT = {
    "step": 10,
    "edit": "add_neurons",
    "accepted": True,
    "site": "layer 0",
    "hidden": [4, 2],
    "reason": "enough",
    "delta_eta": 0.5,
    "ratio": 2.0,
}


def test_rows_events_and_summary(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(spec_of(), tmp_path, 0)
    tracker.metrics(row(10, 0.25))
    tracker.event(EVENT)
    tracker.end({"steps": 20, "status": "finished", "test_accuracy": 0.875, "test_loss": 0.5})
    (file,) = files(tmp_path / "tensorboard")
    before_the_end = file.read_bytes()
    tracker.close()
    assert file.read_bytes() == before_the_end  # all was on the disk already
    spec, *found = points(file)
    assert spec[:2] == ("spec/text_summary", 0)
    assert "    data:\n" in spec[2]
    assert sorted(found) == sorted(
        [
            ("loss/train", 10, 0.25),
            ("parameters", 10, 38.0),
            ("hidden/0", 10, 3.0),
            ("hidden/1", 10, 2.0),
            ("hidden/total", 10, 5.0),
            ("growth/text_summary", 10, "add_neurons at layer 0, now 4-2: enough"),
            ("growth/delta_eta", 10, 0.5),
            ("growth/ratio", 10, 2.0),
            ("accuracy/test", 20, 0.875),
            ("loss/test", 20, 0.5),
        ]
    )
    assert next(events(file)).file_version == "brain.Event:2"


def test_a_resumed_run_goes_on_in_the_same_directory(tmp_path: Path) -> None:
    # Resumed twice, at once: the seconds in the files' names are the same.
    for step, values in ((0, (10, 20, 30)), (10, (20, 30, 40)), (20, (30, 40))):
        tracker = TensorBoardTracker(spec_of(), tmp_path, step)
        for value in values:
            tracker.metrics(row(value, 1.0))
        tracker.close()
    found = files(tmp_path / "tensorboard")
    assert [[e.step for e in events(f) if e.HasField("session_log")] for f in found] == [
        [],
        [11],  # TensorBoard drops what has this step or a later one
        [21],
    ]
    (start,) = [e for e in events(found[1]) if e.HasField("session_log")]
    assert start.session_log.status == start.session_log.START
    losses = [[step for tag, step, _ in points(file) if tag == "loss/train"] for file in found]
    assert losses == [[10, 20, 30], [20, 30, 40], [30, 40]]


def test_tensorboard_itself_shows_every_step_once(tmp_path: Path) -> None:
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="needs TensorBoard itself, which no extra installs",
    )
    for step, values in ((0, (10, 20, 30)), (10, (20, 30, 40))):
        tracker = TensorBoardTracker(spec_of(), tmp_path, step)
        for value in values:
            tracker.metrics(row(value, float(value + step)))
        tracker.close()
    seen = reader.EventAccumulator(str(tmp_path / "tensorboard"))
    seen.Reload()
    assert [(p.step, p.value) for p in seen.Scalars("loss/train")] == [
        (10, 10.0),
        (20, 30.0),
        (30, 40.0),
        (40, 50.0),
    ]


def test_runs_that_share_a_directory_have_folders_of_their_own(tmp_path: Path) -> None:
    shared = tmp_path / "tb"
    runs = [tmp_path / "a" / "m", tmp_path / "b" / "m", tmp_path / "b" / "n"]
    for run in runs:
        run.mkdir(parents=True)
        TensorBoardTracker(spec_of(shared), run, 0).close()
    assert [path.name for path in files(shared)] == ["m", "m-2", "n"]
    moved = tmp_path / "moved"
    runs[1].rename(moved)
    TensorBoardTracker(spec_of(shared), moved, 0).close()
    assert [len(files(folder)) for folder in files(shared)] == [1, 2, 1]


def test_another_directory_on_resuming_begins_anew(tmp_path: Path) -> None:
    run = tmp_path / "m"
    run.mkdir()
    TensorBoardTracker(spec_of(tmp_path / "one"), run, 0).close()
    TensorBoardTracker(spec_of(tmp_path / "two"), run, 10).close()
    assert len(files(tmp_path / "one" / "m")) == len(files(tmp_path / "two" / "m")) == 1


def test_a_full_disk_is_an_error_and_no_standstill(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    tracker = TensorBoardTracker(spec_of(), tmp_path, 0)
    writer = tracker._writer._py_recordio_writer
    writer._writer.close()
    with full.open("wb", buffering=0) as writer._writer:
        for step in range(100):  # more than any queue holds
            with pytest.raises(OSError) as caught:
                tracker.metrics(row(step, 1.0))
    assert caught.value.errno == errno.ENOSPC
