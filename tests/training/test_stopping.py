"""Runs that end when evaluations no longer improve, and the networks of their best evaluations."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.errors import DivergedError
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.weights import load_weights
from senn_cli.training.run import Run
from tests.resuming import (
    MOONS,
    SMALL,
    Executables,
    Heard,
    check_same,
    check_same_weights,
    go,
    resume,
    rows,
    shared_programs,
    steps,
    store_of,
    timeless,
    tree_of,
)

# As long as in other tests, so that most is compiled already. The accuracy on the validation part
# does not improve from step 3 to step 6; a growth round of step 3 comes after its evaluation.
GROWING = (
    "data={source: moons, train: 260, validation: 60, test: 100}",
    "training={epochs: 5, batch_size: 60, evaluate: 1 steps}",
    "optimizer.kl_clip=0.01",
    "seed=2",
)
OFTEN = "checkpoints={every: 2 steps, growth: true, keep: 9}"
STOP = "training.stop={metric: validation_accuracy, patience: 3}"
BEST, LAST = 3, 6


@dataclass(frozen=True)
class Runs:
    """A run that was stopped early, the same one without that, and what was compiled for both."""

    stopped: Run
    plain: Run
    executables: Executables


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    place, executables = tmp_path_factory.mktemp("stopping"), Executables()
    with shared_programs(executables):
        stopped = go(MOONS, place / "stopped", *GROWING, OFTEN, STOP)
        return Runs(stopped, go(MOONS, place / "plain", *GROWING, OFTEN), executables)


@pytest.fixture
def runs(prepared: Runs) -> Iterator[Runs]:
    with shared_programs(prepared.executables):
        yield prepared


def bests_of(run: Path) -> CheckpointStore:
    return CheckpointStore(run / "checkpoints" / "best", None)


def parameters_in(store: CheckpointStore, step: int) -> dict[str, bytes]:
    """The bytes of every parameter of a checkpoint, by name."""
    table = json.loads((store.directory / str(step) / "meta.json").read_bytes())["arrays"]
    expected = {n: (tuple(e["shape"]), np.dtype(e["dtype"])) for n, e in table.items()}
    found = store.restore(step, expected)
    return {n: array.tobytes() for n, array in found.items() if n.startswith("params/")}


def parameters_of(run: Path) -> dict[str, bytes]:
    """The same of a run's result."""
    _, tree = load_weights(run / "weights")
    return {
        f"params/{part}/{leaf}": np.asarray(array).tobytes()
        for part, leaves in tree.items()
        for leaf, array in leaves.items()
    }


def test_a_run_stops_when_nothing_improves_and_ends_with_its_best_network(runs: Runs) -> None:
    run = runs.stopped
    figures = [row["validation_accuracy"] for row in rows(run.path / "metrics.jsonl")]
    assert len(figures) == LAST  # three in a row that are no better than the third
    assert max(figures[: BEST - 1]) < figures[BEST - 1] >= max(figures[BEST:])
    summary = run.summary
    assert (summary["status"], summary["steps"], summary["stopped_early"]) == ("finished", 6, True)
    assert summary["best"] == {
        "metric": "validation_accuracy",
        "step": BEST,
        "value": figures[BEST - 1],
    }
    assert summary["weights_step"] == BEST


def test_the_best_network_is_that_of_before_the_growth_round_of_its_step(runs: Runs) -> None:
    run, plain = runs.stopped, runs.plain.path
    grown = {row["step"]: row["hidden"] for row in rows(plain / "history.jsonl") if row["accepted"]}
    assert BEST in grown
    before = CheckpointStore(plain / "checkpoints-before-growth", None)
    assert parameters_of(run.path) == parameters_in(before, BEST)
    assert parameters_in(bests_of(run.path), BEST) == parameters_in(before, BEST)
    row = rows(run.path / "metrics.jsonl")[BEST - 1]
    assert run.summary["hidden"] == row["hidden"] != grown[BEST]
    assert run.summary["parameters"] == row["parameters"]
    assert list(run.architecture.widths) == row["hidden"]
    # The last moment is kept as well: from there the run can be made longer.
    assert store_of(run.path).steps()[-1] == LAST


def test_the_history_says_why_it_ended_and_with_what(runs: Runs) -> None:
    *earlier, last = rows(runs.stopped.path / "history.jsonl")
    assert all("end" not in row for row in earlier)
    value = runs.stopped.summary["best"]["value"]
    assert last["reason"] == (
        "stopped, as validation_accuracy did not improve in 3 evaluations; the result is the "
        f"network of step 3, validation_accuracy {value:.4g}"
    )
    assert (last["step"], last["hidden"]) == (LAST, runs.stopped.summary["hidden"])
    assert last["end"] == {
        "metric": "validation_accuracy",
        "step": BEST,
        "value": value,
        "stopped": True,
        "restored": True,
    }
    assert not any("end" in row for row in rows(runs.plain.path / "history.jsonl"))
    assert "best" not in runs.plain.summary


def test_stopped_at_every_step_it_is_the_run_that_was_not(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "run"
    go(MOONS, path, *GROWING, OFTEN, STOP, until=steps(1))
    for step in range(2, LAST):
        assert resume(path, until=steps(step)).summary["steps"] == step
    resume(path)
    check_same(path, runs.stopped.path)
    assert parameters_in(bests_of(path), BEST) == parameters_in(bests_of(runs.stopped.path), BEST)


EVERY_OTHER = "checkpoints={every: 2 steps}"


class Killed(BaseException):
    """What ends a run as a kill does: nothing is saved after it."""


@dataclass
class Killing(Heard):
    """An observer that kills the run at an evaluation."""

    fatal: int = 0

    def metrics(self, row: Mapping[str, Any]) -> None:
        if row["step"] == self.fatal:
            raise Killed


@pytest.mark.parametrize("step", [3, 4, 5])  # checkpoints are those of steps 2 and 4
def test_killed_it_still_ends_with_the_same_best_network(
    runs: Runs, tmp_path: Path, step: int
) -> None:
    path = tmp_path / "run"
    with pytest.raises(Killed):
        go(MOONS, path, *GROWING, EVERY_OTHER, STOP, observers=[Killing(fatal=step)])
    for thread in threading.enumerate():
        if thread.name.startswith("checkpoint-"):
            thread.join()  # a kill may come at any time; here after the last save
    *_, saved = store_of(path).steps()
    assert saved == (step - 1) // 2 * 2
    figures = [row["validation_accuracy"] for row in rows(path / "metrics.jsonl")][:saved]
    # Every checkpoint has the best of its time beside it.
    assert bests_of(path).steps()[-1] == 1 + figures.index(max(figures))
    resume(path)
    summary = json.loads((path / "summary.json").read_text())
    assert (summary["steps"], summary["best"]["step"]) == (LAST, BEST)
    check_same_weights(path, runs.stopped.path)


def test_made_longer_it_goes_on_from_its_last_moment(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(runs.stopped.path, path)
    resume(path, "training.stop=null")
    check_same_weights(path, runs.plain.path)
    for name in ("metrics.jsonl", "history.jsonl"):
        assert timeless(path / name) == timeless(runs.plain.path / name)
    assert "best" not in json.loads((path / "summary.json").read_text())


def test_resumed_it_stays_as_it_is(runs: Runs, tmp_path: Path) -> None:
    path, heard = tmp_path / "run", Heard()
    shutil.copytree(runs.stopped.path, path)
    before = tree_of(path)
    assert resume(path, observers=[heard]).summary["best"]["step"] == BEST
    assert tree_of(path) == before
    assert heard.notes[0].startswith("The run has finished at step 6 and stays as it is.")


def test_without_patience_it_trains_to_the_end_and_ends_with_the_best(
    runs: Runs, tmp_path: Path
) -> None:
    stop = "training.stop={metric: validation_accuracy, patience: null}"
    run = go(MOONS, tmp_path / "run", *GROWING, stop, "seed=6")
    assert (run.summary["steps"], run.summary["stopped_early"]) == (15, False)
    figures = [row["validation_accuracy"] for row in rows(run.path / "metrics.jsonl")]
    best = 1 + figures.index(max(figures))
    assert best < 15
    assert parameters_of(run.path) == parameters_in(bests_of(run.path), best)
    *_, last = rows(run.path / "history.jsonl")
    assert last["reason"].startswith(f"the result is the network of step {best}, validation_acc")
    assert last["hidden"] == run.summary["hidden"]


def test_stopped_without_restoring_it_ends_with_its_last_network(
    runs: Runs, tmp_path: Path
) -> None:
    stop = "training.stop={metric: validation_accuracy, patience: 3, restore: false}"
    run = go(MOONS, tmp_path / "run", *GROWING, stop)
    assert (run.summary["weights_step"], run.summary["best"]["step"]) == (LAST, BEST)
    assert parameters_of(run.path) == parameters_in(store_of(run.path), LAST)
    *_, last = rows(run.path / "history.jsonl")
    assert last["reason"] == "stopped, as validation_accuracy did not improve in 3 evaluations"


def test_a_branch_from_the_best_moment_grows_as_the_run_did(runs: Runs, tmp_path: Path) -> None:
    path, source = tmp_path / "branch", runs.stopped.path
    if BEST in store_of(source).steps():  # saved after the growth round
        source = tmp_path / "run"
        shutil.copytree(runs.stopped.path, source)
        shutil.rmtree(source / "checkpoints" / str(BEST))
    resume(source, "training.stop=null", step=BEST, branch=path)
    check_same_weights(path, runs.plain.path)
    assert timeless(path / "history.jsonl") == timeless(runs.plain.path / "history.jsonl")


EVALUATED = "training={epochs: 3, batch_size: 30, evaluate: 1 steps}"  # nine steps


def test_the_best_is_kept_although_no_checkpoint_was_due(tmp_path: Path) -> None:
    run = go(SMALL, tmp_path / "run", EVALUATED, "checkpoints={best: train_loss}")
    losses = [row["train_loss"] for row in rows(run.path / "metrics.jsonl")]
    best = 1 + losses.index(min(losses))
    assert run.summary["best"] == {"metric": "train_loss", "step": best, "value": min(losses)}
    assert bests_of(run.path).steps() == (best,)
    assert run.summary["weights_step"] == run.summary["steps"] == 9  # restored by `stop` alone
    assert not any("end" in row for row in rows(run.path / "history.jsonl"))


def test_a_run_that_diverges_keeps_its_best_network(tmp_path: Path) -> None:
    text = SMALL.replace("adam, learning_rate: 1e-2", "sgd, learning_rate: 1e4").replace(
        "tanh", "rational"
    )
    with pytest.raises(DivergedError):
        go(text, tmp_path / "run", EVALUATED, "checkpoints={best: train_loss}")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert bests_of(tmp_path / "run").steps() == (summary["best"]["step"],)


def test_a_lost_best_network_is_told_and_the_best_of_what_follows_is_taken(tmp_path: Path) -> None:
    path, heard = tmp_path / "run", Heard()
    stop = "training.stop={metric: train_loss, patience: null}"
    go(SMALL, path, EVALUATED, stop, until=steps(5))
    (lost,) = bests_of(path).steps()
    for file in (path / "checkpoints" / "best" / str(lost) / "arrays").rglob("*"):
        if file.is_file():
            os.truncate(file, file.stat().st_size // 2)
    summary = resume(path, observers=[heard]).summary
    (note,) = heard.notes[:1]
    assert note.startswith(f"The best network so far, of step {lost}, is lost: ")
    losses = [row["train_loss"] for row in rows(path / "metrics.jsonl")][5:]
    assert summary["best"]["value"] == min(losses)


def test_checkpoints_of_before_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run"
    go(SMALL, path, EVALUATED, "checkpoints={best: train_loss}", until=steps(5))
    meta = path / "checkpoints" / "5" / "meta.json"
    document = json.loads(meta.read_text())
    del document["meta"]["best"]
    document["metric"] = 0.5
    meta.write_text(json.dumps(document))
    summary = resume(path).summary
    losses = [row["train_loss"] for row in rows(path / "metrics.jsonl")][5:]
    assert summary["best"]["value"] == min(losses)
