"""A run of arrays: what is in its directory, what it shows, and how it goes on."""

from __future__ import annotations

import builtins
import html
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import senn_cli
from senn_cli.data.python import ArgumentError
from senn_cli.errors import SpecError, UsageError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
NAMES = np.where(X[:, 0] > 0.3, "<b>warm</b>", np.where(X[:, 1] > 0, "cold & wet", "cold"))
OPTIONS: dict[str, Any] = {
    "network": {"hidden": [2], "activation": "tanh"},
    "optimizer": {"kind": "adam", "learning_rate": 1e-2},
    "expansion": "none",
    "training": {"steps": 6, "batch_size": 12, "evaluate": {"steps": 3}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> senn_cli.Run:
    return senn_cli.fit(
        X, NAMES, name="weather", root=tmp_path_factory.mktemp("runs"), verbose=0, **OPTIONS
    )


def test_the_data_lie_in_the_run_s_own_directory(run: senn_cli.Run) -> None:
    with np.load(run.path / "data.npz") as data:
        np.testing.assert_array_equal(data["x"], X)
        assert data["y"].tolist() == NAMES.tolist()
    assert "path: data.npz" in (run.path / "spec.yaml").read_text()
    assert run.path.name.startswith("weather-") and run.summary["status"] == "finished"
    assert {"test_accuracy", "test_loss"} <= run.summary.keys()


def test_a_run_that_was_moved_goes_on_with_its_data(run: senn_cli.Run, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(run.path, moved)
    longer = senn_cli.resume(moved, overrides=["training.steps=9"])
    assert (longer.summary["steps"], longer.path) == (9, moved)
    assert "path: data.npz" in (moved / "spec.yaml").read_text()
    other = senn_cli.resume(moved, branch=tmp_path / "branch", overrides=["training.steps=12"])
    assert other.summary["steps"] == 12 and senn_cli.load_spec(
        other.path / "spec.yaml"
    ).data.path == (moved / "data.npz")


def test_rows_and_events_as_lists_and_as_frames(run: senn_cli.Run) -> None:
    assert [row["step"] for row in run.rows] == [3, 6]
    assert run.events == []
    pandas = pytest.importorskip("pandas")
    frame = run.metrics
    assert isinstance(frame, pandas.DataFrame)
    assert frame["train_loss"].tolist() == [row["train_loss"] for row in run.rows]
    assert len(run.history) == 0


def test_frames_without_pandas_say_what_to_do(
    run: senn_cli.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'")
        return imports(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"run\.metrics is a data frame and needs pandas") as error:
        _ = run.metrics
    assert error.value.hint is not None and "run.rows" in error.value.hint


def test_answers_and_classes(run: senn_cli.Run) -> None:
    shares = run.predict_proba(X)
    assert shares.shape == (60, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    names = sorted(set(NAMES.tolist()))
    assert run.predict(X).tolist() == [names[place] for place in shares.argmax(axis=1)]
    # By the file: the network as it was saved, without spare capacity.
    np.testing.assert_allclose(senn_cli.load(run)(X), shares, rtol=1e-5)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X[:, :2], r"expected examples of the shape \(3,\)"),
        (X[0], r"expected examples of the shape \(3,\)"),
        ([["a", "b", "c"]], "expected numbers, found the type"),
        (np.full((2, 3), np.nan), "NaN or infinite"),
    ],
)
def test_what_cannot_be_examples_is_refused(run: senn_cli.Run, x: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        run.predict(x)


def test_a_page_of_a_notebook_escapes_what_others_wrote(run: senn_cli.Run) -> None:
    hostile = senn_cli.Run(
        run.path, run.summary | {"name": "<script>x</script>"}, run.architecture, run.params
    )
    text = hostile._repr_html_()
    assert "<script>" not in text and html.escape("<script>x</script>") in text
    assert "test accuracy" in text and "data:image/svg+xml;base64," in text
    assert repr(run).startswith("<Run weather: status: finished")


def test_pictures(run: senn_cli.Run, tmp_path: Path) -> None:
    drawn = run.plot("loss", title="A & B")
    assert drawn.svg.startswith("<?xml") and "A &amp; B" in drawn.svg
    assert "<img" in drawn._repr_html_()
    assert drawn.save(tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="the kinds are growth"):
        run.plot("growht")
    with pytest.raises(UsageError, match="plot has no option colour"):
        run.plot("loss", colour="red")
    with pytest.raises(UsageError, match=r"ends with \.svg"):
        drawn.save(tmp_path / "loss.gif")


def test_the_page_and_an_export(run: senn_cli.Run, tmp_path: Path) -> None:
    assert run.report() == run.path / "report.html"
    assert "<html" in run.report(tmp_path / "page.html").read_text()
    made = run.export("stablehlo", tmp_path / "net")
    assert made.files[0].is_file() and made.difference < 1e-5
    with pytest.raises(UsageError, match="there is no format 'pickle'"):
        run.export("pickle")


def test_errors_of_specs_and_data_leave_nothing_behind(tmp_path: Path) -> None:
    for wrong, error, message in (
        ({"network": {"hiden": [2]}}, SpecError, "hiden"),
        ({"data": {"source": "digits"}}, SpecError, "names data, but X and y are given"),
        ({"training": {"batch_size": 1000}}, senn_cli.errors.SennError, "batch_size"),
    ):
        with pytest.raises(error, match=message):
            senn_cli.fit(X, NAMES, root=tmp_path, verbose=0, **wrong)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ArgumentError, match="y is missing"):
        senn_cli.fit(X, root=tmp_path, verbose=0)
    with pytest.raises(ArgumentError, match="60 examples, but y has 59"):
        senn_cli.fit(X, NAMES[1:], root=tmp_path, verbose=0)
    assert list(tmp_path.iterdir()) == []


def test_the_rest_of_a_spec_may_be_a_file(run: senn_cli.Run, tmp_path: Path) -> None:
    file = tmp_path / "rest.yaml"
    file.write_text(
        "name: weather\nnetwork: {hidden: [2], activation: tanh}\nexpansion: none\n"
        "optimizer: {kind: adam, learning_rate: 1e-2}\n"
        "training: {steps: 60, batch_size: 12, evaluate: {steps: 3}}\n"
    )
    again = senn_cli.fit(X, NAMES, file, root=tmp_path, verbose=0, training={"steps": 6})
    assert again.rows[-1]["train_loss"] == run.rows[-1]["train_loss"]  # a section is merged
    with pytest.raises(SpecError, match="no such file"):
        senn_cli.fit(X, NAMES, tmp_path / "other.yaml", root=tmp_path, verbose=0)


def test_ctrl_c_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    """As in a notebook: the process stays, and the last line says what to do."""
    script = f"""
import os, signal
import numpy as np
import senn_cli
sys_ps1 = None

class Interrupts(senn_cli.Callback):
    def boundary(self, moment):
        os.kill(os.getpid(), signal.SIGINT)

x = np.random.default_rng(0).normal(size=(60, 3))
try:
    senn_cli.fit(x, x[:, 0] > 0, run_directory={str(tmp_path / "run")!r}, verbose=0,
                 callbacks=[Interrupts()], **{OPTIONS!r})
except senn_cli.errors.InterruptedRun as error:
    print(error._render_traceback_()[-1])
run = senn_cli.resume({str(tmp_path / "run")!r})
print(run.summary["status"], run.summary["steps"])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines == [f"Go on with: senn_cli.resume({str(tmp_path / 'run')!r})", "finished 6"]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (X[:, 0], "regression"),
        (np.arange(60), "regression"),
        (np.arange(60) % 3, "classification"),
        (X[:, 0] > 0, "classification"),
        (NAMES, "classification"),
        (X[:, :2], "regression"),
        (X[:, :2] > 0, "multilabel"),
    ],
)
def test_what_targets_are_by_their_values(y: Any, task: str) -> None:
    from senn_cli.data.python import given
    from senn_cli.python.fitting import guessed_task

    assert guessed_task(given(X, y)) == task


def test_sections_are_merged_and_values_replaced() -> None:
    from senn_cli.python.fitting import merged

    one: Mapping[str, Any] = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}
    assert merged(one, {"a": {"c": {"f": 4}}, "e": {"g": 5}}) == {
        "a": {"b": 1, "c": {"d": 2, "f": 4}},
        "e": {"g": 5},
    }
    assert one == {"a": {"b": 1, "c": {"d": 2}}, "e": 3}


def test_a_data_loader_of_pytorch_brings_its_targets(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pairs = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor((X[:, 0] > 0).astype(int)))
    loader = torch.utils.data.DataLoader(pairs, batch_size=25)
    run = senn_cli.fit(loader, root=tmp_path, verbose=0, **OPTIONS)
    with np.load(run.path / "data.npz") as data:
        np.testing.assert_array_equal(data["x"], X)
    assert run.preprocessing.classes == ("0", "1")


def test_gaps_are_filled_where_the_rest_of_the_spec_says_how(tmp_path: Path) -> None:
    holes = X.copy()
    holes[::7, 1] = np.nan
    options = {**OPTIONS, "data": {"missing": "median"}}
    run = senn_cli.fit(holes, NAMES, root=tmp_path, verbose=0, **options)
    assert run.preprocessing.encoding is not None
    assert run.predict(holes).shape == (60,)
    with pytest.raises(ArgumentError, match="NaN"):
        senn_cli.fit(holes, NAMES, root=tmp_path, verbose=0, **OPTIONS)
