"""`senn resume`: what it goes on from, what it refuses, and what it does on damaged disks."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.errors import RunError
from senn_cli.runs import arrays, checkpoints
from senn_cli.spec import load_spec
from senn_cli.training import resume as resume_module
from tests.resuming import (
    SMALL,
    Executables,
    Heard,
    check_same,
    document,
    go,
    rows,
    shared_programs,
    steps,
    store_of,
    tree_of,
)

runner = CliRunner()
TOTAL = 9  # steps of SMALL, three an epoch
EVERY = "checkpoints={every: {steps: 1}}"


def senn(*arguments: object) -> Any:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert "Traceback" not in result.output
    return result


def said(result: Any) -> str:
    """What stands on stderr, without the frames of panels."""
    return " ".join(result.stderr.replace("│", " ").split())


@pytest.fixture(scope="module")
def programs() -> Executables:
    return {}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, programs: Executables) -> Path:
    """The run that was never stopped."""
    with shared_programs(programs):
        return go(SMALL, tmp_path_factory.mktemp("small") / "run").path


@pytest.fixture
def warm(whole: Path, programs: Executables) -> Iterator[Path]:
    with shared_programs(programs):
        yield whole


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stopped_once(
    whole: Path, programs: Executables, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("stopped") / "run"
    with shared_programs(programs):
        go(SMALL, path, EVERY, until=steps(5))
    return path


@pytest.fixture
def stopped(warm: Path, stopped_once: Path, tmp_path: Path) -> Path:
    """A run that was stopped at step 5, with checkpoints of steps 3, 4 and 5."""
    assert store_of(stopped_once).steps() == (3, 4, 5)
    shutil.copytree(stopped_once, tmp_path / "run")
    return tmp_path / "run"


def test_to_the_end(warm: Path, stopped: Path) -> None:
    result = senn("resume", stopped)
    assert result.exit_code == 0
    assert "finished" in result.stdout
    assert str(stopped) in result.stdout
    assert "end: finished" in result.stderr
    assert f"step {TOTAL}/{TOTAL}" in result.stderr
    check_same(stopped, warm)


def test_quiet_prints_the_directory_alone(stopped: Path) -> None:
    result = senn("resume", stopped, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{stopped}\n", "")


def test_until(warm: Path, stopped: Path) -> None:
    result = senn("resume", stopped, "--until", "2 epochs")
    assert result.stdout == f"Stopped at step 6. Go on with: senn resume {stopped}\n"
    before = tree_of(stopped)
    for text, message in (
        ("5 steps", "--until is step 5, but the run is at step 6 already"),
        ("1 minute", "--until should be a number of steps or epochs"),
        ("soon", "--until should be a number of steps or epochs"),
    ):
        result = senn("resume", stopped, "--until", text)
        assert result.exit_code == 2
        assert message in said(result)
        assert tree_of(stopped) == before
    assert senn("resume", stopped, "--until", "6 steps").exit_code == 0
    assert senn("resume", stopped, "--until", "99 epochs").exit_code == 0
    check_same(stopped, warm)


def test_a_finished_run_stays_as_it_is(warm: Path) -> None:
    before = tree_of(warm)
    for arguments in ((), ("--until", "4 steps"), ("--set", "training.epochs=3")):
        result = senn("resume", warm, *arguments)
        assert result.exit_code == 0
        assert "The run has finished at step 9 and stays as it is." in result.stderr
        assert "test accuracy" in result.stdout
        assert tree_of(warm) == before
    quiet = senn("resume", warm, "-q")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, f"{warm}\n", "")


def test_what_is_no_run(tmp_path: Path) -> None:
    result = senn("resume", tmp_path / "none")
    assert result.exit_code == 2
    assert "is not a run directory: it does not exist" in said(result)
    assert "holds no spec.yaml" in said(senn("resume", tmp_path))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("override", "keys"),
    [
        ("seed=1", "seed"),
        ("name=other", "name"),
        ("data.noise=0.1", "data.noise"),
        ("data.validation=0.2", "data.validation"),
        ("data={source: digits}", "data.source"),
        ("network.hidden=[4]", "network.hidden"),
        ("network.activation=silu", "network.activation"),
        ("loss.class_weight=balanced", "loss.class_weight"),
        ("optimizer={kind: sgd}", "optimizer.kind"),
        ("training.batch_size=10", "training.batch_size"),
        ("network.capacity.multiple=5", "network.capacity.multiple"),
    ],
)
def test_what_cannot_change_is_named(stopped: Path, override: str, keys: str) -> None:
    before = tree_of(stopped)
    result = senn("resume", stopped, "--set", override)
    assert result.exit_code == 2
    assert f"{keys} cannot be changed when a run is resumed" in said(result)
    assert tree_of(stopped) == before


def test_all_that_cannot_change_is_named_at_once(stopped: Path) -> None:
    result = senn("resume", stopped, "--set", "seed=1", "--set", "data.noise=0.1")
    assert "seed and data.noise cannot be changed" in said(result)


def test_a_misspelt_override(stopped: Path) -> None:
    result = senn("resume", stopped, "--set", "training.epoch=7")
    assert result.exit_code == 2
    assert "did you mean epochs" in said(result)


@pytest.mark.parametrize(
    ("name", "row"), [("train", 7), pytest.param("test", 0, marks=pytest.mark.slow)]
)
def test_other_data_are_recognised(warm: Path, tmp_path: Path, name: str, row: int) -> None:
    random = np.random.default_rng(0)
    # As many as there are moons, so that the programs are the same.
    files = {"train": tmp_path / "train.npz", "test": tmp_path / "test.npz"}
    for file, count in zip(files.values(), (100, 50), strict=True):
        np.savez(file, x=random.standard_normal((count, 2)), y=np.arange(count) % 2)
    source = "{source: npz, path: train.npz, test_path: test.npz}"
    text = SMALL.replace("{source: moons, train: 100, test: 50}", source)
    (tmp_path / "spec.yaml").write_text(text)
    run = tmp_path / "run"
    result = senn("train", tmp_path / "spec.yaml", "--run-dir", run, "--until", "2 steps")
    assert result.exit_code == 0, result.output
    content = files[name].read_bytes()
    before = tree_of(run)
    with np.load(files[name]) as data:
        x, y = data["x"], data["y"]
    x[row, 1] += 1e-3
    np.savez(files[name], x=x, y=y)
    result = senn("resume", run)
    assert result.exit_code == 2
    assert "the data are not those that the run was started with" in said(result)
    assert tree_of(run) == before
    files[name].unlink()
    assert senn("resume", run).exit_code == 2
    files[name].write_bytes(content)
    assert senn("resume", run).exit_code == 0


def test_an_earlier_step_needs_a_branch(stopped: Path) -> None:
    before = tree_of(stopped)
    result = senn("resume", stopped, "--step", "3")
    assert result.exit_code == 2
    assert "step 3 is not the newest checkpoint, which is 5" in said(result)
    assert "--branch DIR" in said(result)
    result = senn("resume", stopped, "--step", "1")
    assert result.exit_code == 2
    assert "there is no checkpoint of step 1; there are: 3, 4, 5" in said(result)
    result = senn("resume", stopped, "--step", "1", "--branch", stopped.parent / "branch")
    assert result.exit_code == 2
    assert tree_of(stopped) == before
    assert not (stopped.parent / "branch").exists()


def test_the_newest_step_needs_none(warm: Path, stopped: Path) -> None:
    assert senn("resume", stopped, "--step", "5").exit_code == 0
    check_same(stopped, warm)


@pytest.mark.parametrize("step", [["--step", "3"], []])
def test_a_branch_leaves_the_run_as_it_is(warm: Path, stopped: Path, step: list[str]) -> None:
    before, branch = tree_of(stopped), stopped.parent / "deep" / "branch"
    result = senn("resume", stopped, *step, "--branch", branch)
    assert result.exit_code == 0, result.output
    check_same(branch, warm)
    assert tree_of(stopped) == before
    (line,) = rows(branch / "resumed.jsonl")
    assert line["step"] == (3 if step else 5)
    assert line["branched_from"] == str(stopped)
    # The run itself goes on as well.
    assert senn("resume", stopped).exit_code == 0
    check_same(stopped, warm)


def test_a_branch_with_other_options(stopped: Path) -> None:
    branch = stopped.parent / "branch"
    with shared_programs({}):
        change = ("--set", "optimizer.learning_rate=1e-3")
        assert senn("resume", stopped, "--step", "4", "--branch", branch, *change).exit_code == 0
    assert [row["learning_rate"] for row in rows(branch / "metrics.jsonl")] == pytest.approx(
        [1e-2, 1e-3, 1e-3]
    )
    assert load_spec(branch / "spec-1.yaml").optimizer.learning_rate == 1e-2
    assert load_spec(branch / "spec.yaml").optimizer.learning_rate == 1e-3


def test_a_branch_from_a_finished_run(warm: Path, tmp_path: Path) -> None:
    before, branch = tree_of(warm), tmp_path / "branch"
    assert senn("resume", warm, "--branch", branch).exit_code == 0
    check_same(branch, warm)
    assert tree_of(warm) == before


def test_a_branch_needs_a_directory_of_its_own(stopped: Path) -> None:
    before = tree_of(stopped)
    result = senn("resume", stopped, "--branch", stopped)
    assert result.exit_code == 2
    assert "is not empty; a run needs a directory of its own." in said(result)
    assert "Give --branch a new or an empty directory." in said(result)
    assert tree_of(stopped) == before


def test_a_branch_without_a_checkpoint(stopped: Path) -> None:
    shutil.rmtree(stopped / "checkpoints")
    result = senn("resume", stopped, "--branch", stopped.parent / "branch")
    assert result.exit_code == 2
    assert "there is no checkpoint in" in said(result)
    assert not (stopped.parent / "branch").exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--until", "2 steps"), "--until is step 2, but the run is at step 5 already"),
        (("--set", "training.epochs=1"), "is at step 5 already, and its end as changed is"),
        (("--set", "training.stop=validation_mse"), "training.stop should not be validation_mse"),
    ],
)
def test_a_branch_that_fails_leaves_nothing_behind(
    warm: Path, stopped: Path, wrong: tuple[str, ...], message: str
) -> None:
    before, branch = tree_of(stopped), stopped.parent / "branch"
    result = senn("resume", stopped, "--branch", branch, *wrong)
    assert result.exit_code == 2
    assert message in said(result)
    assert not branch.exists()
    assert tree_of(stopped) == before
    # So the corrected command is not refused.
    assert senn("resume", stopped, "--branch", branch).exit_code == 0
    check_same(branch, warm)


def test_a_branch_whose_checkpoint_is_damaged_or_whose_data_have_changed_is_removed(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch = stopped.parent / "branch"
    truncate(stopped / "checkpoints" / "4")
    result = senn("resume", stopped, "--step", "4", "--branch", branch)
    assert (result.exit_code, branch.exists()) == (1, False)
    monkeypatch.setattr(resume_module, "data_digest", lambda dataset: "others")
    result = senn("resume", stopped, "--branch", branch)
    assert (result.exit_code, branch.exists()) == (2, False)
    assert "the data are not those that the run was started with" in said(result)


def test_a_branch_that_is_interrupted_before_its_first_step_is_removed(stopped: Path) -> None:
    def begin(*_: object) -> None:
        raise KeyboardInterrupt

    branch = stopped.parent / "branch"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resume_module, "begin", begin)
        assert senn("resume", stopped, "--branch", branch).exit_code == 130
    assert not branch.exists()


def test_a_finished_run_that_has_lost_its_checkpoints(warm: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(warm, run)
    shutil.rmtree(run / "checkpoints")
    assert senn("resume", run).exit_code == 0  # it stays as it is
    before = tree_of(run)
    result = senn("resume", run, "--set", "training.epochs=5")
    assert result.exit_code == 2
    assert "has lost its checkpoints, and there is nothing to go on from" in said(result)
    assert tree_of(run) == before


def test_imported_weights_are_no_run_to_go_on_with(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    origin = {"source": "import", "name": "net", "path": "net.npz"}
    (made / "transfer.json").write_text(json.dumps({"format": 1, "origin": origin, "chain": []}))
    for spec in (False, True):  # with a preprocessing it has a spec, too
        if spec:
            (made / "spec.yaml").write_text(SMALL)
        result = senn("resume", made)
        assert result.exit_code == 2
        assert "holds an imported network: there is no training to go on with" in said(result)
        assert "senn transfer --from" in said(result)


@pytest.mark.parametrize("finished", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_longer_run_equals_one_that_was_that_long(
    warm: Path, stopped: Path, tmp_path: Path, finished: bool
) -> None:
    if finished:
        assert senn("resume", stopped).exit_code == 0
    old = (stopped / "spec.yaml").read_bytes()
    result = senn("resume", stopped, "--set", "training.epochs=5")
    assert result.exit_code == 0, result.output
    longer = go(SMALL, tmp_path / "longer", EVERY, "training.epochs=5").path
    check_same(stopped, longer)
    assert (stopped / "spec.yaml").read_bytes() == (longer / "spec.yaml").read_bytes()
    assert (stopped / "spec-1.yaml").read_bytes() == old
    last = rows(stopped / "resumed.jsonl")[-1]
    assert last["step"] == (TOTAL if finished else 5)
    assert last["overrides"] == ["training.epochs=5"]


def test_a_run_cannot_end_in_the_past(stopped: Path, warm: Path) -> None:
    before = tree_of(stopped)
    result = senn("resume", stopped, "--set", "training={steps: 4, batch_size: 30}")
    assert result.exit_code == 2
    assert "the run is at step 5 already, and its end as changed is step 4" in said(result)
    assert tree_of(stopped) == before
    finished = tree_of(warm)
    result = senn("resume", warm, "--set", "training.evaluate=2 epochs")
    assert result.exit_code == 2
    assert "the run is at step 9 already" in said(result)
    assert tree_of(warm) == finished


def test_train_with_resume_auto(warm: Path, spec: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ("train", spec, "--resume", "auto", "--run-dir", run)
    assert senn(*command, "--until", "4 steps").stdout.startswith("Stopped at step 4")
    assert senn(*command, "--until", "7 steps").stdout.startswith("Stopped at step 7")
    assert senn(*command).exit_code == 0
    check_same(run, warm)
    again = senn(*command)
    assert again.exit_code == 0
    assert "stays as it is" in again.stderr
    assert [row["step"] for row in rows(run / "resumed.jsonl")] == [4, 7]
    changed = senn(*command, "--seed", "7")
    assert changed.exit_code == 2
    assert "seed" in said(changed)
    assert senn("train", spec, "--resume", "auto").exit_code == 2
    assert senn("train", spec, "--resume", "always", "--run-dir", run).exit_code == 2


def truncate(step: Path) -> None:
    largest = max((step / "arrays" / "d").iterdir(), key=_size)
    os.truncate(largest, _size(largest) // 2)


def _size(path: Path) -> int:
    return path.stat().st_size


def flip(step: Path) -> None:
    for path in (step / "arrays").rglob("*"):
        if path.is_file():
            path.write_bytes(bytes(byte ^ 0x10 for byte in path.read_bytes()))


def empty_document(step: Path) -> None:
    text = (step / "meta.json").read_text()
    (step / "meta.json").write_text(text.replace('"growth"', '"grow"'))


def remove_arrays(step: Path) -> None:
    shutil.rmtree(step / "arrays")


FAULTS: list[Any] = [
    (truncate, "is damaged"),
    pytest.param(flip, "is damaged", marks=pytest.mark.slow),
    (lambda step: (step / "meta.json").unlink(), "meta.json is missing"),
    (lambda step: os.truncate(step / "meta.json", 100), "meta.json is damaged"),
    (empty_document, "document is damaged"),
    (lambda step: (step / "complete").unlink(), "not marked as complete"),
    pytest.param(remove_arrays, "is damaged", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("damage", "reason"), FAULTS)
def test_the_newest_checkpoint_is_damaged(
    warm: Path, stopped: Path, damage: Callable[[Path], None], reason: str
) -> None:
    damage(stopped / "checkpoints" / "5")
    result = senn("resume", stopped)
    assert result.exit_code == 0, result.output
    assert "The checkpoint of step 5 is left out: " in said(result)
    assert reason in said(result)
    check_same(stopped, warm)
    assert rows(stopped / "resumed.jsonl")[0]["step"] == 4
    # Nothing of it is lost, and nothing of it is in the way.
    assert (stopped / "checkpoints" / "5.damaged").is_dir()


def test_two_are_damaged(warm: Path, stopped: Path) -> None:
    truncate(stopped / "checkpoints" / "5")
    (stopped / "checkpoints" / "4" / "meta.json").unlink()
    result = senn("resume", stopped)
    assert "Going on from step 3." in said(result)
    check_same(stopped, warm)
    # The row of step 3 was written before its checkpoint, so nothing had to be cut.
    assert not (stopped / "metrics.cut.jsonl").exists()


def test_rows_of_lost_steps_are_kept_aside(warm: Path, spec: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ("--run-dir", run, "--until", "7 steps", "--set", "checkpoints={every: 2 steps}")
    assert senn("train", spec, *arguments).exit_code == 0
    for step in (6, 7):
        truncate(run / "checkpoints" / str(step))
    first = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    assert senn("resume", run).exit_code == 0
    check_same(run, warm)
    assert (run / "metrics.jsonl").read_bytes().startswith(first[0])
    assert (run / "metrics.cut.jsonl").read_bytes() == first[1]


def test_all_are_damaged(stopped: Path) -> None:
    for step in (3, 4, 5):
        truncate(stopped / "checkpoints" / str(step))
    before = tree_of(stopped)
    for _ in range(2):  # the same again: it never starts over
        result = senn("resume", stopped)
        assert result.exit_code == 1
        message = said(result)
        assert f"no checkpoint in {stopped / 'checkpoints'} can be restored" in message
        assert all(f"step {step}: " in message for step in (3, 4, 5))
        assert result.stderr.count("╭") == 1
        assert tree_of(stopped) == before


def test_the_only_one_has_lost_its_marker(stopped: Path) -> None:
    for step in (3, 4, 5):
        (stopped / "checkpoints" / str(step) / "complete").unlink()
    for _ in range(2):
        result = senn("resume", stopped)
        assert result.exit_code == 1
        assert "can be restored" in said(result)


def test_a_step_that_was_asked_for_is_damaged(stopped: Path) -> None:
    truncate(stopped / "checkpoints" / "5")
    result = senn("resume", stopped, "--step", "5")
    assert result.exit_code == 1
    assert "step 5: " in said(result)


def test_another_format(stopped: Path) -> None:
    for step in (3, 4, 5):
        path = stopped / "checkpoints" / str(step) / "meta.json"
        path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    result = senn("resume", stopped)
    assert result.exit_code == 1
    assert "in format 7; senn " in said(result)
    assert "reads format 1" in said(result)


def test_what_a_killed_save_has_left_is_removed(warm: Path, stopped: Path) -> None:
    store = stopped / "checkpoints"
    shutil.copytree(store / "5", store / "7.saving")
    shutil.copytree(store / "3", store / "2.removing")
    (store / "6.saving").mkdir()
    assert senn("resume", stopped).exit_code == 0
    check_same(stopped, warm)
    assert sorted(os.listdir(store)) == ["7", "8", "9"]


def test_metrics_that_are_too_short(stopped: Path) -> None:
    (stopped / "metrics.jsonl").write_bytes(b"")
    result = senn("resume", stopped)
    assert result.exit_code == 1
    assert "metrics.jsonl has 0 bytes, but" in said(result)
    assert not (stopped / "lock.json").exists()


def test_a_failed_save_in_the_background_ends_the_run(
    warm: Path, stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, steps = arrays.write_arrays, [6, 7]

    def full(path: Path, given: Any) -> None:
        if steps.pop(0) == 7:
            raise OSError(28, "No space left on device")
        write(path, given)

    monkeypatch.setattr(checkpoints, "write_arrays", full)
    result = senn("resume", stopped)
    assert result.exit_code == 1
    assert "the checkpoint of step 7 could not be saved" in said(result)
    assert "No space left on device" in said(result)
    assert not (stopped / "summary.json").exists()
    assert store_of(stopped).steps()[-1] == 6
    monkeypatch.undo()
    with shared_programs({}):
        assert senn("resume", stopped).exit_code == 0
    check_same(stopped, warm)


def test_a_limit_on_the_size_of_files(warm: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Limited(Heard):
        def metrics(self, row: Any) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))

    run = tmp_path / "run"
    try:
        with pytest.raises(RunError, match=r"step \d could not be saved .*: File too large"):
            go(SMALL, run, EVERY, observers=[Limited()])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store_of(run).steps()
    assert senn("resume", run).exit_code == 0
    check_same(run, warm)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, where the tests may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None or _mount("-t", "tmpfs", "-o", "size=1m", "none", place):
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def _mount(*arguments: object) -> int:
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True).returncode


@pytest.mark.parametrize("left", [0, 24, 60])  # pages of 4 KiB
def test_a_full_disk(warm: Path, stopped: Path, disk: Path, left: int) -> None:
    run, filler = disk / "run", disk / "filler"
    shutil.copytree(stopped, run)
    with filler.open("wb") as file:
        while True:
            try:
                os.write(file.fileno(), bytes(4096))
            except OSError:
                break
        pages = file.seek(0, os.SEEK_END) // 4096
        file.truncate(max(0, pages - left) * 4096)
    result = senn("resume", run)
    if result.exit_code != 0:
        assert result.exit_code == 1
        assert "No space left on device" in said(result) or "disk is full" in said(result)
        assert result.stderr.count("╭") == 1
        filler.unlink()
        result = senn("resume", run)
        assert result.exit_code == 0, result.output
    check_same(run, warm)


def test_a_directory_that_cannot_be_written(stopped: Path, disk: Path) -> None:
    run = disk / "run"
    shutil.copytree(stopped, run)
    assert _mount("-o", "remount,ro", disk) == 0
    before = tree_of(run)
    result = senn("resume", run)
    assert result.exit_code == 1
    assert "Read-only file system" in said(result)
    assert str(run) in said(result)
    assert tree_of(run) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission(stopped: Path) -> None:
    stopped.chmod(0o500)
    try:
        result = senn("resume", stopped)
    finally:
        stopped.chmod(0o700)
    assert result.exit_code == 1
    assert "Permission denied" in said(result)


def test_divergence_keeps_the_last_finite_checkpoint(spec: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    # Nothing moves in the first step; the second would leave the range of numbers.
    explosive = "optimizer={kind: adam, learning_rate: 1e38, "
    explosive += "schedule: {kind: constant, warmup: 9 steps}}"
    result = senn("train", spec, "--run-dir", run, "--set", EVERY, "--set", explosive)
    assert result.exit_code == 3
    steps = store_of(run).steps()
    assert steps
    assert f"step {steps[-1] + 1} is not finite or has exploded" in said(result)
    for step in steps:
        table = document(run, step)["arrays"]
        expected = {n: (tuple(e["shape"]), np.dtype(e["dtype"])) for n, e in table.items()}
        restored = store_of(run).restore(step, expected)
        assert all(np.isfinite(array).all() for array in restored.values())
        assert restored["progress/fault"] == 0
    again = senn("resume", run)
    assert again.exit_code == 3
    assert f"step {steps[-1] + 1} is not finite" in said(again)
    result = senn("resume", run, "--set", "optimizer.learning_rate=1e-3")
    assert result.exit_code == 0, result.output
    assert "finished" in result.stdout
    assert [row["step"] for row in rows(run / "metrics.jsonl")] == [3, 6, 9]


def test_divergence_before_the_first_checkpoint(spec: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ("train", spec, "--run-dir", run, "--set", "optimizer.learning_rate=1e6")
    assert senn(*arguments).exit_code == 3
    result = senn("resume", run, "--set", "optimizer.learning_rate=1e-3")
    assert result.exit_code == 0, result.output
    assert "it starts at step 0" in said(result)
    assert [row["step"] for row in rows(run / "metrics.jsonl")] == [3, 6, 9]
