"""A run that was stopped and resumed is the run that was not, bit for bit."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import pytest

from senn_cli.errors import InterruptedRun, UsageError
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.jsonl import read_rows
from senn_cli.runs.keep import KeepRules
from senn_cli.spec import dump_spec, parse_spec
from senn_cli.training.run import Run
from tests.resuming import (
    DIGITS,
    MOONS,
    SMALL,
    Executables,
    Heard,
    check_same,
    document,
    go,
    resume,
    rows,
    shared_programs,
    steps,
    store_of,
    timeless,
)


@dataclass(frozen=True)
class Reference:
    """A run that was never stopped, and what was compiled for it."""

    text: str
    run: Run
    executables: Executables

    @property
    def path(self) -> Path:
        return self.run.path

    @property
    def growth_steps(self) -> list[int]:
        """Where something was added."""
        events = rows(self.path / "history.jsonl")
        return sorted({event["step"] for event in events if event["accepted"]})


def reference(text: str, path: Path) -> Reference:
    executables: Executables = {}
    with shared_programs(executables):
        return Reference(text, go(text, path), executables)


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference(DIGITS, tmp_path_factory.mktemp("digits") / "run")


@pytest.fixture(scope="session")
def moons(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return reference(MOONS, tmp_path_factory.mktemp("moons") / "run")


@pytest.fixture(params=["digits", "moons"])
def either(request: pytest.FixtureRequest) -> Iterator[Reference]:
    found: Reference = request.getfixturevalue(request.param)
    with shared_programs(found.executables):
        yield found


@pytest.fixture
def warm(moons: Reference) -> Iterator[Reference]:
    with shared_programs(moons.executables):
        yield moons


def test_the_references_grow_in_every_way(digits: Reference, moons: Reference) -> None:
    kinds = [
        {event["edit"] for event in rows(run.path / "history.jsonl")} for run in (digits, moons)
    ]
    assert "add_neurons" in kinds[0]
    assert kinds[1] >= {"insert_layer", "add_neurons", "enlarge_capacity"}
    assert len(digits.growth_steps) >= 3


def test_stopped_at_twenty_random_steps_and_around_every_growth(
    either: Reference, tmp_path: Path
) -> None:
    total = either.run.summary["steps"]
    stops = set(random.Random(2).sample(range(1, total), min(20, total - 1)))
    for step in either.growth_steps:
        stops |= {step - 1, step, step + 1}
    path = tmp_path / "run"
    for step in sorted(stops):
        stopped = (resume if path.exists() else lambda p, until: go(either.text, p, until=until))(
            path, until=steps(step)
        )
        assert stopped.summary["status"] == "stopped"
        assert stopped.summary["steps"] == store_of(path).steps()[-1] == step
    resume(path)
    check_same(path, either.path)
    assert [row["step"] for row in rows(path / "resumed.jsonl")] == sorted(stops)
    assert not (path / "metrics.cut.jsonl").exists()  # every stop was saved


def interrupted_again_and_again(
    text: str, path: Path, phase: str, count: int, *overrides: str
) -> list[int]:
    """Runs `text` to its end; every process hears a signal when it enters `phase` a `count`th time.

    A round that is called off is pending, so where nothing was gained the signal comes later.
    Returns the steps at which the run was interrupted.
    """
    stopped: list[int] = []
    while True:
        in_vain = stopped.count(stopped[-1]) - 1 if stopped else 0
        heard = Heard(at=(phase, count + in_vain))
        try:
            if path.exists():
                resume(path, observers=[heard])
            else:
                go(text, path, *overrides, observers=[heard])
        except InterruptedRun as error:
            assert error.exit_code == 75
            stopped.append(store_of(path).steps()[-1])
            assert f"stopped at step {stopped[-1]}" in error.message
            assert len(stopped) < 60
            continue
        return stopped


@pytest.mark.parametrize(
    ("phase", "count"),
    [
        *(("score", 2), ("surgery", 1), ("evaluate", 3)),
        *(
            pytest.param(phase, count, marks=pytest.mark.slow)
            for phase, count in (("score", 3), ("surgery", 2), ("train", 3))
        ),
    ],
)
def test_interrupted_in_any_phase(
    either: Reference, tmp_path: Path, phase: str, count: int
) -> None:
    path = tmp_path / "run"
    stopped = interrupted_again_and_again(either.text, path, phase, count)
    assert stopped
    assert not (path / "history.cut.jsonl").exists()
    check_same(path, either.path)


@pytest.mark.parametrize("phase", ["score", "surgery"])
def test_a_round_that_is_called_off_is_done_again(
    either: Reference, tmp_path: Path, phase: str
) -> None:
    path, step = tmp_path / "run", either.growth_steps[0]
    with pytest.raises(InterruptedRun, match=f"stopped at step {step}"):
        go(either.text, path, observers=[Heard(at=(phase, 1))])
    growth = document(path, step)["meta"]["growth"]
    assert growth == {
        "last_layer_step": None,
        "accepted": 0,
        "pending": True,
        "idle": 0,
        "kept": [],
        "rest": 0,
        "ended": None,
    }
    assert document(path, step)["meta"]["architecture"]["hidden"] == (
        []
        if "hidden: []" in either.text
        else [{"width": 4, "capacity": 24, "activation": "rational"}]
    )
    assert rows(path / "history.jsonl") == []
    assert rows(path / "metrics.jsonl")[-1]["step"] == step  # it had been evaluated
    # Again at the very same place, and once more within the round that is done again.
    for _ in range(2):
        with pytest.raises(InterruptedRun, match=f"stopped at step {step}"):
            resume(path, observers=[Heard(at=(phase, 1))])
    assert resume(path, until=steps(step)).summary["hidden"] != []
    assert document(path, step)["meta"]["growth"]["pending"]
    resume(path)
    check_same(path, either.path)


def test_a_signal_while_events_are_written_leaves_the_round_whole(
    warm: Reference, tmp_path: Path
) -> None:
    class AtFirstEvent(Heard):
        def round(self, events: object, before: object, after: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    path = tmp_path / "run"
    with pytest.raises(InterruptedRun) as caught:
        go(warm.text, path, observers=[AtFirstEvent()])
    assert caught.value.exit_code == 75
    step = warm.growth_steps[0]
    assert not document(path, step)["meta"]["growth"]["pending"]
    assert {event["step"] for event in rows(path / "history.jsonl")} == {step}
    resume(path)
    check_same(path, warm.path)


def test_control_c_before_the_first_step(warm: Reference, tmp_path: Path) -> None:
    path = tmp_path / "run"
    with pytest.raises(InterruptedRun, match="stopped at step 0") as caught:
        go(warm.text, path, observers=[Heard(at=("evaluate", 1), number=signal.SIGINT)])
    assert caught.value.exit_code == 130
    assert caught.value.hint == f"Go on with: senn resume {path}"
    resume(path)
    check_same(path, warm.path)


def test_a_spec_that_was_deleted_meanwhile_is_named_and_no_resume_advised(
    warm: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "run"

    class Deletes(Heard):
        def phase(self, name: str, what: str = "") -> None:
            super().phase(name, what)
            if self.at == (name, self.entered[name]):
                (path / "spec.yaml").unlink()

    with pytest.raises(InterruptedRun) as caught:
        go(warm.text, path, observers=[Deletes(at=("train", 3))])
    hint = caught.value.hint or ""
    assert hint.startswith(f"{path / 'spec.yaml'} is missing")
    assert f"`senn train SPEC --print-spec > {path / 'spec.yaml'}`" in hint
    with pytest.raises(UsageError, match="is not a run directory"):
        resume(path)
    # What is advised works.
    (path / "spec.yaml").write_text(dump_spec(parse_spec(warm.text)), encoding="utf-8")
    resume(path)
    check_same(path, warm.path)


OPTIMIZERS = {
    "sgd": "optimizer={kind: sgd, learning_rate: 0.05, momentum: 0.9}",
    "nesterov": "optimizer={kind: sgd, learning_rate: 0.05, momentum: 0.9, nesterov: true}",
    "adam": "optimizer={kind: adam, learning_rate: 0.02, schedule: one_cycle, weight_decay: 0.01}",
    "cg": "optimizer={kind: natural_gradient, solver: cg, cg_iterations: 10}",
    "kfac": "optimizer={momentum: 0.9, weight_decay: 0.01, fixed_input_factor: false}",
    "ekfac": "optimizer={solver: ekfac, momentum: 0.5}",
    "rows": "optimizer={solver: rows, momentum: 0.9, adapt_damping: true}",
}


@pytest.mark.parametrize(
    "name",
    [
        *("sgd", "adam", "cg"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("nesterov", "kfac", "ekfac", "rows")
        ),
    ],
)
def test_every_optimizer(moons: Reference, tmp_path: Path, name: str) -> None:
    # A layer is inserted after step 3 of 6; scores are computed as for any optimizer.
    overrides = [OPTIMIZERS[name], "training.epochs=2"]
    own = ("train", "input_spectrum")
    shared = {key: value for key, value in moons.executables.items() if key not in own}
    with shared_programs(shared):
        whole = go(MOONS, tmp_path / "whole", *overrides)
        assert rows(whole.path / "history.jsonl")[0]["edit"] == "insert_layer"
        path = tmp_path / "run"
        go(MOONS, path, *overrides, until=steps(2))
        for step in (3, 4, 5):
            resume(path, until=steps(step))
        resume(path)
    check_same(path, whole.path)


def test_the_end_of_growth_is_part_of_a_run(moons: Reference, tmp_path: Path) -> None:
    """The rate of `wsd` falls from it, in a resumed run as well; other limits open growth again."""
    schedule = "optimizer={kind: sgd, learning_rate: 0.6, schedule: {kind: wsd, decay: 0.2}}"
    overrides = [schedule, "training.epochs=2", "training.evaluate=1 steps"]
    limit = "expansion.max_hidden=2"  # which the first layer reaches, at step 3 of 6

    def rates(path: Path) -> list[float]:
        return [row["learning_rate"] for row in rows(path / "metrics.jsonl")]

    shared = {k: v for k, v in moons.executables.items() if k not in ("train", "input_spectrum")}
    with shared_programs(shared):
        whole, path = go(MOONS, tmp_path / "whole", *overrides, limit), tmp_path / "run"
        assert whole.summary["growth_ended"] == 3
        assert rates(whole.path) == pytest.approx([0.6, 0.6, 0.6, 0.4, 0.2, 0.0], abs=1e-6)
        events = rows(whole.path / "history.jsonl")
        assert [event["step"] for event in events] == [3] * len(events)
        assert events[-1]["next_round"] is None
        go(MOONS, path, *overrides, limit, until=steps(2))
        for step in (3, 4):
            resume(path, until=steps(step))
        more = resume(path, "expansion.max_hidden=9", branch=tmp_path / "more")
        assert more.summary["growth_ended"] is None
        resume(path)
        check_same(path, whole.path)
    assert rates(more.path) == pytest.approx([0.6, 0.6, 0.6, 0.4, 0.6, 0.0], abs=1e-6)


def test_moments_before_and_after_growth(warm: Reference, tmp_path: Path) -> None:
    path = tmp_path / "run"
    overrides = "checkpoints={growth: true, keep: 9}"
    go(warm.text, path, overrides, until=steps(4))
    resume(path)
    check_same(path, warm.path)
    before = CheckpointStore(path / "checkpoints-before-growth", KeepRules())
    assert list(before.steps()) == warm.growth_steps
    assert set(store_of(path).steps()) == {4, *warm.growth_steps, warm.run.summary["steps"]}
    previous: list[int] = []
    for step in before.steps():
        earlier, then = before.meta(step), store_of(path).meta(step)
        assert (earlier["growth"]["pending"], then["growth"]["pending"]) == (True, False)
        widths = [
            [layer["width"] for layer in meta["architecture"]["hidden"]] for meta in (earlier, then)
        ]
        assert widths[0] == previous
        assert sum(widths[0]) < sum(widths[1])
        previous = widths[1]
    # From the moment before, the round is done again: as if the later ones had never been.
    step = warm.growth_steps[1]
    for later in store_of(path).steps():
        if later >= step:
            shutil.rmtree(path / "checkpoints" / str(later))
    shutil.copytree(before.directory / str(step), path / "checkpoints" / str(step))
    (path / "summary.json").unlink()
    resume(path)
    check_same(path, warm.path)


def test_moments_before_growth_that_were_not_to_be_are_forgotten(
    warm: Reference, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    go(warm.text, path, "checkpoints={growth: true, every: {steps: 1}, keep: 9}", until=steps(7))
    for step in (6, 7):
        os.truncate(path / "checkpoints" / str(step) / "meta.json", 10)
    before = path / "checkpoints-before-growth"
    assert sorted(os.listdir(before)) == ["3", "6"]
    resume(path, until=steps(5))
    assert sorted(os.listdir(before)) == ["3"]
    resume(path)
    check_same(path, warm.path)
    assert sorted(os.listdir(before), key=int) == [str(step) for step in warm.growth_steps]


def test_a_run_that_was_killed_before_its_first_checkpoint_starts_again(
    warm: Reference, tmp_path: Path
) -> None:
    class Killed(Exception):
        pass

    class AtSecondRow(Heard):
        def metrics(self, row: object) -> None:
            if self.entered.setdefault("row", 0):
                raise Killed
            self.entered["row"] = 1

    path = tmp_path / "run"
    with pytest.raises(Killed):
        go(warm.text, path, observers=[AtSecondRow()])
    assert len(rows(path / "metrics.jsonl")) == 2
    assert store_of(path).steps() == ()
    heard = Heard()
    resume(path, observers=[heard])
    assert heard.notes == ["The run ended before its first checkpoint; it starts at step 0."]
    check_same(path, warm.path)
    # What the killed process had written is kept, but aside.
    assert [row["step"] for row in rows(path / "metrics.cut.jsonl")] == [3, 6]
    assert rows(path / "history.cut.jsonl")[0]["edit"] == "insert_layer"


def test_moved_to_another_place(warm: Reference, tmp_path: Path) -> None:
    first, second = tmp_path / "here", tmp_path / "there" / "deep"
    go(warm.text, first, until=steps(4))
    second.parent.mkdir()
    shutil.move(first, second)
    run = resume(second)
    assert run.path == second
    assert run.summary["run_directory"] == str(second)
    check_same(second, warm.path)
    assert not first.exists()


def test_what_a_resumed_run_leaves(warm: Reference, tmp_path: Path) -> None:
    path = tmp_path / "run"
    go(warm.text, path, until=steps(4))
    rows_before = (path / "metrics.jsonl").read_bytes(), (path / "history.jsonl").read_bytes()
    spec = (path / "spec.yaml").read_bytes()
    run = resume(path)
    assert (path / "metrics.jsonl").read_bytes().startswith(rows_before[0])
    assert (path / "history.jsonl").read_bytes().startswith(rows_before[1])
    assert (path / "spec.yaml").read_bytes() == spec
    assert not (path / "spec-1.yaml").exists()
    (line,) = rows(path / "resumed.jsonl")
    assert line["step"] == 4
    assert line["overrides"] == []
    assert line["branched_from"] is None
    assert line["time"].startswith("20")
    assert not (path / "lock.json").exists()
    # The times go on, too: those of both processes are in the summary.
    seconds = [row["seconds"] for row in read_rows(path / "metrics.jsonl")]
    assert seconds == sorted(seconds)
    assert run.summary["seconds"]["total"] >= seconds[-1]


def test_a_branch_from_right_before_a_growth_event(warm: Reference, tmp_path: Path) -> None:
    path, branch = tmp_path / "run", tmp_path / "branch"
    go(warm.text, path, "checkpoints={growth: true, keep: 9}")
    step = warm.growth_steps[1]
    with pytest.raises(UsageError, match="needs --branch"):
        resume(path, step=step, before_growth=True)
    resume(path, step=step, branch=branch, before_growth=True)
    check_same(branch, warm.path)
    # The events of that step were taken anew, and exactly once.
    assert timeless(branch / "history.jsonl") == timeless(path / "history.jsonl")


@pytest.mark.parametrize("text", [SMALL, pytest.param(MOONS, marks=pytest.mark.slow)])
def test_saved_on_the_second_device_and_resumed_on_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    first, second = jax.devices()[:2]
    saved: list[set[jax.Device]] = []
    save = CheckpointStore.save

    def saving(self: CheckpointStore, step: int, arrays: Any, *rest: Any, **options: Any) -> Any:
        on_devices = [array for array in arrays.values() if isinstance(array, jax.Array)]
        assert on_devices
        saved.append({device for array in on_devices for device in array.devices()})
        return save(self, step, arrays, *rest, **options)

    monkeypatch.setattr(CheckpointStore, "save", saving)
    path = tmp_path / "run"
    jax.config.update("jax_default_device", second)  # of every thread, unlike jax.default_device
    try:
        go(text, path, until=steps(5))
    finally:
        jax.config.update("jax_default_device", None)
    assert {frozenset(devices) for devices in saved} == {frozenset({second})}
    saved.clear()
    resume(path)
    assert {frozenset(devices) for devices in saved} == {frozenset({first})}
    go(text, tmp_path / "reference")
    check_same(path, tmp_path / "reference")
