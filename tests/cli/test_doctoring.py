from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from senn_cli.cli.doctoring import EXTRAS, Check, check_data, check_extras, check_reuse

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    named = [name for extra in EXTRAS for name in extra.names]
    assert sorted(named) == sorted(set(declared) - {"test"})


def test_the_modules_of_an_extra_are_what_it_installs() -> None:
    declared = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in EXTRAS[1:]:
        installed = [
            need.partition(">")[0].partition("-skinny")[0] for need in declared[extra.names[0]]
        ]
        assert list(extra.modules) == installed


def test_missing_extras_say_what_each_would_bring() -> None:
    checks = check_extras(lambda module: module in ("matplotlib", "onnx", "jax_cuda12_plugin"))
    assert checks[0] == Check("extras", "ok", "cuda13, plot")
    by_name = {check.name: check for check in checks[1:]}
    assert list(by_name) == [
        f"extra {name}"
        for name in (
            *("export", "torch", "parquet", "openml", "huggingface", "optuna", "keras"),
            *("tensorboard", "mlflow", "wandb"),
        )
    ]
    assert by_name["extra wandb"] == Check(
        "extra wandb",
        "absent",
        "would bring runs in Weights & Biases (track.wandb)",
        "pip install 'senn-cli[wandb]'",
    )
    assert "(safetensors, onnxruntime are missing)" in by_name["extra export"].found
    assert "pip install 'senn-cli[cuda13]' or pip install 'senn-cli[cuda12]'" in {
        check.hint for check in check_extras(lambda module: False)
    }


def test_data_that_are_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    places = {"a": (True, f"SENN_DATA={tmp_path}"), "b": (True, "downloaded"), "c": (False, "2 MB")}
    monkeypatch.setenv("SENN_DATA", str(tmp_path))
    assert check_data(places, places.__getitem__) == [
        Check("SENN_DATA", "ok", f"{tmp_path} has a"),
        Check("downloaded data", "ok", "b"),
    ]


def test_data_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nowhere(name: str) -> tuple[bool, str]:
        return False, "to be downloaded"

    monkeypatch.delenv("SENN_DATA", raising=False)
    (unset,) = check_data(["a"], nowhere)
    assert unset.outcome == "ok" and unset.found.startswith("not set")
    monkeypatch.setenv("SENN_DATA", str(tmp_path))
    (empty,) = check_data(["a", "b"], nowhere)
    assert (empty.outcome, empty.found) == ("warning", f"{tmp_path} has none of a, b")
    monkeypatch.setenv("SENN_DATA", str(tmp_path / "new"))
    (absent,) = check_data(["a"], nowhere)
    assert (absent.outcome, absent.found) == ("warning", f"{tmp_path / 'new'} is no directory")


def test_data_that_are_damaged_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SENN_DATA", str(tmp_path))
    checks = check_data(["a"], lambda name: (False, f"{tmp_path}/a lacks labels"))
    assert any("lacks labels" in check.found for check in checks)


def test_whether_a_second_process_reuses_what_the_first_compiled() -> None:
    assert check_reuse(lambda: True).outcome == "ok"
    never = check_reuse(lambda: False)
    assert never.outcome == "warning" and "38445" in never.found

    def broken() -> bool:
        raise RuntimeError("no such device")

    assert check_reuse(broken).outcome == "warning"
    assert "no such device" in check_reuse(broken).found
