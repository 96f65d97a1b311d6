"""Which path names which network: of a run, a checkpoint, the best one, weights, an import."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from senn_cli.errors import UsageError
from senn_cli.runs.network import Place, place_of
from tests.handmade import checkpoint, run_directory, weights


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = run_directory(tmp_path / "run")
    weights(run, [(2, 4)], inputs=2, outputs=2)
    for step, place in (
        (10, "checkpoints"),
        (20, "checkpoints"),
        (20, "checkpoints-before-growth"),
        (7, "checkpoints/best"),
        (15, "checkpoints/best"),
    ):
        checkpoint(run, step, [(2, 4)], place=place)
    return run


def test_a_run_is_its_final_network_and_its_checkpoints_are_those_of_steps(run: Path) -> None:
    assert place_of(run) == place_of(run / "weights") == Place(run / "weights", run)
    for name, step in (
        ("checkpoints/10", 10),
        ("checkpoints-before-growth/20", 20),
        ("checkpoints/best/7", 7),
    ):
        assert place_of(run / name) == Place(run / name, run, step)
    (run / "spec.yaml").unlink()  # a part of a run that was copied
    assert place_of(run / "checkpoints" / "10") == Place(run / "checkpoints" / "10", run, 10)


def test_the_best_is_the_newest_of_the_best_moments(run: Path) -> None:
    best = run / "checkpoints" / "best"
    assert place_of(best) == Place(best / "15", run, 15)
    (best / "15" / "complete").unlink()
    assert place_of(best) == Place(best / "7", run, 7)
    (best / "7" / "complete").unlink()
    with pytest.raises(UsageError, match="run has kept no best network") as caught:
        place_of(best)
    assert "checkpoints: {best: validation_loss}" in str(caught.value.hint)


def test_weights_by_themselves_and_imports(tmp_path: Path) -> None:
    imported = tmp_path / "imported"
    imported.mkdir()
    weights(imported, [(2, 4)], inputs=2, outputs=2)
    assert place_of(imported) == Place(imported / "weights", imported)
    os.rename(imported / "weights", tmp_path / "other")
    assert place_of(tmp_path / "other") == Place(tmp_path / "other", tmp_path)


def test_a_checkpoint_that_is_not_there_is_told_with_those_that_are(run: Path) -> None:
    with pytest.raises(UsageError) as caught:
        place_of(run / "checkpoints" / "17")
    assert caught.value.message == f"{run} has no checkpoint of step 17; checkpoints has: 10, 20"
    assert caught.value.exit_code == 2


def test_paths_may_be_relative(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run / "checkpoints")
    assert place_of(Path("10")) == Place(run / "checkpoints" / "10", run, 10)
    assert place_of(Path("best")).step == 15
