from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner, Result

from senn_cli.cli.app import app
from tests.counting import documents_read
from tests.handmade import added, checkpoint, event, inserted, row, run_directory, weights
from tests.processes import imported, senn
from tests.terminal import on_terminal

ROWS = 10_000


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


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
    return result.exit_code, result.stderr


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = run_directory(
        tmp_path / "made",
        metrics=[
            row(10, [2], train_loss=1.0, eta=0.5),
            row(20, [3], train_loss=0.5, eta=0.25),
            row(30, [3, 3], train_loss=0.25, eta=0.125),
        ],
        history=[
            event(10, [2], site="map 0", ratio=0.25, train_loss=1.0, reason="ratio too low"),
            added(20, [3], 0, 0.125, ratio=1.5, train_loss=0.75),
            inserted(25, [3, 3], 1, 0.0625, ratio=2.5, train_loss=0.5),
        ],
        summary={"status": "finished", "steps": 30, "epochs": 3.0, "test_accuracy": 0.875},
    )
    checkpoint(path, 20, [(3, 8)])
    checkpoint(path, 30, [(3, 8), (3, 8)])
    return path


def test_the_overview(made: Path) -> None:
    lines = shown(made).splitlines()
    assert lines[:4] == [
        "run        made",
        "made by    policy senn, seed 3",
        "status     finished at step 30, epoch 3",
        "test       accuracy 87.50%",
    ]
    # (2 + 1) 3 + 9 for the first layer, (3 + 1) 3 + 9 for the second, (3 + 1) 2 for the outputs
    assert "Architecture (mlp) at step 30" in lines
    assert "layer 0      3         8       2          18  rational" in lines
    assert "layer 1      3         8       3          21  rational" in lines
    assert "total        6                            47" in lines
    (grown, insertion) = [line.split() for line in lines if line.lstrip().startswith(("20", "25"))]
    # 0.75 to 0.5 until step 25, then 0.5 to 0.25 until the last row of metrics
    assert grown == ["20", "layer", "0", "+1", "neuron", "1.5", "0.125", "0.25", "3", "30"]
    assert insertion == (
        ["25", "map", "1", "+layer", "of", "3", "2.5", "0.0625", "0.25", "3-3", "60"]
    )
    assert "History: 2 accepted of 3 decisions" in lines


def test_parts_of_it(made: Path) -> None:
    whole = shown(made)
    table, timeline = shown("architecture", made), shown("history", made)
    assert table.startswith("Architecture")
    assert timeline.startswith("History")
    for part in (table, timeline):
        assert part in whole
    assert shown("overview", made) == whole


def test_rejections(made: Path) -> None:
    assert "ratio too low" not in shown("history", made)
    lines = shown("history", made, "--rejected").splitlines()
    (line,) = [line for line in lines if line.endswith("ratio too low")]
    assert line.split()[:5] == ["10", "map", "0", "rejected", "0.25"]
    assert "ratio too low" in shown(made, "--rejected")


def test_another_step(made: Path) -> None:
    for arguments in ((made, "--step", "20"), (made / "checkpoints" / "20",)):
        text = shown("architecture", *arguments)
        assert "at step 20" in text
        assert "layer 1" not in text
        assert "+layer" not in shown("history", *arguments)
        document = strictly(shown(*arguments, "--json"))
        assert document["architecture"]["step"] == 20
        assert [e["step"] for e in document["history"]] == [20]
    assert shown(made / "weights") == shown(made)
    # Where no checkpoint is the history tells.
    text = shown("overview", made, "--step", "22")
    assert "at step 22, as the history tells" in text
    assert "+1 neuron" in text


def test_json(made: Path) -> None:
    document = strictly(shown(made, "--json"))
    assert document["name"] == "made"
    assert [site["parameters"] for site in document["architecture"]["sites"]] == [18, 21, 8]
    assert document["architecture"]["parameters"] == 47
    assert [e["realised_gain"] for e in document["history"]] == [0.25, 0.25]
    assert document["audit"]["ratio"] == 3.0  # of 2 and 4
    assert document["tracks"][1] == {
        "name": "layer 1", "born": 25, "steps": [25, 30], "widths": [3, 3], "group": "",
    }  # fmt: skip
    history = strictly(shown("history", made, "--json", "--rejected"))
    assert [e["accepted"] for e in history["history"]] == [False, True, True]
    assert history["audit"] == document["audit"]
    table = strictly(shown("architecture", made, "--json"))
    assert table["architecture"] == document["architecture"]


def test_numbers_that_are_not_finite_are_named(made: Path) -> None:
    # Python's own JSON writes these; senn never does, but others may have edited the file.
    with (made / "metrics.jsonl").open("a") as file:
        file.write('{"step": 40, "hidden": [3, 3], "train_loss": NaN, "eta": Infinity}\n')
    for arguments in ((made,), (made, "--json")):
        code, text = fault(*arguments)
        assert (code, "metrics.jsonl:4: train_loss" in text, "finite" in text) == (1, True, True)


@pytest.mark.parametrize("name", ["history", "overview", "architecture"])
def test_a_run_that_is_called_like_a_subcommand(
    made: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made.rename(made.parent / name).parent)
    assert "run        made" in shown(f"./{name}")
    assert fault(name)[0] == 2
    assert shown(name, name)


def test_options_may_come_first(made: Path) -> None:
    assert shown("--json", made) == shown(made, "--json")
    assert shown("history", "--rejected", made) == shown("history", made, "--rejected")


def test_help_names_all_forms() -> None:
    text = shown("--help")
    for word in ("overview", "architecture", "history", "./history"):
        assert word in text
    assert run().exit_code == 2
    for option in ("--step", "--rejected", "--json", "--follow"):
        assert option in shown("history", "--help")


def test_what_is_wrong_is_said(made: Path, tmp_path: Path) -> None:
    code, text = fault(tmp_path / "absent")
    assert (code, "is not a run directory: it does not exist" in text) == (2, True)
    code, text = fault("history", tmp_path)
    assert (code, "holds no spec.yaml" in text) == (2, True)
    code, text = fault(made / "checkpoints" / "17")
    assert (code, "no checkpoint of step 17" in text, "20, 30" in text) == (2, True, True)
    code, text = fault(made, "--step", "9999")
    assert (code, "--step names 9999" in text) == (2, True)
    code, text = fault(made / "checkpoints" / "20", "--step", "30")
    assert (code, "is the checkpoint of step 20" in text) == (2, True)
    code, text = fault("histroy", made)
    assert (code, "Did you mean 'history'?" in text) == (2, True)
    for wrong in (["--json"], ["--step", "20"]):
        code, text = fault(made, "--follow", *wrong)
        assert (code, "--follow goes with neither" in text) == (2, True)
    assert fault(made / "checkpoints" / "20", "--follow")[0] == 2
    assert fault(made, "--step", "-1")[0] == 2


def test_damaged_lines_are_named(made: Path) -> None:
    path = made / "history.jsonl"
    whole = path.read_text()
    path.write_text(whole.replace("\n", "\nnope\n", 1))
    code, text = fault(made)
    assert (code, "history.jsonl:2: not a line of JSON" in text) == (1, True)
    path.write_text(whole + '{"accepted": true}\n')
    for arguments in ((made,), ("history", made), (made, "--json"), ("history", made, "--json")):
        code, text = fault(*arguments)
        assert (code, "history.jsonl" in text, "step" in text) == (1, True, True)
    path.write_text(whole + '{"step": 40, "torn')
    assert "2 accepted of 3 decisions" in shown(made)


def test_runs_of_all_kinds(made: Path, tmp_path: Path) -> None:
    just_started = run_directory(tmp_path / "started")
    assert "nothing has grown" in shown(just_started)
    static = run_directory(
        tmp_path / "static", hidden=[4], activation="tanh", metrics=[row(10, [4], train_loss=1.0)]
    )
    weights(static, [(4, 4)], inputs=3, outputs=1)
    assert "interrupted at step 10" in shown(static)
    diverged = run_directory(
        tmp_path / "diverged",
        metrics=[row(10, [2], train_loss=None, eta=None)],
        summary={"status": "diverged", "steps": 10, "test_loss": None},
    )
    assert "diverged at step 10" in shown(diverged)
    linear = run_directory(tmp_path / "linear", hidden=[], metrics=[row(10, [], train_loss=1.0)])
    assert "hidden none" in shown(linear)
    moved = Path(shutil.move(made, tmp_path / "moved [x] é"))
    assert f"directory  {moved}" in shown(moved)
    for path in (just_started, static, diverged, linear, moved):
        strictly(shown(path, "--json"))
        shown("architecture", path)
        shown("history", path, "--rejected")


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_ascii(made: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    path = Path(shutil.copytree(made, tmp_path / "größe [x]"))
    spec = path / "spec.yaml"
    spec.write_text(spec.read_text().replace("'made'", "'größe [bold]'"), encoding="utf-8")
    results = [
        senn("inspect", *arguments, **environment)
        for arguments in ((path,), ("history", path, "--rejected"), (path, "--json"))
    ]
    for result in results:
        assert (result.returncode, result.stderr) == (0, b"")
        assert result.stdout.isascii()
    text = results[0].stdout.decode()
    assert r"run        gr\xf6\xdfe [bold]" in text
    assert "ratio, tau 0.5" in text
    assert "2 -> 3" in text


def test_a_narrow_terminal(made: Path) -> None:
    text = on_terminal("inspect", "history", made, "--rejected", COLUMNS="60", NO_COLOR="1")
    assert max(map(len, text.splitlines())) <= 60
    assert "\x1b" not in text
    assert "ratio too low" in text
    assert "\x1b[1m" in on_terminal("inspect", "history", made, COLUMNS="60")


def test_a_followed_run_that_has_ended_on_a_terminal(made: Path) -> None:
    text = on_terminal("inspect", made, "--follow", COLUMNS="80", NO_COLOR="1")
    assert "finished at step 30" in text
    assert "Score audit" in text


def test_a_reader_that_leaves_early(made: Path) -> None:
    command = f"{sys.executable} -m senn_cli inspect history {made} | head -n 1"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout.startswith("History")
    assert "Traceback" not in result.stderr


def test_no_jax(made: Path) -> None:
    verbs = ([made], [made, "--json"], ["history", made], ["architecture", made])
    lines, modules = imported(*(["inspect", *words] for words in verbs))
    assert lines and not modules & {"jax", "flax", "optax", "orbax", "matplotlib"}


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    candidate = {
        "kind": "width", "site": "layer 0", "delta_eta": 0.0083, "delta_eta_lower": 0.0134,
        "bias": 0.0066, "eta": 0.0175, "score": 0.0083, "ratio": 0.4711, "passes": True,
    }  # fmt: skip
    history = []
    for index in range(ROWS):
        known = {"ratio": 0.5, "train_loss": 2.0 / (index + 1), "candidates": [candidate] * 3}
        widths = [2 + (index + 1) // 2]
        if index % 2:
            history.append(added(index, widths, 0, 0.1 / (index + 1), **known))
        else:
            history.append(event(index, widths, **known))
    rows = [row(index, [2 + (index + 1) // 2], train_loss=1.0) for index in range(0, ROWS, 10)]
    path = tmp_path_factory.mktemp("long")
    return run_directory(path, metrics=rows, history=history)


@pytest.mark.parametrize(
    "arguments", [[], ["--json"], ["--json", "--rejected"], ["history"], ["history", "--rejected"]]
)
def test_ten_thousand_rows_are_read_once(long_run: Path, arguments: list[str]) -> None:
    first = [long_run] if arguments[:1] != ["history"] else ["history", long_run]
    rest = [argument for argument in arguments if argument != "history"]
    with documents_read() as read:
        text = shown(*first, *rest)
    assert len(read) == ROWS + ROWS // 10  # decisions and rows of metrics
    if "--json" in arguments:
        expected = ROWS if "--rejected" in arguments else ROWS // 2
        assert len(strictly(text)["history"]) == expected
    elif "history" in arguments:
        rows = [line for line in text.splitlines() if " +1 neuron" in line or " rejected" in line]
        assert len(rows) == (ROWS if "--rejected" in arguments else ROWS // 2)
    else:
        assert "5,000 accepted of 10,000 decisions" in text
