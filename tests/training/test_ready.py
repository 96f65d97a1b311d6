"""What stands against training is one list, which training, the dry run and the check share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.errors import SennError
from senn_cli.runs.environment import machine_memory
from senn_cli.spec import parse_spec
from senn_cli.training import ready
from senn_cli.training.assemble import assemble

CASES = {
    "batch": ("data: moons\nnetwork: mlp\ntraining: {batch_size: 181}", "only 180 examples"),
    "images": (
        "data: {source: npz, path: two.npz}\nnetwork: densenet",
        "network.kind densenet needs images",
    ),
    "one class": (
        "data: {source: npz, path: one.npz}\nnetwork: mlp",
        "all examples are of class 7; a classification needs two classes at least",
    ),
    "recordings": (
        "data: digits\nnetwork: mlp\nrecord: {landscape: true}",
        "record.landscape needs one input and one output, found 64 and 10",
    ),
    "one example": (
        "data: {source: regression, train: 1, validation: 0}\nnetwork: mlp",
        "growth needs two training examples at least",
    ),
    "too long": (
        "data: {source: regression, train: 50, validation: 0}\nnetwork: mlp\n"
        "training: {epochs: 1e9, batch_size: 1}",
        "50,000,000,000 steps; a run has at most 2,147,483,647",
    ),
    "too large": ("data: moons\nnetwork: {kind: mlp, hidden: [1e6]}", "more than the"),
    "augment": (
        "data: {source: npz, path: two.npz, augment: [flip]}\nnetwork: mlp",
        "data.augment needs images",
    ),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    # Whatever machine runs the tests: one without a GPU and with a gigabyte.
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setattr(ready, "machine_memory", lambda: 10**9)
    x = np.arange(80, dtype=np.float32).reshape(40, 2)
    np.savez(tmp_path / "two.npz", x=x, y=np.arange(40) % 2)
    np.savez(tmp_path / "one.npz", x=x, y=np.full(40, 7))
    return tmp_path


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("name", CASES)
def test_training_the_dry_run_and_the_check_refuse_the_same(here: Path, name: str) -> None:
    text, message = CASES[name]
    (here / "s.yaml").write_text(text)
    checked = invoke("data", "check", "s.yaml")
    assert checked.exit_code == 2
    assert message in " ".join(checked.stderr.replace("│", " ").split())
    assert invoke("train", "s.yaml", "--dry-run").stderr == checked.stderr
    spec = parse_spec(text)
    with pytest.raises(SennError) as raised:
        assemble(spec, load_dataset(spec.data, spec.seed), Ledger())
    assert message in raised.value.message
    assert raised.value.exit_code == 2


def test_all_that_is_wrong_is_told_at_once(here: Path) -> None:
    (here / "s.yaml").write_text(
        "data: {source: npz, path: one.npz}\nnetwork: mlp\n"
        "training: {batch_size: 33}\nrecord: {boundary: true}\ntrack: {wandb: true}\n"
    )
    result = invoke("data", "check", "s.yaml", "--json")
    assert result.exit_code == 2
    told = json.loads(result.stdout)["errors"]
    assert any("batch_size is 33" in one for one in told)
    assert any("all examples are of class 7" in one for one in told)


def test_a_fit_set_has_its_length_and_compilations_told(here: Path) -> None:
    (here / "s.yaml").write_text("data: {source: npz, path: two.npz}\nnetwork: mlp\n")
    result = invoke("data", "check", "s.yaml")
    assert result.exit_code == 0, result.stderr
    assert "examples: 29 training, 3 validation, 8 test" in result.stdout
    assert "training: 300 steps, 300 epochs, batches of 29, 1 step an epoch" in result.stdout
    (told,) = (line for line in result.stdout.splitlines() if line.startswith("compilations: "))
    assert told.endswith(" programs, unless the cache has them")
    fixed = invoke("data", "check", "s.yaml", "--set", "expansion=none").stdout
    # A step, the spectrum of the inputs, and what evaluates all parts of so few data.
    assert "compilations: 3 programs, unless the cache has them" in fixed


def test_the_template_for_a_table_fits_178_rows_at_the_first_try(here: Path) -> None:
    rows = [f"{i},{i * i % 11},{i * 0.37 % 1},{'abc'[i % 3]}" for i in range(178)]
    (here / "my-table.csv").write_text("\n".join(["one,two,three,label", *rows]))
    assert invoke("new", "own-csv", "-o", "mine.yaml").exit_code == 0
    for arguments in (
        ("validate", "mine.yaml"),
        ("data", "check", "mine.yaml"),
        ("train", "mine.yaml", "--dry-run"),
        ("train", "mine.yaml", "--set", "expansion=none", "--until", "2 steps", "-q"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output


def test_the_memory_of_this_machine() -> None:
    found = machine_memory()
    assert found is None or found > 10**8
