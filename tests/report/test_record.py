from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from senn_cli.errors import RunError, UsageError
from senn_cli.report.record import Record, checkpoint_steps, labels, read_record, run_of, scored
from senn_cli.runs.holder import Holder
from tests.handmade import added, checkpoint, event, record, row, run_directory


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = run_directory(
        tmp_path / "r",
        metrics=[row(10, [2], train_loss=1.0), row(20, [3], train_loss=0.5)],
        history=[added(10, [3], 0, 0.25), event(20, [3])],
        summary={"status": "finished", "steps": 20, "test_accuracy": 0.5},
    )
    checkpoint(path, 10, [(2, 8)])
    checkpoint(path, 20, [(3, 8)])
    return path


def test_everything_is_read(run: Path) -> None:
    found = read_record(run)
    assert (found.path, found.name, found.status, found.step) == (run, "made", "finished", None)
    assert [r["train_loss"] for r in found.metrics] == [1.0, 0.5]
    assert [e["accepted"] for e in found.history] == [True, False]
    assert [e["step"] for e in found.accepted] == [10]
    assert (found.last_step, found.figure, found.environment) == (20, "accuracy", {})
    assert found.architecture is not None
    assert found.architecture.widths == (3,)


def test_a_step_leaves_out_what_came_after(run: Path) -> None:
    found = read_record(run, 10)
    assert [r["step"] for r in (*found.metrics, *found.history)] == [10, 10]
    assert (found.step, found.last_step) == (10, 10)
    assert found.architecture is not None
    assert found.architecture.widths == (2,)


def test_a_checkpoint_is_its_run_at_its_step(run: Path) -> None:
    assert run_of(run / "checkpoints" / "10") == (run, 10)
    assert read_record(run / "checkpoints" / "10").step == 10
    assert read_record(run / "checkpoints" / "10", 10).step == 10
    with pytest.raises(UsageError, match="checkpoint of step 10, but --step names 20"):
        read_record(run / "checkpoints" / "10", 20)


def test_weights_are_their_run_s_end(run: Path) -> None:
    assert run_of(run / "weights") == (run, None)
    assert read_record(run / "weights").path == run


def test_relative_paths_and_a_run_that_was_moved(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(run, tmp_path / "elsewhere [x]")
    monkeypatch.chdir(tmp_path / "elsewhere [x]")
    found = read_record(Path("."))
    assert found.architecture is not None
    assert found.path == tmp_path / "elsewhere [x]"


def test_a_step_without_a_checkpoint_has_no_saved_architecture(run: Path) -> None:
    assert read_record(run, 15).architecture is None
    with pytest.raises(UsageError, match="has no checkpoint of step 15; checkpoints has: 10, 20"):
        read_record(run / "checkpoints" / "15")


def test_a_step_that_a_run_has_not_come_to(run: Path) -> None:
    with pytest.raises(UsageError, match="has come to step 20; --step names 21"):
        read_record(run, 21)


def test_of_two_checkpoints_of_one_step_the_named_one_is_read(run: Path) -> None:
    checkpoint(run, 20, [(7, 8)], place="checkpoints-before-growth")
    before = read_record(run / "checkpoints-before-growth" / "20").architecture
    assert before is not None and before.widths == (7,)
    after = read_record(run / "checkpoints" / "20").architecture
    assert after is not None and after.widths != (7,)


def test_incomplete_checkpoints_do_not_count(run: Path) -> None:
    checkpoint(run, 30, [(4, 8)])
    checkpoint(run, 25, [(4, 8)], place="checkpoints-before-growth")
    (run / "checkpoints" / "30" / "complete").unlink()
    assert checkpoint_steps(run) == (10, 20, 25)


def test_a_damaged_checkpoint_is_named(run: Path) -> None:
    path = run / "checkpoints" / "20" / "meta.json"
    document = json.loads(path.read_text())
    document["meta"]["architecture"]["hidden"][0]["width"] = 99
    path.write_text(json.dumps(document))
    with pytest.raises(RunError, match=r"20/meta\.json: the architecture is damaged"):
        _ = read_record(run).architecture
    path.write_text("{")
    with pytest.raises(RunError, match=r"20/meta\.json is damaged"):
        _ = read_record(run).architecture


def test_a_run_that_has_just_started(tmp_path: Path) -> None:
    found = read_record(run_directory(tmp_path))
    assert (found.metrics, found.history, found.summary) == ((), (), None)
    assert (found.last_step, found.architecture, found.status) == (0, None, "interrupted")


def test_a_torn_last_line_is_left_out_but_a_damaged_one_is_an_error(run: Path) -> None:
    path = run / "history.jsonl"
    whole = path.read_text()
    path.write_text(whole + '{"step": 30, "acc')
    assert len(read_record(run).history) == 2
    path.write_text('{"step": 30, "acc\n' + whole)
    with pytest.raises(RunError, match=r"history\.jsonl:1: not a line of JSON"):
        read_record(run)


@pytest.mark.parametrize("text", ["name: [", "- a\n- b\n", "\x00"])
def test_a_damaged_spec_is_an_error(run: Path, text: str) -> None:
    (run / "spec.yaml").write_text(text)
    with pytest.raises(RunError, match=r"spec\.yaml is damaged"):
        read_record(run)


def test_what_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no spec\.yaml"):
        read_record(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        read_record(tmp_path / "absent")


def locked(run: Path, holder: Holder) -> None:
    (run / "lock.json").write_text(json.dumps(asdict(holder)))


def test_the_status_while_a_process_trains_and_after_it_was_killed(run: Path) -> None:
    (run / "summary.json").unlink()
    locked(run, Holder.current())
    assert read_record(run).status == "running"
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    locked(run, replace(Holder.current(), pid=process.pid, started=None))
    assert read_record(run).status == "interrupted"
    locked(run, replace(Holder.current(), host="another"))
    assert read_record(run).status == "running"
    (run / "lock.json").unlink()
    assert read_record(run).status == "interrupted"


def test_a_diverged_run(run: Path) -> None:
    (run / "summary.json").write_text('{"status": "diverged"}')
    assert read_record(run).status == "diverged"


def test_a_regression_has_squared_errors(tmp_path: Path) -> None:
    run_directory(tmp_path, metrics=[row(10, [2], validation_mse=0.5)])
    assert read_record(tmp_path).figure == "mse"


def test_reading_needs_no_jax(run: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from senn_cli.report import overview\n"
        "from senn_cli.report.record import read_record\n"
        "overview.document(read_record(Path(sys.argv[1])))\n"
        "print(sorted({'jax', 'flax', 'optax', 'orbax', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, run],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_looking_at_runs_takes_neither_jax_nor_pydantic() -> None:
    """They would take most of the time that `senn inspect` has."""
    code = "import sys, senn_cli.report.overview; print({'jax', 'pydantic'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


def named(path: str, name: str = "a", seed: int = 0) -> Record:
    spec = {"name": name, "seed": seed, "network": {"hidden": [2]}}
    return replace(record(metrics=[row(10, [2])]), path=Path(path), spec=spec)


def test_names_are_as_short_as_they_can_be() -> None:
    assert labels([named("/x/1", "a"), named("/x/2", "b")]) == ["a", "b"]
    assert labels([named("/x/1", seed=1), named("/x/2", seed=2)]) == ["a, seed 1", "a, seed 2"]
    assert labels([named("/x/1"), named("/x/2")]) == ["1", "2"]
    assert labels([named("/x/r"), named("/y/r")]) == ["/x/r, step 10", "/y/r, step 10"]
    assert labels([named("/x/r")]) == ["a"]


def test_a_name_that_all_share_can_be_left_out() -> None:
    several = [named("/x/1", seed=1), named("/x/2", seed=2)]
    assert labels(several, seeds_alone=True) == ["seed 1", "seed 2"]
    assert labels([named("/x/1")], seeds_alone=True) == ["a"]
    assert labels([*several, named("/x/3", "b")], seeds_alone=True) == [
        "a, seed 1", "a, seed 2", "b, seed 0",
    ]  # fmt: skip


GROWING = {"policy": "senn"}
FIXED = {"policy": "none"}


@pytest.mark.parametrize(
    ("network", "optimizer", "expansion", "step", "known"),
    [
        ("mlp", "natural_gradient", GROWING, None, True),
        ("densenet", "natural_gradient", FIXED, None, True),
        ("mlp", "adam", GROWING, None, False),  # |g|^2 or the like
        ("mlp", "sgd", FIXED, None, False),
        ("densenet", "adam", FIXED, None, False),
        ("densenet", "adam", GROWING, None, True),  # by what was tracked, without its step
        ("some other", "adam", GROWING, None, False),
        ("some other", "adam", GROWING, 3, True),
    ],
)
def test_what_old_runs_call_eta_is_shown_where_it_is(
    network: str, optimizer: str, expansion: dict[str, str], step: int | None, known: bool
) -> None:
    spec = {
        "network": {"kind": network}, "optimizer": {"kind": optimizer}, "expansion": expansion,
    }  # fmt: skip
    written = {"step": 9, "eta": 0.5} | ({} if step is None else {"eta_step": step})
    shown = scored(written, spec)
    assert shown == (written if known else {"step": 9})


def test_a_run_under_adam_of_a_former_version_shows_no_eta(tmp_path: Path) -> None:
    path = run_directory(tmp_path / "r", metrics=[row(10, [2], eta=0.25)])
    spec = (path / "spec.yaml").read_text()
    (path / "spec.yaml").write_text(spec + "optimizer: {kind: adam}\n")
    (found,) = read_record(path).metrics
    assert "eta" not in found
    (path / "spec.yaml").write_text(spec + "optimizer: {kind: natural_gradient}\n")
    (found,) = read_record(path).metrics
    assert found["eta"] == 0.25
