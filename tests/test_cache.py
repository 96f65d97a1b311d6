from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli import cache


def test_the_environment_variable_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SENN_CACHE_DIR", str(tmp_path / "here"))
    assert cache.cache_root() == tmp_path / "here"
    assert cache.compilation_cache().parent == tmp_path / "here"
    assert cache.data_cache().parent == tmp_path / "here"
    assert not (tmp_path / "here").exists()


def test_a_relative_or_home_path_becomes_absolute(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SENN_CACHE_DIR", "here")
    assert cache.cache_root() == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SENN_CACHE_DIR", "~/there")
    assert cache.cache_root() == tmp_path / "there"


@pytest.mark.parametrize("value", [None, ""])
def test_otherwise_the_platform_decides(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("SENN_CACHE_DIR", raising=False)
    else:
        monkeypatch.setenv("SENN_CACHE_DIR", value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_root().name == "senn"
