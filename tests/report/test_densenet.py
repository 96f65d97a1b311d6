"""What the views make of a DenseNet that grew, and lost channels again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from senn_cli.cli.inspection import decisions, sections
from senn_cli.cli.inspection.screen import Screen
from senn_cli.report.audit import UNMEASURED, AtOnce, audit
from senn_cli.report.numbering import last_numbers
from senn_cli.report.overview import document, shape
from senn_cli.report.page.decisions import decisions as log
from senn_cli.report.page.gains import gains
from senn_cli.report.page.growth import layers, rounds
from senn_cli.report.page.head import sentence
from senn_cli.report.page.scores import scores, words
from senn_cli.report.page.seconds import seconds
from senn_cli.report.record import Record, read_record
from senn_cli.report.tracks import tracks
from senn_cli.report.verdict import at_once_words
from tests.handmade import dense_run, event

SCREEN = Screen(1000, "utf-8")


@pytest.fixture
def grown(tmp_path: Path) -> Record:
    return read_record(dense_run(tmp_path / "dense"))


def flat(lines: list[tuple[str, str]]) -> str:
    return " ".join(text.strip() for text, _ in lines)


def test_a_layer_keeps_its_name_and_its_widths(grown: Record) -> None:
    names = ["block 0 layer 0", "block 1 layer 0", "block 1 layer 1"]
    assert [track.name for track in tracks(grown)] == names
    assert [each["name"] for each in layers(grown)] == names
    assert [track.widths for track in tracks(grown)] == [(8, 7, 7), (4, 4), (8, 10, 9, 9)]
    # By numbers of the end: what block 1 began with is layer 2.
    assert [known.before for known in last_numbers(grown)][:5] == [(0, 2)] * 4 + [(0, 1, 2)]


def test_the_log_names_the_layers_of_the_end(grown: Record) -> None:
    assert log(grown, audit(grown), last_numbers(grown))["where"] == [
        "block 1 bud 0 (before block 1 layer 1 at the end)",
        "block 1 layer 0 (block 1 layer 1 at the end)",
        "block 1 layer 0 (block 1 layer 1 at the end)",
        "block 1 bud 0 (block 1 layer 0 at the end)",
        "block 1 layer 1",
        "block 0 layer 0",
        "block 1 bud 1",
    ]


def test_scores_of_candidates_and_costs_of_prunings(grown: Record) -> None:
    found = scores(grown, last_numbers(grown))
    told = list(zip(found["step"], found["kind"], found["layer"], found["accepted"], strict=True))
    assert told == [
        (20, "depth", 2, False), (20, "width", 2, False),
        (40, "width", 2, True), (40, "depth", 2, False),
        (60, "depth", 2, True),
        (80, "pruned", 2, True), (80, "pruned", 0, True),
        (100, "depth", 2, False),
    ]  # fmt: skip
    text = " ".join(words(grown))
    assert "mean over its channels" in text and "all maps together" in text
    assert "\u03c4 times 3" in text and "pruned" in text


def test_prunings_are_told_with_what_they_did(grown: Record) -> None:
    found = audit(grown)
    assert found.rounds == () and found.unmeasured == 2
    assert found.prunings == AtOnce(2, pytest.approx(0.001), pytest.approx(0.0035), 1)
    assert at_once_words("pruning", found.prunings) == (
        "2 prunings: the loss was predicted to change by +0.001 in all, and changed by +0.0035 at "
        "once; 1 of 2 in the predicted direction."
    )
    assert document(grown)["audit"]["prunings"]["count"] == 2
    last = rounds(grown, found, last_numbers(grown))[-1]
    assert last["marks"] == ["pruned"]
    assert [(e["predicted"], e["realised"]) for e in last["edits"]] == [
        (-0.002, -0.003), (0.001, -0.0005),
    ]  # fmt: skip


def test_why_there_is_no_audit(grown: Record) -> None:
    told = gains(audit(grown))["words"]
    assert told[1] == UNMEASURED and told[2].startswith("2 prunings")
    assert " ".join(["Score audit:", *told]) == flat(decisions.score_audit(audit(grown), SCREEN))


def test_the_legend_says_what_holds_for_this_network(grown: Record) -> None:
    text = flat(decisions.legend(grown, SCREEN))
    assert "all maps together" in text and "above 3 \u03c4 a bud becomes a layer" in text
    assert "that the map has" not in text and "Realised: loss gained" not in text
    assert "negative where the loss rises" in text


def test_rounds_that_were_not_recorded_are_not_counted(grown: Record) -> None:
    assert sentence(grown) == (
        "It grew from hidden sizes 8-8 to 7-4-9 between steps 40 and 80: 1 layer inserted, "
        "2 channels added, 2 channels pruned. 3 growth rounds changed the network."
    )


def test_buds_are_named_and_not_counted(grown: Record) -> None:
    found = shape(grown)
    assert [row.site for row in found.rows] == [
        "block 0 bud 0", "block 0 layer 0", "block 1 bud 0", "block 1 layer 0", "block 1 bud 1",
        "block 1 layer 1", "output",
    ]  # fmt: skip
    lines = [text for text, _ in sections.architecture(found, SCREEN)]
    total = next(line.split() for line in lines if line.startswith("total"))
    # Kernels of 9 taps: 1 to 7, 7 to 4, 7 and 4 to 9; the head has a bias.
    assert total == ["total", "20", f"{9 * (7 + 7 * 4 + 11 * 9) + 10 * 2:,}"]
    assert "not counted" in lines[-1]


def test_a_live_run_is_ahead_of_what_it_saved(tmp_path: Path) -> None:
    path = dense_run(tmp_path / "dense")
    more = event(120, [7, 4, 10], "add_neurons", layer=2, neurons=1, capacities=[8, 8, 12])
    with (path / "history.jsonl").open("a") as file:
        file.write(json.dumps(more) + "\n")
    found = shape(read_record(path))
    assert found.source == "history"
    rows = {row.site: (row.width, row.capacity, row.inputs, row.parameters) for row in found.rows}
    # It reads the 7 channels of block 0 and the 4 of the layer before it, through 9 taps.
    assert rows["block 1 layer 1"] == (10, 12, 11, 9 * 11 * 10)
    assert rows["block 1 bud 1"] == (4, 4, 11, 9 * 11 * 4)
    assert rows["output"] == (2, 2, 10, 11 * 2)
    assert {row.activation for row in found.rows[:-1]} == {"silu"}


def test_what_is_not_known_without_anything_saved(tmp_path: Path) -> None:
    path = dense_run(tmp_path / "dense")
    (path / "weights" / "architecture.json").unlink()
    found = shape(read_record(path))
    assert [(row.site, row.width, row.capacity, row.inputs) for row in found.rows] == [
        ("block 0 layer 0", 7, 8, None),
        ("block 1 layer 0", 4, 8, None),
        ("block 1 layer 1", 9, 12, None),
        ("output", None, None, None),
    ]


def test_tracking_has_its_seconds(grown: Record) -> None:
    assert seconds(grown)["parts"] == [["training steps", 6], ["tracking curvature", 3]]
