"""Resolved specs of format 1, which held options without effect, are still read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from senn_cli.spec import InvalidSpecError, dump_spec, load_spec
from senn_cli.spec.earlier import HEADER
from senn_cli.spec.expansion import SearchSpec

RESOLVED = sorted((Path(__file__).parent / "resolved").glob("*.yaml"))
SPECS = Path(__file__).parents[2] / "specs"


def in_a_run(file: Path, directory: Path) -> Path:
    directory.mkdir()
    (directory / "metrics.jsonl").touch()
    return shutil.copy(file, directory / "spec.yaml")


@pytest.mark.parametrize("file", RESOLVED, ids=[file.stem for file in RESOLVED])
def test_a_run_of_format_1_is_what_it_was(file: Path, tmp_path: Path) -> None:
    old = load_spec(in_a_run(file, tmp_path / "run"))
    assert old == load_spec(SPECS / file.name)
    again = tmp_path / "again.yaml"
    again.write_text(dump_spec(old))
    assert load_spec(again) == old


@pytest.mark.parametrize("file", RESOLVED, ids=[file.stem for file in RESOLVED])
def test_it_is_resumed_with_changes(file: Path, tmp_path: Path) -> None:
    run = in_a_run(file, tmp_path / "run")
    longer = load_spec(run, ["training={epochs: 500}"])
    assert longer.training.epochs == 500
    assert not load_spec(run, ["expansion.policy=none"]).grows
    with pytest.raises(InvalidSpecError, match="lerning_rate is unknown"):
        load_spec(run, ["optimizer.lerning_rate=1"])


@pytest.mark.parametrize(
    "override",
    [
        "training.stop=train_loss",
        "optimizer.schedule.kind=constant",
        "expansion.width.method=mala",
        "expansion.policy=none",
        "optimizer={kind: adam}",
    ],
)
def test_another_choice_leaves_aside_what_was_resolved(override: str, tmp_path: Path) -> None:
    spec = tmp_path / "resolved.yaml"
    spec.write_text(dump_spec(load_spec(SPECS / "quickstart.yaml")))
    changed = load_spec(spec, [override])
    assert dump_spec(changed) != spec.read_text()


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("price: 0", ("paper", None)),
        ("price: 0.5", ("paid", None)),
        ("{accept: paid, price: 0.5, patience: 4}", ("paid", 4)),
    ],
)
def test_what_did_not_end_growth_does_not_when_it_is_read_again(
    said: str, meant: tuple[str, int | None], tmp_path: Path
) -> None:
    spec = tmp_path / "spec.yaml"
    section = said if said.startswith("{") else f"{{{said}}}"
    spec.write_text(
        f"{HEADER}\ndata: digits\nnetwork: mlp\nexpansion: {section}\n", encoding="utf-8"
    )
    growth = load_spec(spec).expansion
    assert isinstance(growth, SearchSpec)
    assert (growth.accept, growth.patience if growth.accept == "paid" else None) == meant


def test_elsewhere_its_options_without_effect_are_told(tmp_path: Path) -> None:
    copied = shutil.copy(RESOLVED[0], tmp_path / "mine.yaml")
    with pytest.raises(InvalidSpecError, match=r"expansion\.\w+ is not an option of policy: none"):
        load_spec(copied)


def test_a_spec_of_this_format_is_not_forgiven(tmp_path: Path) -> None:
    spec = in_a_run(RESOLVED[0], tmp_path / "run")
    spec.write_text(f"{HEADER}\ndata: digits\nnetwork: mlp\noptimizer: {{cg_iterations: 3}}\n")
    with pytest.raises(InvalidSpecError, match="it belongs to solver: cg"):
        load_spec(spec)
