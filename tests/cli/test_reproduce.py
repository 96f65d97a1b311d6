from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner, Result

from senn_cli.cli.app import app
from senn_cli.errors import RunError
from senn_cli.report.plots import style
from senn_cli.report.plots.options import Options
from senn_cli.report.record import Record
from senn_cli.sweep import figures
from senn_cli.sweep.figures import FIGURES, pictures, sweep_of, variants
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.plan import Member
from tests.processes import imported
from tests.report.plots.made import made_run
from tests.resuming import MOONS


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_the_list_has_every_figure_with_its_time_and_needs_no_jax() -> None:
    lines, modules = imported(["reproduce", "--list"])
    assert [line for line in lines if not line.startswith(" ")] == [name for name, _ in variants()]
    assert {name.removesuffix("-small") for name, _ in variants()} == set(FIGURES)
    assert "  figure 3 of the paper: the score of the best new layer" in lines[4]
    assert all(" runs; " in line for line in lines[2::3])
    assert not {"jax", "flax", "optax", "orbax", "matplotlib"} & modules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "a figure is missing: figure-2, figure-3"),
        (("figure-9",), 'there is no figure "figure-9"; the figures are figure-2'),
        (("figur-4",), "Did you mean figure-4?"),
        (("figure-2", "--small"), "figure-2 has no small variant"),
    ],
)
def test_what_is_no_figure_is_a_usage_error(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", "").split())


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    result = run("figure-3", "--out", tmp_path)
    assert result.exit_code == 2
    assert "it is the folder of no sweep" in " ".join(result.stderr.replace("│", "").split())


def swept(place: Path, *members: Any) -> Folder:
    """A folder of runs that were made by hand: settings with their seeds."""
    folder = Folder(place)
    known = [
        Member(number, f"{setting}-{seed}", setting, seed)
        for number, (setting, seed) in enumerate(members)
    ]
    place.mkdir()
    folder.write({}, known)
    return folder


def test_every_figure_is_drawn_from_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = swept(tmp_path / "folder", *((each, seed) for each in "ab" for seed in (0, 1)))
    for name in ("a-0", "a-1", "b-0"):
        made_run(folder.path / name)
    made_run(folder.path / "b-1", summary=None)  # it has not finished
    drawn: list[tuple[str, str, str]] = []

    def draw(kind: str, records: Sequence[Record], options: Options) -> Figure:
        shown, against = (
            " ".join(record.path.name for record in each) for each in (records, options.baseline)
        )
        drawn.append((kind, shown, against))
        return style.new_figure(1, 1)

    monkeypatch.setattr(figures, "draw", draw)
    files = [path for name in FIGURES for path in pictures(name, folder)]
    assert dict(zip([path.name for path in files], drawn, strict=True)) == {
        "figure-2.svg": ("landscape", "a-0", ""),
        "figure-3.svg": ("boundary", "a-0", ""),
        "figure-4-left.svg": ("anytime", "a-0 a-1", ""),
        "figure-4-right.svg": ("sizes", "a-0 a-1 b-0", ""),
        "figure-5-left.svg": ("widths", "a-0", ""),
        "figure-5-right.svg": ("widths", "b-0", ""),
        "figure-6.svg": ("improvement", "a-0 a-1", "b-0"),
    }
    assert all(path.is_file() and path.parent == folder.path for path in files)


def test_runs_without_what_is_drawn_are_named(tmp_path: Path) -> None:
    folder = swept(tmp_path / "folder", ("a", 0))
    assert list(pictures("figure-2", folder)) == []
    made_run(folder.path / "a-0")
    with pytest.raises(RunError, match="no recordings of a landscape"):
        list(pictures("figure-2", folder))


def test_settings_of_the_sweeps_are_those_that_are_drawn() -> None:
    from senn_cli.sweep.begin import planned
    from senn_cli.sweep.read import read_sweep

    for name, path in variants():
        figure = FIGURES[name.removesuffix("-small")]
        assert path == sweep_of(name.removesuffix("-small"), small=name.endswith("-small"))
        own = [m for m in planned(read_sweep(path)) if m.control is None and m.spec is not None]
        settings = list(dict.fromkeys(m.setting for m in own))
        for picture in figure.pictures:
            for number in picture.settings or ():
                (grows,) = {m.spec.grows for m in own if m.setting == settings[number] if m.spec}
                assert grows
            if picture.baseline is not None:
                baseline = settings[picture.baseline]
                assert not any(m.spec.grows for m in own if m.setting == baseline if m.spec)
            if picture.kind in ("landscape", "boundary"):
                record = json.loads(own[0].spec.model_dump_json())["record"]  # type: ignore[union-attr]
                assert record[picture.kind]


@pytest.mark.slow
def test_a_figure_is_trained_once_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "moons.yaml").write_text(MOONS, encoding="utf-8")
    sweep = "spec: ../moons.yaml\nset: {record.boundary: true}\nseeds: 2\n"
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "figure-3.yaml").write_text(sweep, encoding="utf-8")
    monkeypatch.setattr(figures, "shipped", lambda name: tmp_path / name)
    folder = tmp_path / "out"
    for _ in range(2):
        result = run("figure-3", "--out", folder, "--jobs", "1")
        assert result.exit_code == 0, result.stderr
        assert result.stdout.splitlines()[-1] == str(folder / "figure-3.svg")
        assert "layer score" in (folder / "figure-3.svg").read_text(encoding="utf-8")
    assert "finished" not in result.stderr  # the second time nothing was left to train
