from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.report.plots import scores
from senn_cli.report.plots.options import Options
from senn_cli.report.plots.scores import Scored
from senn_cli.report.record import Record, read_record
from tests.handmade import dense_run
from tests.report.plots.made import candidate, event, legend_texts, lines, made_run, xy


def test_layers_keep_their_last_number(record: Record) -> None:
    # At step 40 a layer came before the one of step 20, which is layer 1 from then on.
    assert scores.scored(record) == (
        Scored(10, "depth", None, 0.5, False),
        Scored(20, "depth", None, 4.0, True),
        Scored(30, "width", 1, 2.0, True),
        Scored(30, "depth", None, -0.1, False),
        Scored(30, "depth", 1, None, False),
        Scored(40, "depth", 1, 8.0, True),
        Scored(40, "width", 1, 0.25, False),
    )


def test_marks(record: Record) -> None:
    figure = scores.draw([record], Options())
    expected = {
        "scores-depth-None-rejected-within": [(10, 0.5)],
        "scores-depth-None-accepted-within": [(20, 4.0)],
        "scores-width-1-accepted-within": [(30, 2.0)],
        "scores-depth-1-accepted-within": [(40, 8.0)],
        "scores-width-1-rejected-within": [(40, 0.25)],
    }
    for gid, points in expected.items():
        (line,) = lines(figure, gid)
        assert xy(line) == points
        hollow = line.get_markerfacecolor() == "none"
        assert hollow is ("rejected" in gid)
    axes = figure.axes[0]
    assert axes.get_yscale() == "log"
    assert r"\Delta\eta" in axes.get_ylabel()
    (tau,) = lines(figure, "tau")
    assert {y for _, y in xy(tau)} == {1.0}
    assert tau.get_xdata()[0] == axes.get_xlim()[0] and tau.get_xdata()[-1] == axes.get_xlim()[1]


def test_scores_without_a_logarithm_stand_at_the_edge(record: Record) -> None:
    figure = scores.draw([record], Options())
    low, high = figure.axes[0].get_ylim()
    (below,) = lines(figure, "scores-depth-None-rejected-below")
    (above,) = lines(figure, "scores-depth-1-rejected-above")
    assert low < xy(below)[0][1] < 0.25 and 8.0 < xy(above)[0][1] < high
    assert {"lower, or negative", "higher, or infinite"} <= set(legend_texts(figure))


def test_the_range_is_bounded(tmp_path: Path) -> None:
    history = [event(5, None, [4], candidates=[candidate("width", 0, r)]) for r in (1e-30, 1e30)]
    figure = scores.draw([made_run(tmp_path / "r", history=history)], Options())
    low, high = figure.axes[0].get_ylim()
    assert 1e-6 < low < 1 < high < 1e6


def test_a_capacity_repeats_no_scores(tmp_path: Path) -> None:
    history = [
        event(5, "enlarge_capacity", [4], candidates=[candidate("width", 0, 2.0)]),
        event(5, "add_neurons", [5], layer=0, neurons=1, candidates=[candidate("width", 0, 2.0)]),
    ]
    assert scores.scored(made_run(tmp_path / "r", history=history)) == (
        Scored(5, "width", 0, 2.0, True),
    )


@pytest.mark.parametrize("site", [None, "layer 99", "elsewhere"])
def test_an_unknown_site_is_nobody_in_particular(site: str | None, tmp_path: Path) -> None:
    history = [event(5, None, [4], candidates=[{"kind": "width", "site": site, "ratio": 2.0}])]
    (found,) = scores.scored(made_run(tmp_path / "r", history=history))
    assert found.layer is None


def test_a_densenet_has_names_of_blocks_and_costs_of_prunings(tmp_path: Path) -> None:
    figure = scores.draw([read_record(dense_run(tmp_path / "dense"))], Options())
    texts = legend_texts(figure)
    # Nothing was proposed for the layer that came last.
    assert texts[:2] == ["block 0 layer 0", "block 1 layer 1"]
    assert "cost of a pruned one" in texts
    (line,) = lines(figure, "scores-pruned-0-accepted-within")
    assert xy(line) == [(80, 0.03125)]
    # The score is compared with that of all maps, not with that of one.
    assert figure.axes[0].get_ylabel() == r"score $\Delta\eta\,/\,\eta$"
