"""Which evaluation is the best one, and how long a better one is waited for."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest

from senn_cli.spec import parse_spec
from senn_cli.training.best import Best, Watch

BASE = "data: digits\nnetwork: mlp\n"


def told(watch: Watch, *values: float | None) -> list[Best]:
    """The best evaluation after each of a series of them, at steps 10, 20, ..."""
    found = [Best(watch.metric)]
    for number, value in enumerate(values, start=1):
        row = {"step": 10 * number} | ({} if value is None else {watch.metric: value})
        found.append(found[-1].after(watch, row))
    return found[1:]


@pytest.mark.parametrize(
    ("metric", "values", "steps"),
    [
        ("validation_loss", [3.0, 1.0, 2.0, 0.5], [10, 20, 20, 40]),
        ("validation_mse", [3.0, 4.0], [10, 10]),
        ("validation_accuracy", [0.3, 0.1, 0.9, 0.8], [10, 10, 30, 30]),
        ("train_loss", [1.0, 1.0], [10, 10]),  # the earliest of equals
    ],
)
def test_accuracies_should_rise_and_all_else_fall(
    metric: str, values: list[float], steps: list[int]
) -> None:
    assert [best.step for best in told(Watch(metric), *values)] == steps


def test_what_is_not_finite_is_never_the_best_and_is_waited_for() -> None:
    found = told(Watch("train_loss"), math.nan, -math.inf, 2.0, math.nan, None)
    assert [best.step for best in found] == [None, None, 30, 30, 30]
    assert [best.waited for best in found] == [1, 2, 0, 1, 2]


def test_small_improvements_are_the_best_but_do_not_renew_the_patience() -> None:
    watch = Watch("train_loss", patience=2, min_delta=0.25)
    # From 1.0 on, 0.75 is no more than 0.25 better; 0.5 is.
    found = told(watch, 1.0, 0.9, 0.75, 0.5, 0.4)
    assert [best.waited for best in found] == [0, 1, 2, 0, 1]
    assert [best.step for best in found] == [10, 20, 30, 40, 50]
    assert [best.value for best in found] == [1.0, 0.9, 0.75, 0.5, 0.4]


def test_what_a_spec_has_a_run_watch() -> None:
    def watch(text: str) -> Watch | None:
        return Watch.of(parse_spec(f"{BASE}{text}\n"))

    assert watch("") is None
    assert watch("checkpoints: {best: train_loss}") == Watch("train_loss")
    assert watch("training: {stop: validation_loss}") == Watch("validation_loss", 10, 0.0, True)
    stop = "{metric: train_loss, patience: 3, min_delta: 1e-3, restore: false}"
    assert watch(f"training: {{stop: {stop}}}") == Watch("train_loss", 3, 1e-3, False)


def test_it_is_forgotten_where_something_else_is_watched() -> None:
    best = told(Watch("train_loss"), 1.0)[0]
    assert best.watched_by(Watch("train_loss", patience=1)) is best
    assert best.watched_by(Watch("validation_loss")) == Best("validation_loss")
    assert best.watched_by(None) == Best()
    assert Best(**asdict(best)) == best
