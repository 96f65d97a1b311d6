from __future__ import annotations

from typing import Any

from senn_cli.report.numbering import last_numbers
from senn_cli.report.page.scores import scores
from tests.handmade import added, event, inserted, record


def candidate(kind: str, site: str, ratio: float | None) -> dict[str, Any]:
    return {"kind": kind, "site": site, "ratio": ratio}


def scores_of(*history: dict[str, Any]) -> dict[str, list[Any]]:
    made = record(history=history)
    return scores(made, last_numbers(made))


def test_every_candidate_is_a_point_and_the_first_of_an_accepted_line_is_the_edit() -> None:
    width = candidate("width", "layer 0", 4.0)
    depth = candidate("depth", "map 1", -0.5)
    found = scores_of(
        added(10, [3], 0, 0.1, candidates=[width, depth]),
        event(20, [3], candidates=[depth, width]),
        event(30, [3]),
    )
    assert found["step"] == [10, 10, 20, 20]
    assert found["kind"] == ["width", "depth", "depth", "width"]
    assert found["layer"] == [0, None, None, 0]
    assert found["ratio"] == [4.0, -0.5, -0.5, 4.0]
    assert found["accepted"] == [True, False, False, False]


def test_layers_have_their_last_number_in_every_round() -> None:
    point = [candidate("width", "layer 0", 1.0)]
    found = scores_of(
        event(10, [2], candidates=point),
        inserted(20, [2, 2], 0, 0.1, candidates=[candidate("depth", "map 0", 1.0)]),
        event(30, [2, 2], candidates=point),
    )
    assert found["layer"] == [1, 1, 0]


def test_the_threshold_where_it_changes() -> None:
    found = scores_of(
        event(10, [2]),
        event(20, [2]),
        event(30, [2], threshold=0.25),
        event(40, [2], threshold=None),
        event(50, [2], threshold=0.25),
    )
    assert found["tau"] == [[10, 0.5], [30, 0.25]]


def test_an_enlarged_capacity_repeats_no_scores_and_infinity_is_none() -> None:
    point = [candidate("width", "layer 0", None)]
    found = scores_of(
        event(10, [2], "enlarge_capacity", layer=0, candidates=point),
        added(10, [3], 0, 0.1, candidates=point),
    )
    assert (found["step"], found["ratio"]) == ([10], [None])
