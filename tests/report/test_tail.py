from __future__ import annotations

import json
from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.report.tail import BLOCK, last_row
from senn_cli.runs.jsonl import read_rows


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


@pytest.mark.parametrize("length", [BLOCK - 30, BLOCK - 12, BLOCK, BLOCK + 1, 9 * BLOCK])
@pytest.mark.parametrize("before", [0, 1, 5])
def test_rows_around_the_size_of_a_block(tmp_path: Path, length: int, before: int) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"step": index} for index in range(before)] + [{"step": before, "text": "x" * length}]
    for torn in ("", '{"step": 9', "y" * (BLOCK + 5)):
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
