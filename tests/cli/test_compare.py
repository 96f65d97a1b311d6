from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner, Result

from senn_cli.cli.app import app
from tests.handmade import checkpoint, row, run_directory
from tests.processes import imported, senn


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def shown(*arguments: str | Path) -> str:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def strictly(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def fault(*arguments: str | Path) -> tuple[int, str]:
    result = run(*arguments)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    # Without the panel's borders and line breaks.
    return result.exit_code, " ".join(result.stderr.replace("│", " ").split())


def made(
    path: Path,
    seed: int,
    accuracy: float | None,
    *,
    threshold: float = 0.5,
    figure: str = "accuracy",
    name: str = "made",
    hidden: Sequence[int] = (3, 2),
) -> Path:
    """A run of two epochs; without an accuracy one that was interrupted after the first."""
    rows = [row(10, [2], train_loss=2.0), row(20, hidden, train_loss=1.0)]
    summary = {
        "name": name, "status": "finished", "seed": seed, f"test_{figure}": accuracy,
        "hidden": list(hidden), "parameters": 1000 + seed, "events": 3, "steps": 20, "epochs": 2.0,
        "seconds": {"total": 4.0 + seed, "compile": 1.5},
    }  # fmt: skip
    run_directory(path, metrics=rows if accuracy is not None else rows[:1])
    if accuracy is not None:
        (path / "summary.json").write_text(json.dumps(summary))
    spec = (path / "spec.yaml").read_text().replace("seed: 3", f"seed: {seed}")
    spec = spec.replace("'made'", json.dumps(name)).replace("0.5", str(threshold))
    (path / "spec.yaml").write_text(spec, encoding="utf-8")
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        made(tmp_path / "a0", 0, 0.5),
        made(tmp_path / "a1", 1, 1.0),
        made(tmp_path / "b0", 0, 0.75, threshold=0.25),
    ]


def test_the_page(runs: list[Path]) -> None:
    lines = shown(*runs).splitlines()
    assert lines[:3] == [
        "2 settings, 3 runs",
        "A  made: 2 runs, seeds 0, 1",
        "B  made: 1 run, seed 0",
    ]
    rows = [line.split() for line in lines]
    assert ["expansion.threshold", "0.5", "0.25"] in rows
    assert not any("network.hidden" in line for line in lines)
    assert ["A", "1", "a1", "finished", "100.00%", "3-2", "20", "1,001", "0:05"] in rows
    # 0.5 and 1 are 0.25 off their mean: sqrt(2 * 0.0625 / 1) = 0.3536
    assert ["test", "accuracy", "A", "2", "75.00%", "35.36%", "50.00%", "100.00%"] in rows
    assert ["B", "1", "75.00%", "-", "75.00%", "75.00%"] in rows
    # 1000 and 1001 deviate by sqrt(2 * 0.25) = 0.7
    assert ["parameters", "A", "2", "1,000.5", "0.7", "1,000", "1,001"] in rows
    assert ["seconds", "A", "2", "4.5", "0.7", "4.0", "5.0"] in rows
    assert ["of", "these", "compiling", "A", "2", "1.5", "0.0", "1.5", "1.5"] in rows
    assert "Train loss by epoch, means over runs" in lines
    assert ["1", "2", "2"] in rows
    assert ["2", "1", "1"] in rows


def test_seeds_alone(runs: list[Path]) -> None:
    text = shown(*runs[:2])
    assert text.startswith("1 setting, 2 runs\n")
    assert "The specs differ in the seed or the name alone." in text


def test_a_run_that_has_not_finished_counts_in_the_curves_alone(
    runs: list[Path], tmp_path: Path
) -> None:
    half = made(tmp_path / "a2", 2, None)
    text = shown(*runs[:2], half)
    assert "A  made: 3 runs, seeds 0, 1, 2; 1 interrupted, left out of the figures" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["test", "accuracy", "A", "2", "75.00%", "35.36%", "50.00%", "100.00%"] in rows
    assert ["1", "2"] in rows
    assert ["2", "1", "(n", "2)"] in rows
    other = made(tmp_path / "a3", 3, None)
    assert "No run has finished" in shown(half, other)


def test_runs_of_one_seed_are_no_samples(runs: list[Path], tmp_path: Path) -> None:
    text = shown(*runs[:2], made(tmp_path / "again", 1, 1.0))
    assert "several runs of seed 1, which are no independent samples" in text


def test_a_folder_of_runs(runs: list[Path], tmp_path: Path) -> None:
    assert shown(tmp_path) == shown(*runs)
    assert shown(tmp_path, runs[0]) == shown(*runs)  # each counts once
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(runs[0], target_is_directory=True)
    assert shown(*runs, link) == shown(*runs)


def test_names_that_are_not_unique_are_shown_with_their_folders(tmp_path: Path) -> None:
    text = shown(made(tmp_path / "x" / "0", 0, 0.5), made(tmp_path / "y" / "0", 1, 0.5))
    assert " x/0 " in text
    assert " y/0 " in text


def test_damage_in_a_folder_is_left_out_but_not_if_it_is_named(
    runs: list[Path], tmp_path: Path
) -> None:
    (runs[2] / "summary.json").write_text("{")
    result = run(tmp_path)
    assert result.exit_code == 0
    assert result.stdout.startswith("1 setting, 2 runs\n")
    assert f"left out: {runs[2] / 'summary.json'} is damaged" in result.stderr
    code, text = fault(*runs)
    assert (code, "summary.json is damaged" in text) == (1, True)
    (runs[2] / "summary.json").write_text('{"status": "finished", "hidden": 3}')
    code, text = fault(*runs)
    assert (code, "hidden" in text, str(runs[2]) in text) == (1, True, True)


def test_a_row_without_a_step_is_damage(runs: list[Path]) -> None:
    with (runs[0] / "metrics.jsonl").open("a") as file:
        file.write('{"epoch": 3.0, "train_loss": 0.5}\n')
    code, text = fault(*runs)
    assert (code, "metrics.jsonl:3" in text, "step" in text) == (1, True, True)


def test_a_curve_tells_where_it_ends_whatever_the_bars(runs: list[Path], tmp_path: Path) -> None:
    longer = made(tmp_path / "c", 0, 0.5, threshold=0.125)
    with (longer / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(row(37, [3], train_loss=0.75)) + "\n")
    lines = shown(*runs, longer).splitlines()
    notes = [line.split("  ")[-1].strip() for line in lines if "→" in line]
    assert notes == ["2 → 1", "2 → 1", "2 → 0.75"]


def test_what_is_wrong_is_said(runs: list[Path], tmp_path: Path) -> None:
    assert fault() == (2, fault()[1])
    assert "at least two runs, found none" in fault()[1]
    for arguments in (runs[:1], [runs[0], runs[0]]):
        code, text = fault(*arguments)
        assert (code, "at least two runs, found one" in text) == (2, True)
    code, text = fault(runs[0], tmp_path / "absent")
    assert (code, "does not exist" in text) == (2, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    code, text = fault(runs[0], empty)
    assert (code, "there are no runs in it" in text) == (2, True)
    code, text = fault(runs[0], checkpoint(runs[1], 20, [(3, 8), (2, 8)]))
    assert (code, "is a checkpoint" in text) == (2, True)
    errors = made(tmp_path / "mse", 0, 0.25, figure="mse")
    for more in ([], ["--json"]):
        code, text = fault(runs[0], errors, *more)
        assert (code, "classification" in text, "regression" in text) == (2, True, True)


def test_regressions(tmp_path: Path) -> None:
    paths = [made(tmp_path / str(seed), seed, 0.25, figure="mse") for seed in (0, 1)]
    rows = [line.split() for line in shown(*paths).splitlines()]
    assert ["test", "mse", "A", "2", "0.25", "0", "0.25", "0.25"] in rows


def test_json(runs: list[Path]) -> None:
    document = strictly(shown(*runs, "--json"))
    assert document["differences"] == {"expansion.threshold": {"A": 0.5, "B": 0.25}}
    accuracy = document["settings"][0]["figures"]["test_accuracy"]
    assert accuracy["mean"] == 0.75
    assert accuracy["sd"] == pytest.approx(0.125**0.5)
    assert document["settings"][1]["figures"]["test_accuracy"]["sd"] is None
    assert document["settings"][1]["runs"][0]["path"] == str(runs[2])
    assert document["curves"]["settings"]["A"]["means"][4] == 2.0


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_ascii(runs: list[Path], tmp_path: Path, environment: dict[str, str]) -> None:
    odd = made(tmp_path / "größe [bold]", 4, 0.5, name="é [/x]")
    results = [senn("compare", *runs, odd, *more, **environment) for more in ([], ["--json"])]
    for result in results:
        assert (result.returncode, result.stderr) == (0, b"")
        assert result.stdout.isascii()
    text = results[0].stdout.decode()
    assert r"gr\xf6\xdfe [bold]" in text
    assert r"A  made, \xe9 [/x]: 3 runs, seeds 0, 1, 4" in text
    assert "2 -> 1" in text


def test_a_narrow_terminal(runs: list[Path], tmp_path: Path) -> None:
    from senn_cli.cli.comparing import page
    from senn_cli.cli.inspection.screen import Screen
    from senn_cli.report.comparison import settings
    from senn_cli.report.record import read_record

    more = [
        made(tmp_path / f"{'long' * 20}{index}", 0, 0.5, threshold=index / 1024 + 0.001)
        for index in range(12)
    ]
    records = [read_record(path) for path in (*runs, *more)]
    lines = [text for text, _ in page(settings(records), Screen(60, "utf-8"))]
    assert max(map(len, lines)) <= 60
    # Differences stand below their option, and the curves in blocks.
    assert "expansion.threshold" in lines
    assert "  A  0.5" in lines
    narrower = [text for text, _ in page(settings(records), Screen(40, "utf-8"))]
    assert sum(line.split()[:1] == ["epoch"] for line in narrower) == 2
    wide = [text for text, _ in page(settings(records[:3]), Screen(60, "utf-8"))]
    assert ["expansion.threshold", "0.5", "0.25"] in [line.split() for line in wide]


def test_no_jax(runs: list[Path]) -> None:
    lines, modules = imported(["compare", *runs], ["compare", *runs, "--json"])
    assert lines and not modules & {"jax", "flax", "optax", "orbax", "matplotlib"}


def test_the_size_of_densenets_is_in_channels(tmp_path: Path) -> None:
    runs = [made(tmp_path / name, seed, 0.5) for seed, name in enumerate("ab")]
    assert "hidden neurons" in shown(*runs)
    for path in runs:
        spec = (path / "spec.yaml").read_text()
        (path / "spec.yaml").write_text(spec.replace("kind: mlp", "kind: densenet"))
    text = shown(*runs)
    assert "hidden channels" in text and "neuron" not in text


def test_pairs_of_one_seed(tmp_path: Path) -> None:
    for seed, (first, second) in enumerate([(0.5, 0.75), (0.25, 0.75), (0.5, 0.5), (0.9, 0.0)]):
        made(tmp_path / f"a{seed}", seed, first)
        made(tmp_path / f"b{seed + (seed == 3)}", seed + (seed == 3), second, threshold=0.25)
    rows = [line.split() for line in shown(tmp_path).splitlines()]
    # Gaps of 0.25, 0.5 and 0: mean 0.25, deviation 0.25, and t of two degrees of freedom, 4.303.
    half = 4.302653 * 0.25 / 3**0.5
    low, high = f"{0.25 - half:.2%}", f"+{0.25 + half:.2%}"
    assert ["test", "accuracy", "B", "-", "A", "3", "+25.00%", low, high] in rows
    paired = json.loads(shown(tmp_path, "--json"))["paired"]["B"]["test_accuracy"]
    assert (paired["reference"], paired["n"]) == ("A", 3)
    assert paired["high"] == pytest.approx(0.25 + half, rel=1e-6)


def test_settings_of_a_sweep_are_those_that_it_names(tmp_path: Path) -> None:
    made_of = [("x0", "x", None), ("x1", "x", None), ("s0", "static", "x0"), ("s1", "static", "x1")]
    for index, (name, _, _) in enumerate(made_of):
        made(tmp_path / name, index % 2, 0.5, threshold=1 / (1 + index))
    members = [{"name": n, "setting": s, "of": of} for n, s, of in made_of]
    (tmp_path / "sweep.json").write_text(json.dumps({"format": 1, "members": members}))
    found = json.loads(shown(tmp_path, "--json"))
    assert [len(setting["runs"]) for setting in found["settings"]] == [2, 2]
    # What the runs of one setting do not share is none of its options.
    assert "expansion.threshold" not in found["differences"]
    assert next(iter(found["paired"].values()))["test_accuracy"]["n"] == 2
    (tmp_path / "sweep.json").write_text("{}")
    code, text = fault(tmp_path)
    assert (code, "sweep.json is damaged" in text) == (2, True)  # no run is left to compare
