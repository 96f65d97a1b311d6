from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.report.plots.recordings import Moment, at_steps, boundaries, landscapes
from senn_cli.report.record import Record, read_record
from tests.report.plots.made import made_run, save_boundary, save_landscape


def test_in_order(recorded: Record) -> None:
    assert [each.moment for each in landscapes(recorded)] == [
        Moment(20, "before"),
        Moment(20, "after"),
        Moment(30, "before"),
        Moment(30, "after"),
        Moment(60, "end"),
    ]
    found = boundaries(recorded)
    assert [(each.moment.step, each.hidden) for each in found] == [
        (0, ()),
        (20, ()),
        (40, (3, 2)),
        (60, (3, 2)),
    ]
    assert found[0].probabilities.shape == (31, 41, 2)


def test_up_to_a_step(recorded: Record) -> None:
    earlier = read_record(recorded.path, step=20)
    assert [each.moment.step for each in landscapes(earlier)] == [20, 20]


def test_at_steps(recorded: Record) -> None:
    found = landscapes(recorded)
    assert [each.moment.when for each in at_steps(found, (60, 20))] == ["before", "after", "end"]
    with pytest.raises(UsageError) as caught:
        at_steps(found, (20, 25))
    assert caught.value.message == "--steps: nothing was recorded at step 25"
    assert caught.value.hint == "Recorded steps: 20, 30, 60."


@pytest.mark.parametrize(
    ("read", "option", "needs"),
    [
        (landscapes, "record.landscape: true", "one input"),
        (boundaries, "record.boundary: true", "two inputs"),
    ],
)
def test_without_any_the_spec_option_is_named(
    read: object, option: str, needs: str, record: Record
) -> None:
    assert callable(read)
    with pytest.raises(RunError) as caught:
        read(record)
    assert option in (caught.value.hint or "") and needs in (caught.value.hint or "")


def test_none_yet(tmp_path: Path) -> None:
    record = made_run(tmp_path / "r", record={"landscape": True})
    with pytest.raises(RunError, match=r"yet, although its record.landscape is true"):
        landscapes(record)


def damaged(record: Record) -> str:
    with pytest.raises(RunError) as caught:
        boundaries(record)
    assert "boundary-00000020-before.npz is damaged: " in caught.value.message
    return caught.value.message.split("is damaged: ")[1]


def test_damaged_files(record: Record) -> None:
    save_boundary(record.path, 20, "before")
    path = record.path / "recordings/boundary-00000020-before.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert damaged(record)
    path.write_bytes(b"")
    assert damaged(record)
    path.write_bytes(b"not a zip file at all")
    assert damaged(record)


def test_wrong_arrays(record: Record) -> None:
    save_boundary(record.path, 20, "before", y=np.zeros(5))
    assert "probabilities has shape (31, 41, 2)" in damaged(record)
    save_boundary(record.path, 20, "before", train_x=np.zeros((20, 3)))
    assert damaged(record).endswith("expected numbers (N, 2)")
    save_boundary(record.path, 20, "before", hidden=np.array(["a"]))
    assert "hidden has shape (1,) and type <U1" in damaged(record)
    np.savez(record.path / "recordings/boundary-00000020-before.npz", x=np.zeros(3))
    assert damaged(record) == "it has no array y"


def test_pickles_are_never_loaded(record: Record) -> None:
    save_boundary(record.path, 20, "before", hidden=np.array([print], dtype=object))
    assert "allow_pickle" in damaged(record)


def test_other_files_are_left_alone(record: Record) -> None:
    save_landscape(record.path, 20, "before")
    folder = record.path / "recordings"
    (folder / ".landscape-00000030-end.npz.12.tmp").write_bytes(b"")
    (folder / "landscape-x-end.npz").write_bytes(b"")
    assert len(landscapes(record)) == 1
