from __future__ import annotations

import copy
from typing import Any

import pytest

from senn_cli.report.live.delta import Change, changes


def carried_out(document: Any, found: list[Change]) -> Any:
    """What the docstring of `Change` says, a second time; the page's own is tested in a browser."""
    for path, *told in found:
        *way, last = path
        place = document
        for key in way:
            place = place[key]
        if not told:
            del place[last]
        elif len(told) == 1:
            place[last] = told[0]
        else:
            place[last][told[0] :] = told[1]
    return document


BEFORE: dict[str, Any] = {
    "runs": [{"a": [1, 2, 3], "b": None}, {"a": [], "c": {"d": [[1, 2], [3, 4]]}}],
    "notes": ["x"],
}
AFTER: dict[str, dict[str, Any]] = {
    "the same": BEFORE,
    "a longer column": {**BEFORE, "runs": [{"a": [1, 2, 3, 4], "b": None}, BEFORE["runs"][1]]},
    "a shorter one": {**BEFORE, "runs": [{"a": [1], "b": None}, BEFORE["runs"][1]]},
    "one changed within": {**BEFORE, "runs": [{"a": [1, 9, 3], "b": None}, BEFORE["runs"][1]]},
    "a run more": {**BEFORE, "runs": [*BEFORE["runs"], {"a": [1]}]},
    "a run less": {**BEFORE, "runs": BEFORE["runs"][:1]},
    "other values": {"runs": [{"a": {"x": 1}, "b": [2]}, {"c": None}], "notes": []},
    "a key more and one less": {"runs": [{"a": [1, 2, 3], "z": 0}, BEFORE["runs"][1]]},
    "lists in lists": {**BEFORE, "runs": [BEFORE["runs"][0], {"a": [], "c": {"d": [[1], [3, 4]]}}]},
}


@pytest.mark.parametrize("now", AFTER.values(), ids=AFTER.keys())
def test_the_changes_make_the_one_of_the_other(now: dict[str, Any]) -> None:
    found = changes(BEFORE, now)
    assert carried_out(copy.deepcopy(BEFORE), found) == now
    assert carried_out(copy.deepcopy(now), changes(now, BEFORE)) == BEFORE
    assert (found == []) is (now == BEFORE)


def test_of_a_column_its_end_alone_is_told() -> None:
    before = {"runs": [{"step": list(range(10_000)), "loss": [0.5] * 10_000}]}
    now = {"runs": [{"step": list(range(10_001)), "loss": [0.5] * 9_999 + [0.25, 0.125]}]}
    assert changes(before, now) == [
        [["runs", 0, "step"], 10_000, [10_000]],
        [["runs", 0, "loss"], 9_999, [0.25, 0.125]],
    ]
