from __future__ import annotations

import pytest

from senn_cli.report.tracks import Track, starting_widths, tracks
from tests.handmade import added, event, inserted, record, row


def test_a_run_without_growth_keeps_its_widths() -> None:
    made = record(metrics=[row(10, [3, 4]), row(20, [3, 4])])
    assert tracks(made) == (
        Track("layer 0", 0, (0, 20), (3, 3)),
        Track("layer 1", 0, (0, 20), (4, 4)),
    )


def test_a_run_that_has_just_started_has_the_spec_s_layers() -> None:
    assert tracks(record(hidden=[5, 6])) == (
        Track("layer 0", 0, (0,), (5,)),
        Track("layer 1", 0, (0,), (6,)),
    )


def test_a_linear_model_has_none() -> None:
    assert tracks(record(hidden=[], metrics=[row(10, [])])) == ()


def test_an_insertion_in_front_renumbers_what_is_behind() -> None:
    made = record(
        history=[
            added(10, [3], 0, 0.1),  # the only layer: 2 to 3
            inserted(20, [4, 3], 0, 0.1),  # a new layer 0; the old one is layer 1 from here on
            added(30, [4, 4], 1, 0.1),  # the old one again
            added(40, [5, 4], 0, 0.1),
        ],
        metrics=[row(50, [5, 4])],
    )
    assert tracks(made) == (
        Track("layer 0", 20, (20, 40, 50), (4, 5, 5)),
        Track("layer 1", 0, (0, 10, 30, 50), (2, 3, 4, 4)),
    )


def test_an_insertion_between_two_layers() -> None:
    made = record(history=[inserted(20, [2, 7, 3], 1, 0.1)], hidden=[2, 3])
    found = tracks(made)
    assert [track.born for track in found] == [0, 20, 0]
    assert [track.width_at(20) for track in found] == [2, 7, 3]
    assert [track.width_at(19) for track in found] == [2, 0, 3]


def test_several_edits_at_one_step_count_together() -> None:
    made = record(history=[added(10, [3, 2], 0, 0.1), added(10, [3, 3], 1, 0.1)])
    assert [track.width_at(9) for track in tracks(made)] == [2, 2]
    assert [track.width_at(10) for track in tracks(made)] == [3, 3]


def test_rejections_between_change_nothing() -> None:
    made = record(history=[event(5, [2]), added(10, [3], 0, 0.1), event(10, [3]), event(20, [3])])
    assert tracks(made) == (Track("layer 0", 0, (0, 10, 20), (2, 3, 3)),)


def test_pruning_and_a_larger_capacity() -> None:
    made = record(
        history=[
            event(10, [4], "enlarge_capacity", layer=0, capacity=16),
            event(20, [3], "prune_neurons", layer=0, neuron=1),
        ]
    )
    assert tracks(made) == (Track("layer 0", 0, (0, 20), (4, 3)),)


@pytest.mark.parametrize(
    ("first", "before"),
    [
        (added(10, [5, 3], 1, 0.1, neurons=2), (5, 1)),
        (inserted(10, [5, 3], 0, 0.1), (3,)),
        (event(10, [5, 3], "prune_neurons", layer=0, neuron=2), (6, 3)),
        (event(10, [5, 3], "enlarge_capacity", layer=0, capacity=16), (5, 3)),
    ],
)
def test_the_widths_before_the_first_edit(first: dict[str, object], before: tuple[int]) -> None:
    assert starting_widths(record(history=[first])) == before
