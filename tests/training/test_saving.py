"""When a run saves itself, where to, and what is tidied up before it goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.errors import RunError
from senn_cli.runs import checkpoints
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.keep import KeepRules
from senn_cli.spec import Spec, parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.best import Best
from senn_cli.training.loop import Trainer
from senn_cli.training.saving import (
    Saver,
    data_digest,
    forget_after,
    nothing_saved,
    set_unmarked_aside,
    store_in,
)
from senn_cli.training.snapshot import Moment
from tests.resuming import SMALL, Executables, shared_programs

EXECUTABLES: Executables = {}


@dataclass
class Scene:
    """A run at step 0 whose clock stands still until it is moved."""

    directory: RunDirectory
    trainer: Trainer
    saver: Saver
    time: list[float]

    def at(self, step: int) -> Moment:
        """The run's moment, as if it had come to `step`."""
        network = self.trainer.network
        state = network.state._replace(step=jnp.int32(step))
        self.trainer.network = replace(network, state=state)
        return self.trainer.moment

    def boundary(self, step: int) -> tuple[int, ...]:
        """The complete checkpoints after the loop has come to `step`."""
        self.saver.boundary(self.at(step))
        self.saver.store.wait()
        return self.saver.store.steps()


def scene(path: Path, *overrides: str) -> Scene:
    spec: Spec = parse_spec(SMALL, overrides=overrides)
    directory = RunDirectory.at(path)
    with shared_programs(EXECUTABLES):
        trainer = assemble(spec, load_dataset(spec.data, 0), Ledger())
    time = [0.0]
    saver = Saver(directory, spec.checkpoints, trainer, "digest", lambda: time[0])
    return Scene(directory, trainer, saver, time)


def meta(store: CheckpointStore, step: int) -> dict[str, Any]:
    path = store.directory / str(step) / "meta.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_every_so_many_steps_or_epochs(tmp_path: Path) -> None:
    for number, every in enumerate(["2 steps", "2 epochs"]):  # of three steps each
        run = scene(tmp_path / str(number), f"checkpoints={{every: {every}, keep: 9}}")
        saved = [run.boundary(step) for step in range(1, 8)][-1]
        assert saved == ((2, 4, 6), (6,))[number]


def test_every_so_many_minutes(tmp_path: Path) -> None:
    run = scene(tmp_path / "run", "checkpoints={every: 2 minutes}")
    run.time[0] = 119.9
    assert run.boundary(1) == ()
    run.time[0] = 120
    assert run.boundary(2) == (2,)
    run.time[0] = 239
    assert run.boundary(3) == (2,)
    run.time[0] = 250
    assert run.boundary(4) == (2, 4)


def test_only_when_asked(tmp_path: Path) -> None:
    run = scene(tmp_path / "run", "checkpoints=false")
    run.time[0] = 1e6
    assert run.boundary(1) == ()
    run.saver.round([], run.at(2), run.at(2))
    run.saver.save(run.at(3), wait=True)  # the end, or an interruption
    assert run.saver.store.steps() == (3,)


def test_the_rules_of_the_spec(tmp_path: Path) -> None:
    text = "checkpoints={keep: 2, keep_every: 2 epochs}"
    spec = parse_spec(SMALL, overrides=[text])
    store = store_in(tmp_path, spec.checkpoints, per_epoch=3)
    assert store.rules == KeepRules(2, 6)
    assert store.directory == tmp_path / "checkpoints"


def test_what_stands_beside_the_arrays(tmp_path: Path) -> None:
    run = scene(tmp_path / "run", "checkpoints={best: validation_loss}", "seed=5")
    run.directory.append_metrics({"step": 3})
    run.trainer.best = Best("validation_loss", 2, 0.1 + 0.2, 0.5, 1)
    run.saver.save(run.at(3), wait=True)
    inner = meta(run.saver.store, 3)["meta"]
    assert Best(**inner["best"]) == run.trainer.best
    assert (inner["seed"], inner["data"]) == (5, "digest")
    assert (inner["metrics_bytes"], inner["history_bytes"]) == (len('{"step": 3}\n'), 0)
    assert inner["limit"] == run.trainer.limit >= 100
    assert inner["architecture"]["hidden"][0]["width"] == 3
    nothing = {"last_layer_step": None, "accepted": 0, "pending": False, "idle": 0, "kept": []}
    nothing |= {"rest": 0, "ended": None}
    assert inner["growth"] == nothing
    assert inner["seconds"].keys() == {*run.trainer.ledger.seconds, "total"}


def test_before_and_after_growth(tmp_path: Path) -> None:
    run = scene(tmp_path / "run", "checkpoints={growth: true}")
    run.directory.append_history({"step": 2})
    run.saver.round([], run.at(2), run.trainer.moment)  # one that has changed nothing
    before = replace(run.at(5), memory=replace(run.trainer.memory, pending=True))
    run.directory.append_history({"step": 5})
    run.trainer.memory = replace(run.trainer.memory, accepted=1)
    run.saver.round([], before, run.at(5))
    run.saver.finish()
    assert run.saver.store.steps() == run.saver.before.steps() == (5,)
    row = len('{"step": 2}\n')
    earlier, later = meta(run.saver.before, 5)["meta"], meta(run.saver.store, 5)["meta"]
    assert (earlier["history_bytes"], later["history_bytes"]) == (row, 2 * row)
    assert (earlier["growth"]["pending"], later["growth"]["pending"]) == (True, False)
    assert (earlier["growth"]["accepted"], later["growth"]["accepted"]) == (0, 1)


def test_the_best_moment_is_written_with_the_next_checkpoint(tmp_path: Path) -> None:
    run = scene(tmp_path / "run", "checkpoints={every: 10 steps, keep: 1}")
    bests = run.saver.bests

    def improved(step: int) -> None:
        run.saver.improved(run.at(step))

    for step in (1, 2, 3):  # no more often than the run saves itself
        improved(step)
        assert run.boundary(step) == ()
        assert bests.steps() == ()
    assert run.boundary(10) == (10,)
    assert bests.steps() == (3,)
    improved(12)
    assert run.boundary(20) == (20,)
    assert bests.steps() == (3, 12)  # that of step 10, until the checkpoint of 20 is whole
    assert run.boundary(30) == (30,)
    assert bests.steps() == (12,)
    improved(31)
    run.saver.finish()  # the run ends, perhaps as it has diverged
    assert bests.steps() == (12, 31)
    assert meta(bests, 31)["meta"].keys() == meta(run.saver.store, 30)["meta"].keys()


def test_growth_is_not_saved_unless_asked(tmp_path: Path) -> None:
    run = scene(tmp_path / "run")
    run.saver.round([], run.at(5), run.at(5))
    run.saver.finish()
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def write(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_arrays", write)
    yield
    monkeypatch.undo()


def test_a_failed_save_is_told_at_the_next_occasion(tmp_path: Path, full: None) -> None:
    for number, hear in enumerate(["save", "close", "wait"]):
        run = scene(tmp_path / str(number))
        with pytest.raises(RunError, match=r"step 1 could not be saved .*: No space left"):
            run.saver.save(run.at(1), wait=hear == "wait")
            if hear == "save":
                run.saver.save(run.at(2))
            run.saver.finish()
        assert run.saver.store.steps() == ()


def test_the_data_s_checksum() -> None:
    spec = parse_spec(SMALL)
    dataset = load_dataset(spec.data, 0)
    digest = data_digest(dataset)
    assert data_digest(load_dataset(spec.data, 0)) == digest
    part = dataset.train
    x, y, ids = part.x.copy(), part.y.copy(), part.ids[::-1]
    x[3, 1] += 1e-3
    weights = np.ones(len(part), np.float32)
    y[0] = 1 - y[0]
    changes = ({"x": x}, {"y": y}, {"ids": ids}, {"weights": weights})
    for changed in (replace(part, **change) for change in changes):
        assert data_digest(replace(dataset, train=changed)) != digest
    assert data_digest(replace(dataset, validation=None)) != digest
    assert data_digest(replace(dataset, test=part)) != digest


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    """A store with checkpoints of steps 1 to 4."""
    made = CheckpointStore(tmp_path / "checkpoints-before-growth", KeepRules(9))
    for step in (1, 2, 3, 4):
        made.save(step, {"a": np.ones(1)}, {}, wait=True)
    return made


def test_what_comes_later_is_forgotten(store: CheckpointStore, tmp_path: Path) -> None:
    (store.directory / "5.saving").mkdir()
    forget_after(tmp_path, 3)
    assert sorted(os.listdir(store.directory)) == ["1", "2", "3"]
    forget_after(tmp_path / "none", 3)


def test_checkpoints_without_a_marker_are_set_aside(store: CheckpointStore) -> None:
    for step in (2, 4):
        (store.directory / str(step) / "complete").unlink()
    (store.directory / "5.saving").mkdir()
    assert set_unmarked_aside(store) == [4, 2]
    assert sorted(os.listdir(store.directory)) == ["1", "2.damaged", "3", "4.damaged", "5.saving"]
    assert set_unmarked_aside(store) == []


def test_whether_anything_was_saved(store: CheckpointStore, tmp_path: Path) -> None:
    assert not nothing_saved(store)
    for step in (1, 2, 3, 4):
        store.set_aside(step)
    assert not nothing_saved(store)
    empty = CheckpointStore(tmp_path / "none", KeepRules())
    assert nothing_saved(empty)
    (empty.directory / "1.saving").mkdir(parents=True)
    assert nothing_saved(empty)
