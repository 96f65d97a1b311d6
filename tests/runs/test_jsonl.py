from __future__ import annotations

import enum
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.errors import RunError
from senn_cli.runs.jsonl import append_row, cut_rows, dumps, read_rows, to_json


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        (float("inf"), "null"),
        (-float("inf"), "null"),
        (np.float32("nan"), "null"),
        (np.float32(0.5), "0.5"),
        (np.int64(7), "7"),
        (np.bool_(True), "true"),
        (np.array(3), "3"),
        (np.array([[1.0, np.inf], [2.0, 3.0]]), "[[1.0, null], [2.0, 3.0]]"),
        ((1, [2, (3,)]), "[1, [2, [3]]]"),
        (True, "true"),
        (None, "null"),
        (Path("a/b"), '"a/b"'),
        (Colour.RED, '"red"'),
        (Level.HIGH, "3"),
        ({"größe": "№ 1"}, '{"größe": "№ 1"}'),
        ("line\nbreak", '"line\\nbreak"'),
        ("half \ud800", '"half ?"'),
    ],
)
def test_strict_json_of(value: object, text: str) -> None:
    assert dumps(value) == text


@pytest.mark.parametrize("value", [{1: 2}, {1, 2}, b"bytes", object()])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="JSON"):
        to_json({"nested": [value]})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), json_values))
def test_every_row_is_one_line_that_a_strict_reader_accepts(row: dict[str, object]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = dumps(row)
    assert "\n" not in text
    assert json.loads(text, parse_constant=refuse) == to_json(row)


def test_rows_come_back_in_order_and_earlier_bytes_stay(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append_row(path, {"step": 1, "loss": np.float32(0.25)})
    first = path.read_bytes()
    append_row(path, {"step": 2, "loss": float("nan")})
    assert path.read_bytes().startswith(first)
    assert read_rows(path) == [{"step": 1, "loss": 0.25}, {"step": 2, "loss": None}]


@pytest.mark.parametrize("torn", [b'{"step": 2, "lo', b'{"step": 2}', b"\xc3", b"x" * 10_000])
def test_a_torn_last_line_is_left_out_and_then_replaced(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    append_row(path, {"step": 1})
    with path.open("ab") as file:
        file.write(torn)
    assert read_rows(path) == [{"step": 1}]
    append_row(path, {"step": 2})
    assert path.read_bytes() == b'{"step": 1}\n{"step": 2}\n'


def test_a_file_that_is_nothing_but_torn(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step"')
    assert read_rows(path) == []
    append_row(path, {"step": 1})
    assert read_rows(path) == [{"step": 1}]


def test_a_row_that_cannot_be_written_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append_row(path, {"step": 1})
    with pytest.raises(TypeError):
        append_row(path, {"step": object()})
    assert path.read_bytes() == b'{"step": 1}\n'


@pytest.mark.parametrize("line", [b"{broken}", b"[1, 2]", b""])
def test_a_damaged_complete_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n' + line + b'\n{"step": 3}\n')
    with pytest.raises(RunError) as caught:
        read_rows(path)
    assert caught.value.message.startswith(f"{path}:2: ")


def test_a_missing_file_has_no_rows(tmp_path: Path) -> None:
    assert read_rows(tmp_path / "none.jsonl") == []


@given(
    steps=st.lists(st.integers(0, 8), max_size=8),
    notes=st.lists(st.text(), min_size=8, max_size=8),
    torn=st.sampled_from([b"", b'{"step": 1', b'{"step": 1}', b"\xc3"]),
    keep=st.integers(-1, 9),
)
def test_the_beginning_stays_and_the_rest_is_set_aside(
    steps: list[int], notes: list[str], torn: bytes, keep: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, aside = Path(folder, "metrics.jsonl"), Path(folder, "aside.jsonl")
        for step, note in zip(steps, notes, strict=False):
            append_row(path, {"note": note, "step": step})
        with path.open("ab") as file:
            file.write(torn)
        content = path.read_bytes()
        cut = cut_rows(path, keep, aside)

        kept = path.read_bytes()
        rest = aside.read_bytes() if aside.exists() else b""
        assert content == kept + rest
        beginning = [row["step"] for row in read_rows(path)]
        assert beginning == steps[: len(beginning)]
        assert all(step <= keep for step in beginning)
        assert len(beginning) == len(steps) or steps[len(beginning)] > keep
        assert cut == len(steps) - len(beginning)
        assert rest.endswith(torn)
        assert sorted(os.listdir(folder)) == ["aside.jsonl"] * bool(rest) + ["metrics.jsonl"]

        assert cut_rows(path, keep, aside) == 0
        assert path.read_bytes() == kept
        assert not rest or aside.read_bytes() == rest


def test_rows_after_a_step_are_moved(tmp_path: Path) -> None:
    path, aside = tmp_path / "history.jsonl", tmp_path / "cut.jsonl"
    # Several events of one step, spaces and an order of keys that we would not write.
    path.write_bytes(b'{"step":1}\n{ "a": 0, "step": 2 }\n{"step": 2}\n{"step": 3}\n{"st')
    assert cut_rows(path, 2, aside) == 1
    assert path.read_bytes() == b'{"step":1}\n{ "a": 0, "step": 2 }\n{"step": 2}\n'
    assert aside.read_bytes() == b'{"step": 3}\n{"st'


def test_nothing_comes_back_after_steps_out_of_order(tmp_path: Path) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    path.write_bytes(b'{"step": 2}\n{"step": 1}\n{"step": 5}\n{"step": 3}\n')
    assert cut_rows(path, 4, aside) == 2
    assert path.read_bytes() == b'{"step": 2}\n{"step": 1}\n'
    assert aside.read_bytes() == b'{"step": 5}\n{"step": 3}\n'


def test_what_was_set_aside_before_stays_and_lines_are_not_joined(tmp_path: Path) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n{"st')
    assert cut_rows(path, 1, aside) == 1
    append_row(path, {"step": 3})
    assert cut_rows(path, 1, aside) == 1
    append_row(path, {"step": 4})
    assert cut_rows(path, 1, aside) == 1
    assert aside.read_bytes() == b'{"step": 2}\n{"st\n{"step": 3}\n{"step": 4}\n'
    assert path.read_bytes() == b'{"step": 1}\n'


def test_where_nothing_is_to_be_cut_nothing_is_written(tmp_path: Path) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    assert cut_rows(path, 0, aside) == 0
    assert os.listdir(tmp_path) == []
    append_row(path, {"step": 1})
    before = path.stat()
    assert cut_rows(path, 1, aside) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not aside.exists()


@pytest.mark.parametrize(
    "line",
    [
        *(b"{}", b'{"step": null}', b'{"step": true}', b'{"step": 1.0}', b'{"step": "1"}'),
        *(b"{broken}", b"[1]", b"", b"\xff"),
    ],
)
@pytest.mark.parametrize("keep", [0, 9])
def test_a_row_without_a_step_is_named_and_nothing_changes(
    tmp_path: Path, line: bytes, keep: int
) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    content = b'{"step": 1}\n' + line + b'\n{"step": 3}\n'
    path.write_bytes(content)
    with pytest.raises(RunError) as caught:
        cut_rows(path, keep, aside)
    assert caught.value.message.startswith(f"{path}:2: ")
    assert path.read_bytes() == content
    assert not aside.exists()


@pytest.mark.parametrize("failing", ["aside", "path"])
def test_a_full_disk_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    content = b'{"step": 1}\n{"step": 2}\n'
    path.write_bytes(content)
    aside.write_bytes(b'{"step": 0}\n')
    calls: list[int] = []
    fsync = os.fsync

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == ["aside", "path"].index(failing) + 1:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="cannot be written: No space left") as caught:
        cut_rows(path, 1, aside)
    assert caught.value.message.startswith(str({"aside": aside, "path": path}[failing]))
    assert path.read_bytes() == content
    assert aside.read_bytes() == b'{"step": 0}\n' + b'{"step": 2}\n' * (failing == "path")
    assert sorted(os.listdir(tmp_path)) == ["cut.jsonl", "metrics.jsonl"]
