"""Which trackers a spec wants, and whether their packages are there."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from senn_cli.errors import UsageError
from senn_cli.spec import Spec, parse_spec
from senn_cli.tracking.tracker import KINDS, check_trackers, wanted

BASE = "data: digits\nnetwork: mlp\n"
PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def spec_of(track: str) -> Spec:
    return parse_spec(f"{BASE}track: {track}\n", "s.yaml")


def test_none_is_wanted_by_default() -> None:
    assert wanted(parse_spec(BASE, "s.yaml")) == ()
    assert wanted(spec_of("{tensorboard: false, mlflow: {enabled: false}}")) == ()
    assert [kind.key for kind in wanted(spec_of("{wandb: true, tensorboard: {}}"))] == [
        "tensorboard",
        "wandb",
    ]


def test_a_missing_package_is_told_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("tensorboardX", "mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
    check_trackers(parse_spec(BASE, "s.yaml"))
    with pytest.raises(UsageError) as one:
        check_trackers(spec_of("{tensorboard: true}"))
    assert one.value.message == ("track.tensorboard needs tensorboardX, which is not installed")
    assert one.value.hint == "Install it with: pip install 'senn-cli[tensorboard]'"
    assert one.value.exit_code == 2
    with pytest.raises(UsageError) as two:
        check_trackers(spec_of("{mlflow: true, wandb: true}"))
    assert two.value.message.endswith("and track.wandb needs wandb, which are not installed")
    assert two.value.hint == "Install it with: pip install 'senn-cli[mlflow,wandb]'"


def test_a_folder_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # `wandb` and MLflow leave folders of such names where they run.
    (tmp_path / "folder_without_code").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        "senn_cli.tracking.tracker.KINDS",
        tuple(kind._replace(module="folder_without_code") for kind in KINDS),
    )
    with pytest.raises(UsageError, match="needs folder_without_code"):
        check_trackers(spec_of("{wandb: true}"))


def test_a_module_that_was_made_by_hand_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", ModuleType("wandb"))
    check_trackers(spec_of("{wandb: true}"))


def test_every_hint_names_an_extra_that_has_the_package() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    for kind in KINDS:
        assert any(line.startswith(kind.module) for line in extras[kind.key])


def test_their_packages_are_imported_by_nothing_but_a_run_that_wants_them() -> None:
    script = (
        "import sys, senn_cli.training.trackers as t;"
        "from senn_cli.spec import parse_spec;"
        "spec = parse_spec('data: digits\\nnetwork: mlp\\ntrack: {tensorboard: true}', 's');"
        "t.wanted(spec); t.open_trackers(parse_spec('data: digits\\nnetwork: mlp'), '.', 0, print);"
        "heavy = {'tensorboardX', 'mlflow', 'wandb', 'jax', 'numpy'} & set(sys.modules);"
        "print(sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
