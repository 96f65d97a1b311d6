"""What holds for every kind: it can be read at its size, in all formats, and says what it lacks."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.report.plots import style
from senn_cli.report.plots.kinds import KINDS, draw
from senn_cli.report.plots.options import DOUBLE, SINGLE, Options
from senn_cli.report.record import Record
from tests.report.plots.made import assert_labelled, assert_readable, made_run, with_recordings

HARD = r"größe_$x^2$ & <b> _名"  # mathematics, markup, and letters that the font lacks


def runs_of(kind: str, folder: Path, number: int = 2) -> tuple[list[Record], list[Record]]:
    """Runs for a kind, and runs to compare them with."""
    if not KINDS[kind].many:
        return [with_recordings(folder / "a run")], []
    runs = [made_run(folder / f"_run {seed}", seed=seed, name=HARD) for seed in range(number)]
    controls = [made_run(folder / "static", name="static")] if KINDS[kind].baseline else []
    return runs, controls


@pytest.mark.parametrize("title", ["", HARD])
@pytest.mark.parametrize("width", [SINGLE, DOUBLE])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_read(kind: str, width: float, title: str, tmp_path: Path) -> None:
    runs, controls = runs_of(kind, tmp_path)
    figure = draw(kind, runs, Options(width=width, title=title, baseline=tuple(controls)))
    assert figure.get_figwidth() == width
    assert_readable(figure)
    assert_labelled(figure)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.many])
def test_many_runs_can_be_read(kind: str, tmp_path: Path) -> None:
    runs, controls = runs_of(kind, tmp_path, number=9)
    assert_readable(draw(kind, runs, Options(baseline=tuple(controls))))


@pytest.mark.parametrize("kind", KINDS)
def test_an_svg_is_small_and_its_texts_are_texts(kind: str, tmp_path: Path) -> None:
    runs, controls = runs_of(kind, tmp_path)
    options = Options(width=DOUBLE, title="Zöe's $5", baseline=tuple(controls))
    path, again = tmp_path / "a.svg", tmp_path / "b.svg"
    style.save(draw(kind, runs, options), path)
    style.save(draw(kind, runs, options), again)
    assert path.stat().st_size < 200_000
    assert path.read_bytes() == again.read_bytes()
    root = ElementTree.parse(path).getroot()
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Zöe's $5" in texts
    # Matplotlib's own mathematical fonts have other letters than their codes say.
    assert not re.search("cm(sy|r|mi|ex)10|STIX", path.read_text())
    assert float(root.attrib["width"].removesuffix("pt")) == pytest.approx(72 * DOUBLE)


def test_a_long_history_makes_a_small_file(tmp_path: Path) -> None:
    from tests.report.plots.made import METRICS, candidate, event

    history = [
        event(step, None, [4], candidates=[candidate("width", 0, 0.1 + step % 97)])
        for step in range(1, 10001)
    ]
    metrics = [dict(METRICS[0], step=s, train_loss=1 + s % 7, hidden=[4]) for s in range(1, 10001)]
    record = made_run(tmp_path / "long", history=history, metrics=metrics)
    for kind in ("growth", "loss", "scores", "widths"):
        style.save(draw(kind, [record]), tmp_path / f"{kind}.svg")
        assert (tmp_path / f"{kind}.svg").stat().st_size < 200_000, kind


def test_many_layers_can_be_read(tmp_path: Path) -> None:
    from tests.report.plots.made import METRICS, candidate, event

    hidden = [16 + place for place in range(30)]
    history = [
        event(
            20, "add_neurons", hidden, layer=place, neurons=1,
            candidates=[candidate("width", place, 2.0)],
        )
        for place in range(30)
    ]  # fmt: skip
    record = made_run(
        tmp_path / "deep", history=history, metrics=[dict(row, hidden=hidden) for row in METRICS]
    )
    for kind in ("growth", "scores", "widths"):
        assert_readable(draw(kind, [record]))


def test_the_wrong_number_of_runs(record: Record) -> None:
    for kind, found in KINDS.items():
        if not found.many:
            with pytest.raises(UsageError, match=f"{kind} draws one run, but 2 are given"):
                draw(kind, [record, record])


def test_options_of_other_kinds(record: Record) -> None:
    with pytest.raises(UsageError, match="--steps is for landscape and boundary, not for loss"):
        draw("loss", [record], Options(steps=(10,)))
    with pytest.raises(UsageError, match="--baseline is for improvement, not for loss"):
        draw("loss", [record], Options(baseline=(record,)))
    with pytest.raises(UsageError, match="improvement needs --baseline RUN"):
        draw("improvement", [record])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("growth", "no hidden layer up to step 0"),
        ("loss", "no rows in metrics.jsonl"),
        ("scores", "no scores up to step 0"),
        ("gains", "no growth round added something"),
        ("seconds", "no summary.json with seconds; it is interrupted"),
        ("landscape", "no recordings of a landscape"),
        ("boundary", "no recordings of a boundary"),
        ("anytime", "no row with a validation accuracy"),
        ("widths", "no rows in metrics.jsonl"),
    ],
)
def test_a_run_that_has_just_begun(kind: str, message: str, tmp_path: Path) -> None:
    run = made_run(tmp_path / "new", history=(), metrics=(), summary=None)
    with pytest.raises(RunError) as caught:
        draw(kind, [run])
    assert message in caught.value.message
    assert str(tmp_path / "new") in caught.value.message
