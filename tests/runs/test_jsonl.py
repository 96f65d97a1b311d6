from __future__ import annotations

import enum
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.errors import RunError
from senn_cli.runs.jsonl import TAIL, append_row, dumps, last_row, read_rows, to_json


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


def test_the_last_complete_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert last_row(path) is None
    path.write_text("")
    assert last_row(path) is None
    path.write_text('{"step": 1')
    assert last_row(path) is None
    path.write_text('{"step": 1}\n')
    assert last_row(path) == {"step": 1}
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3, "torn')
    assert last_row(path) == {"step": 2}


@pytest.mark.parametrize("length", [TAIL - 30, TAIL - 12, TAIL, TAIL + 1, 9 * TAIL])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_rows_around_the_size_of_a_block(tmp_path: Path, length: int, before: int) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"step": index} for index in range(before)] + [{"step": before, "text": "x" * length}]
    for torn in ("", '{"step": 9', "y" * (TAIL + 5)):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows) + torn)
        assert last_row(path) == read_rows(path)[-1] == rows[-1]


def test_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for content, what in (("nope\n", "not a line of JSON"), ("[1]\n", "expected a JSON object")):
        path.write_text('{"step": 1}\n' + content)
        with pytest.raises(RunError, match=what) as caught:
            last_row(path)
        assert str(path) in caught.value.message
    path.unlink()
    path.mkdir()
    with pytest.raises(RunError, match="cannot be read"):
        last_row(path)
