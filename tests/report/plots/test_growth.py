from __future__ import annotations

from senn_cli.report.plots import growth
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from senn_cli.report.tracks import tracks
from tests.report.plots.made import legend_texts, lines, xy


def test_widths_from_every_change_on(record: Record) -> None:
    steps, widths = growth.stacked(record, tracks(record))
    assert steps == [0, 20, 30, 40, 50, 60]
    assert widths == [[0, 0, 0, 3, 3, 3], [0, 2, 3, 3, 2, 2]]


def test_areas_lie_where_the_widths_say(record: Record) -> None:
    figure = growth.draw([record], Options())
    areas = figure.axes[1].collections
    first, second = (area.get_paths()[0] for area in areas)
    assert second.contains_point((25, 1.9)) and not second.contains_point((25, 2.1))
    assert not second.contains_point((15, 0.1))
    assert first.contains_point((45, 2.9)) and not first.contains_point((39, 0.1))
    assert second.contains_point((45, 5.9)) and not second.contains_point((45, 2.9))
    assert second.contains_point((55, 4.9)) and not second.contains_point((55, 5.1))
    assert legend_texts(figure) == ["layer 0", "layer 1"]
    assert figure.axes[1].get_ylabel() == "hidden neurons"
    assert figure.axes[1].get_xlabel() == "training step"


def test_events_above(record: Record) -> None:
    figure = growth.draw([record], Options())
    strip = figure.axes[0]
    rows = {text.get_text(): place for place, text in enumerate(strip.get_yticklabels())}
    for kind, label, steps in (
        ("insert_layer", "layer inserted", [20, 40]),
        ("add_neurons", "neurons added", [30]),
        ("prune_neurons", "neurons pruned", [50]),
        ("nothing", "nothing added", [10]),
    ):
        (line,) = lines(figure, f"events-{kind}")
        assert xy(line) == [(step, rows[label]) for step in steps]
    assert strip.get_xlim() == figure.axes[1].get_xlim() == (0, 60)
