from __future__ import annotations

from senn_cli.report.numbering import Numbers, last_numbers
from tests.handmade import added, event, inserted, record


def test_an_insertion_renumbers_what_lies_behind_it() -> None:
    made = record(
        history=[
            added(10, [3], 0, 0.1),  # the only layer, the second one at the end
            inserted(20, [4, 3], 0, 0.1),
            added(30, [4, 4], 1, 0.1),
            inserted(40, [4, 2, 4], 1, 0.1),  # so that it is the third one at the very end
        ]
    )
    assert last_numbers(made) == [
        Numbers((2,), (2,)),
        Numbers((2,), (0, 2)),
        Numbers((0, 2), (0, 2)),
        Numbers((0, 2), (0, 1, 2)),
    ]


def test_sites() -> None:
    numbers = Numbers((0, 2), (0, 1, 2))
    assert [numbers.target({"site": f"layer {i}"}) for i in range(2)] == [0, 2]
    # The last map leads to the outputs.
    assert [numbers.target({"site": f"map {i}"}) for i in range(3)] == [0, 2, None]
    unknown = ("", "layer 7", "block 0")
    assert [numbers.target({"site": site}) for site in unknown] == [None, None, None]
    # What is named by its block tells its number besides.
    assert numbers.target({"site": "block 0 layer 1", "layer": 1}) == 2


def test_what_an_event_made() -> None:
    numbers = Numbers((0, 2), (0, 1, 2))
    assert numbers.grown({"map": 1}) == 1
    assert numbers.grown({"layer": 2}) == 2
    assert numbers.grown({"neurons": 1}) is None


def test_rejections_and_a_linear_model() -> None:
    made = record(history=[event(10, []), inserted(20, [2], 0, 0.1)], hidden=[])
    assert last_numbers(made) == [Numbers((), ()), Numbers((), (0,))]
