from __future__ import annotations

from pathlib import Path

from senn_cli.report.plots import anytime, loss
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.twins import dashes, told, twins
from tests.report.plots.made import METRICS, legend_texts, made_run


def test_which_curves_are_equal() -> None:
    assert twins([[1], [2], [1], [1], [2]]) == [None, None, 0, 0, 1]
    assert twins([]) == []


def test_every_equal_curve_stays_visible() -> None:
    found = [None, 0, None, 0]
    assert dashes(found, 0) == dashes(found, 2) == {}
    # Over a solid line dashes of 3 with gaps of 3; over both, gaps of 6.
    assert dashes(found, 1) == {"linestyle": (0, (3, 3))}
    assert dashes(found, 3) == {"linestyle": (0, (3, 6))}


def test_the_legend_says_whose_curve_it_is() -> None:
    assert told(["a", "b"], [None, 0]) == ["a", "b = a"]
    many = [f"run {k}" for k in range(7)]
    assert told(many, [None, *[0] * 6]) == many


def test_runs_with_the_same_curves_do_not_hide_each_other(tmp_path: Path) -> None:
    runs = [made_run(tmp_path / name, seed=seed) for seed, name in enumerate("ab")]
    figure = loss.draw(runs, Options())
    assert legend_texts(figure)[:2] == ["seed 0", "seed 1 = seed 0"]
    # Training and validation loss of the first run, then those of the second in dashes above them.
    styles = [line.get_linestyle() for line in figure.axes[0].lines[:4]]
    assert styles[:2] == ["-", "--"]
    assert [line.is_dashed() for line in figure.axes[0].lines[2:4]] == [True, True]
    assert "seed 1 = seed 0" in legend_texts(anytime.draw(runs, Options()))


def test_a_training_loss_like_the_validation_loss_is_told(tmp_path: Path) -> None:
    rows = [row | {"validation_loss": row["train_loss"]} for row in METRICS]
    figure = loss.draw([made_run(tmp_path / "r", metrics=rows)], Options())
    assert legend_texts(figure) == ["training", "validation = training"]
    figure = loss.draw([made_run(tmp_path / "other")], Options())
    assert legend_texts(figure) == ["training", "validation"]
