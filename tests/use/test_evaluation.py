from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.spec import parse_spec
from senn_cli.training.run import Run, train_run
from senn_cli.use.evaluation import evaluate_run
from senn_cli.use.measures import Classification, Regression
from tests.resuming import SMALL
from tests.use.made import made_run, table

LINE = """
name: line
data: {source: csv, path: table.csv, target: [near, far], task: regression, test: 20}
network: {kind: mlp, hidden: [3], activation: tanh}
optimizer: {kind: adam, learning_rate: 1e-2}
expansion: {policy: none}
training: {epochs: 2, batch_size: 10}
"""
OTHER = "data: {source: csv, path: other.csv, target: kind, test: 0.5}\nnetwork: mlp\n"


@pytest.fixture(scope="module")
def moons(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train_run(parse_spec(SMALL), run_directory=tmp_path_factory.mktemp("moons"))


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("line")
    text = table(folder / "table.csv").read_text().splitlines()
    # Without the text column.
    rows = [",".join(v for i, v in enumerate(line.split(",")) if i != 1) for line in text]
    (folder / "table.csv").write_text("\n".join(rows))
    return train_run(parse_spec(LINE, base_dir=folder), run_directory=folder / "run")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the classes egg, ham and sun."""
    folder = tmp_path_factory.mktemp("kinds")
    text = table(folder / "all.csv").read_text().splitlines()
    rows = [",".join(line.split(",")[:3]) for line in text]
    (folder / "table.csv").write_text("\n".join(rows))
    return made_run(folder / "run", "{source: csv, path: table.csv, target: kind}")


def test_a_classification_is_what_the_run_itself_measured(moons: Run) -> None:
    found = evaluate_run(moons.path)
    assert isinstance(found.measures, Classification)
    assert found.measures.examples == 50
    assert found.measures.accuracy == pytest.approx(moons.summary["test_accuracy"], abs=1e-6)
    assert found.measures.loss == pytest.approx(moons.summary["test_loss"], rel=1e-5)
    assert (found.notes, found.own) == ((), True)
    (checkpoint, *_) = sorted((moons.path / "checkpoints").glob("[0-9]*"))
    assert not evaluate_run(checkpoint).own


def test_a_regression_is_what_the_run_itself_measured(line: Run) -> None:
    found = evaluate_run(line.path)
    assert isinstance(found.measures, Regression)
    assert [one.name for one in found.measures.targets] == ["near", "far"]
    assert found.measures.mse == pytest.approx(line.summary["test_mse"], rel=1e-5)
    assert found.measures.loss == pytest.approx(line.summary["test_loss"], rel=1e-5)


def test_the_other_parts(moons: Run) -> None:
    last = json.loads((moons.path / "metrics.jsonl").read_text().splitlines()[-1])
    found = evaluate_run(moons.path, split="validation").measures
    assert isinstance(found, Classification)
    assert found.examples == 10
    assert found.loss == pytest.approx(last["validation_loss"], rel=1e-5)
    assert evaluate_run(moons.path, split="train").measures.examples == 90


def test_there_may_be_no_validation_part(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", "{source: moons, train: 20, test: 20, validation: 0}")
    with pytest.raises(UsageError, match="have no validation part, only train and test"):
        evaluate_run(run, split="validation")


def write_other(folder: Path, rows: list[str]) -> Path:
    (folder / "other.csv").write_text("\n".join(rows))
    path = folder / "other.yaml"
    path.write_text(OTHER)
    return path


def test_classes_of_other_data_are_matched_by_name(kinds: Path, tmp_path: Path) -> None:
    rows = [f"{i / 10},{10 + i / 20},{'sun' if i % 2 else 'ham'}" for i in range(20)]
    spec = write_other(tmp_path, ["a,b,kind", *rows])
    found = evaluate_run(kinds, spec).measures
    assert isinstance(found, Classification)
    assert [one.name for one in found.classes] == ["egg", "ham", "sun"]
    assert [one.support for one in found.classes] == [0, 5, 5]


def test_columns_of_other_data_are_matched_by_name(kinds: Path, tmp_path: Path) -> None:
    """They were taken in their order: half of the answers were wrong, without a word."""
    rng = np.random.default_rng(5)
    found = []
    for order in ("a,b,kind", "kind,b,a", "b,more,kind,a"):
        rows = [order]
        for a, b in np.random.default_rng(5).normal([0, 10], 1, (20, 2)):
            values = {"a": a, "b": b, "kind": "sun" if a > 0 else "ham", "more": rng.normal()}
            rows.append(",".join(str(values[name]) for name in order.split(",")))
        found.append(evaluate_run(kinds, write_other(tmp_path, rows)))
    assert found[0].measures == found[1].measures == found[2].measures
    assert found[2].notes == ("other.csv: columns that the run does not use: 'more'",)


def test_other_data_of_a_run_of_an_older_senn_are_matched_by_the_names_in_its_table(
    tmp_path: Path,
) -> None:
    rows = [f"{i / 10},{10 + i / 20},{'sun' if i % 2 else 'ham'}" for i in range(20)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,kind", *rows]))
    run = made_run(tmp_path / "run", "{source: csv, path: table.csv, target: kind}")
    path = run / "preprocessing.json"
    stored = json.loads(path.read_text())
    del stored["format"], stored["encoding"]
    path.write_text(json.dumps({**stored, "dtype": "float32"}))
    straight = evaluate_run(run, write_other(tmp_path, ["a,b,kind", *rows])).measures
    turned = [",".join(row.split(",")[i] for i in (1, 2, 0)) for row in rows]
    spec = write_other(tmp_path, ["b,kind,a", *turned])
    assert evaluate_run(run, spec).measures == straight
    (tmp_path / "table.csv").unlink()
    with pytest.raises(DataError, match="an older senn trained the run, which kept no names"):
        evaluate_run(run, spec)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,b,kind"] + ["1,2,owl", "3,4,egg"] * 5, r"does not know 'owl'; its classes are 'egg'"),
        (["a,kind"] + ["1,ham", "3,egg"] * 5, "has no column 'b', which the run learnt"),
    ],
)
def test_data_that_do_not_fit(kinds: Path, tmp_path: Path, rows: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluate_run(kinds, write_other(tmp_path, rows))


def test_another_task_and_another_type(kinds: Path, tmp_path: Path) -> None:
    spec = tmp_path / "other.yaml"
    spec.write_text("data: regression\nnetwork: mlp\n")
    with pytest.raises(DataError, match="the data are a regression, but the run a classification"):
        evaluate_run(kinds, spec)
    names = np.array(["egg", "ham"] * 5)
    np.savez(tmp_path / "a.npz", x=np.ones((10, 2), np.uint8), y=names)
    spec.write_text("data: {source: npz, path: a.npz}\nnetwork: mlp\n")
    with pytest.raises(DataError, match="the inputs are uint8, but the run's are float64"):
        evaluate_run(kinds, spec)


def test_another_number_of_targets(line: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones((10, 2), np.float32), y=np.ones(10, np.float32))
    spec = tmp_path / "other.yaml"
    spec.write_text("data: {source: npz, path: a.npz, task: regression}\nnetwork: mlp\n")
    with pytest.raises(DataError, match="1 target an example, but the run has 2"):
        evaluate_run(line.path, spec)


def test_other_data_are_scaled_as_the_runs_were(line: Run, tmp_path: Path) -> None:
    """The same examples, shifted: their own scaling would hide that."""
    rows = np.genfromtxt(line.path.parent / "table.csv", delimiter=",", skip_header=1)
    found = []
    for offset in (0.0, 100.0):
        np.savez(tmp_path / "a.npz", x=rows[:, :2] + offset, y=rows[:, 2:])
        spec = tmp_path / "other.yaml"
        spec.write_text("data: {source: npz, path: a.npz, task: regression}\nnetwork: mlp\n")
        found.append(evaluate_run(line.path, spec).measures.loss)
    assert abs(found[1] - found[0]) > 0.1 * found[0]


def test_only_the_data_can_be_overridden(moons: Run) -> None:
    for override in ("training.epochs=3", "seed=1", "database=1"):
        with pytest.raises(UsageError, match="only the data can be changed here"):
            evaluate_run(moons.path, overrides=[override])
    found = evaluate_run(moons.path, overrides=["data.test=70"])
    assert found.measures.examples == 70
    assert "may be among these" in found.notes[0]


def test_data_that_have_changed_are_noted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    np.savez(tmp_path / "a.npz", x=x, y=y)
    run = made_run(tmp_path / "run", "{source: npz, path: a.npz}")
    assert evaluate_run(run).notes == ()
    np.savez(tmp_path / "a.npz", x=x + 1, y=y)
    assert "not those of the run" in evaluate_run(run).notes[0]
    # Moved as a whole they are the same.
    (tmp_path / "a.npz").rename(tmp_path / "b.npz")
    np.savez(tmp_path / "b.npz", x=x, y=y)
    assert evaluate_run(run, overrides=[f"data.path={tmp_path / 'b.npz'}"]).notes == ()


def test_outputs_that_are_not_finite(tmp_path: Path) -> None:
    x = np.array([[1e38], [-1e38]] * 10, np.float32)
    np.savez(tmp_path / "a.npz", x=x, y=np.arange(20) % 2)
    run = made_run(tmp_path / "run", "{source: npz, path: a.npz, normalize: none}")
    with pytest.raises(RunError, match="not finite for 4 of 4 examples"):
        evaluate_run(run)
