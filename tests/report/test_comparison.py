from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from senn_cli.errors import UsageError
from senn_cli.report.comparison import (
    Statistics,
    devices,
    differences,
    document,
    figure_of,
    figures,
    last_hidden,
    settings,
    summarised,
    value,
)
from senn_cli.report.record import Record, Status
from senn_cli.spec import dump_spec, parse_spec
from tests.handmade import event, record, row


def run(
    seed: int,
    accuracy: float | None = 0.5,
    *,
    name: str = "made",
    status: Status = "finished",
    figure: Literal["accuracy", "mse"] = "accuracy",
    device: str = "CPU",
    summary: dict[str, Any] | None = None,
    **spec: Any,
) -> Record:
    known = {f"test_{figure}": accuracy, "hidden": [3, 2], "seconds": {"total": 4.0}}
    return replace(
        record(metrics=[row(10, [2], train_loss=2.0), row(20, [3, 2], train_loss=1.0)]),
        path=Path(f"/runs/{name}-{seed}"),
        spec={"name": name, "seed": seed, **spec},
        summary=None if status in ("running", "interrupted") else known | (summary or {}),
        status=status,
        environment={"device": device},
    )


def test_seeds_and_names_make_no_setting() -> None:
    found = settings(
        [run(1, name="b"), run(0, name="a"), run(2, data={"noise": 0.1}), run(0, name="c")]
    )
    assert [(s.label, s.seeds) for s in found] == [("A", (0, 0, 1)), ("B", (2,))]
    assert settings([run(0), run(1, data={})])[1:]  # an option more, though it is empty


def test_the_order_of_options_makes_no_setting() -> None:
    one = run(0, a={"x": 1, "y": 2}, b=3)
    other = run(1, b=3, a={"y": 2, "x": 1})
    assert len(settings([one, other])) == 1


def test_labels_go_on_after_z() -> None:
    found = settings([run(0, width=index) for index in range(28)])
    assert [s.label for s in found][-3:] == ["Z", "AA", "AB"]


def test_differences_by_dotted_names() -> None:
    found = settings(
        [
            run(0, a={"x": 1, "same": [2]}, every={"epochs": 1}),
            run(1, a={"x": None, "same": [2]}, every={"steps": 30}, more={"y": False}),
        ]
    )
    assert differences(found) == {
        "a.x": {"A": 1, "B": None},
        "every": {"A": {"epochs": 1}, "B": {"steps": 30}},
        "more.y": {"B": False},
    }
    assert differences(found[:1]) == {}


def test_values_of_other_types_differ() -> None:
    assert differences(settings([run(0, x=1), run(0, x=True), run(0, x="1")])) == {
        "x": {"A": 1, "B": True, "C": "1"}
    }


def test_statistics_of_numbers_worked_out_by_hand() -> None:
    # Deviations from 5 are -3, -1, -1, -1, 0, 0, 2, 4: squares sum to 32, over 7.
    found = Statistics.of([2, 4, 4, 4, 5, 5, 7, 9])
    assert found == Statistics(8, 5.0, pytest.approx(math.sqrt(32 / 7)), 2.0, 9.0)
    assert Statistics.of([0.25]) == Statistics(1, 0.25, None, 0.25, 0.25)
    assert Statistics.of([]) == Statistics(0, None, None, None, None)


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e-300, 1e300, -7.7])
@pytest.mark.parametrize("count", [2, 3, 10])
def test_equal_values_have_no_deviation(number: float, count: int) -> None:
    assert Statistics.of([number] * count) == Statistics(count, number, 0.0, number, number)


def test_only_finished_runs_count() -> None:
    (setting,) = settings(
        [
            run(0, 0.5),
            run(1, 1.0),
            run(2, 0.0, status="diverged"),
            run(3, status="interrupted"),
            run(4, None),
            run(5, math.nan),
        ]
    )
    assert summarised(setting, "test_accuracy") == Statistics(
        2, 0.75, pytest.approx(math.sqrt(0.125)), 0.5, 1.0
    )
    assert summarised(setting, "train_loss").n == 4
    assert summarised(setting, "test_loss") == Statistics(0, None, None, None, None)


def test_values() -> None:
    one = run(0, summary={"parameters": 47, "events": 0, "seconds": {"total": 4.0, "compile": 1.5}})
    names = ("hidden_neurons", "parameters", "events", "seconds_total", "seconds_compile")
    assert [value(one, name) for name in names] == [5.0, 47.0, 0.0, 4.0, 1.5]
    assert value(one, "train_loss") == 1.0  # the last row's
    assert value(one, "validation_accuracy") is None
    assert figures([one]) == ("test_accuracy", "train_loss", *names)


def test_runs_of_one_seed_are_told() -> None:
    (setting,) = settings([run(0), run(0), run(1), run(2), run(2, status="interrupted")])
    assert setting.repeated == (0,)


def test_accuracies_and_errors_are_not_mixed() -> None:
    with pytest.raises(UsageError, match="classification") as caught:
        figure_of([run(0), run(1, figure="mse", name="other")])
    assert "/runs/made-0" in caught.value.message
    assert "/runs/other-1" in caught.value.message
    # A run that has told nothing yet stands in no one's way.
    assert figure_of([run(0, figure="mse"), run(1, status="interrupted")]) == "mse"
    assert figure_of([run(1, status="interrupted")]) is None


def test_devices_once_each() -> None:
    assert devices([run(0), run(1, device="GPU"), run(2)]) == ["CPU", "GPU"]
    assert devices([record()]) == []


def test_hidden_widths_of_a_run_that_goes_on() -> None:
    assert last_hidden(run(0)) == [3, 2]
    grown = record(metrics=[row(10, [2])], history=[event(10, [4])])
    assert last_hidden(grown) == [4]
    assert last_hidden(record(metrics=[row(20, [5])], history=[event(10, [4])])) == [5]
    assert last_hidden(record()) is None


def test_the_document() -> None:
    found = document(settings([run(1, 1.0), run(0, 0.5), run(0, status="interrupted", x=1)]))
    assert list(found) == [
        "format", "figure", "settings", "differences", "repeated_seeds", "paired", "devices",
        "curves",
    ]  # fmt: skip
    first, second = found["settings"]
    assert [entry["seed"] for entry in first["runs"]] == [0, 1]
    accuracy = first["figures"]["test_accuracy"]
    assert accuracy == {
        "n": 2, "mean": 0.75, "sd": pytest.approx(math.sqrt(0.125)), "min": 0.5, "max": 1.0,
    }  # fmt: skip
    assert second["runs"][0]["figures"]["train_loss"] is None  # it has not finished
    assert found["differences"] == {"x": {"B": 1}}
    curves = found["curves"]
    assert (curves["figure"], curves["axis"]) == ("train_loss", "epoch")
    assert curves["places"][4] == 1.0  # of two epochs
    assert curves["settings"]["B"]["means"][4:] == (2.0,) * 5 + (1.0,)


def resolved(seed: int, text: str, *without: str) -> Record:
    """A run of a spec as this version resolves it, or one that lacks the options `without`."""
    spec = yaml.safe_load(dump_spec(parse_spec(text, "s.yaml")))
    for name in without:
        *sections, key = name.split(".")
        inner = spec
        for section in sections:
            inner = inner[section]
        del inner[key]
    made = run(seed)
    return replace(made, spec={**spec, "seed": seed})


def test_an_option_that_an_older_version_lacked_makes_no_setting() -> None:
    text = "data: moons\nnetwork: mlp\n"
    older = resolved(0, text, "expansion.noise", "checkpoints.best", "transfer", "data.noise")
    assert len(settings([older, resolved(1, text), resolved(2, text)])) == 1
    # Where the newer run has it otherwise than by default, it is one.
    found = settings([older, resolved(1, text + "expansion: {noise: 3}\n")])
    assert differences(found) == {"expansion.noise": {"B": 3.0}}


def test_a_changed_default_is_a_difference() -> None:
    text = "data: moons\nnetwork: mlp\n"
    older = resolved(0, text + "training: {batch_size: 256}\n", "transfer")
    assert differences(settings([older, resolved(1, text)])) == {
        "training.batch_size": {"A": 256, "B": "auto"}
    }


def test_defaults_depend_on_the_kinds() -> None:
    dense = "data: digits\nnetwork: densenet\n"
    older = resolved(0, dense, "expansion.threshold", "curvature")
    assert len(settings([older, resolved(1, dense)])) == 1
    paper = "data: digits\nnetwork: mlp\noptimizer: {preset: paper}\n"
    older = resolved(0, paper, "optimizer.damping")
    assert len(settings([older, resolved(1, paper)])) == 1
