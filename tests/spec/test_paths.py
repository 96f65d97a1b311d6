"""Paths are relative to the spec file, wherever the command is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.errors import SpecError
from senn_cli.spec import load_spec, parse_spec
from senn_cli.spec.data import MnistSpec, NpzSpec


def own(text: str, base: Path | None = None) -> NpzSpec:
    spec = parse_spec(f"data: {{source: npz, path: {text}}}\nnetwork: mlp", "s.yaml", base)
    assert isinstance(spec.data, NpzSpec)
    return spec.data


def test_relative_to_the_spec_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    spec = tmp_path / "specs" / "a.yaml"
    spec.write_text(
        "data: {source: csv, path: ../data/a.csv, test_path: b.csv, target: y}\nnetwork: mlp\n"
    )
    for directory in (tmp_path, tmp_path / "elsewhere"):
        monkeypatch.chdir(directory)
        for name in (spec, Path("..") / tmp_path.name / "specs" / "a.yaml"):
            if not name.exists():
                continue
            data = load_spec(name).data
            assert data.source == "csv"
            assert data.path == tmp_path / "data" / "a.csv"
            assert data.test_path == tmp_path / "specs" / "b.csv"


def test_absolute_home_and_overridden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert own("/data/x.npz", tmp_path).path == Path("/data/x.npz")
    assert own("~/x.npz", tmp_path).path == tmp_path / "home" / "x.npz"
    spec = parse_spec("data: mnist\nnetwork: mlp", "s.yaml", tmp_path, ["data.root=files"])
    assert isinstance(spec.data, MnistSpec)
    assert spec.data.root == tmp_path / "files"


def test_without_a_file_they_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert own("x.npz").path == tmp_path / "x.npz"


@pytest.mark.parametrize("text", ["3", "''", "[a]", '"a\\0b"', "null"])
def test_no_paths(text: str) -> None:
    with pytest.raises(SpecError, match=r"data\.path should be (the|a) path"):
        own(text)
