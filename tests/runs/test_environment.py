from __future__ import annotations

import datetime
import json
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from senn_cli.runs.environment import environment, git_commit, version_of
from senn_cli.runs.jsonl import dumps


def test_what_it_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["senn", "train", "a b.yaml"])
    monkeypatch.setenv("XLA_FLAGS", "--some")
    monkeypatch.setenv("SECRET_TOKEN", "do-not-tell")
    found = environment()
    assert found["python"] == platform.python_version()
    assert found["command"] == ["senn", "train", "a b.yaml"]
    assert found["packages"]["numpy"] == np.__version__
    assert found["variables"]["XLA_FLAGS"] == "--some"
    assert found["directory"] == str(tmp_path)
    assert datetime.datetime.fromisoformat(found["time"]).tzinfo is not None
    assert found["cpus"] >= 1
    assert "do-not-tell" not in dumps(found)
    assert json.loads(dumps(found)) == found


def test_a_missing_package_has_no_version() -> None:
    assert version_of("no-such-distribution-at-all") is None


def test_no_commit_outside_of_a_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_commit(str(tmp_path)) is None


def test_no_commit_without_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit(str(tmp_path)) is None


def test_the_commit_and_whether_files_differ(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        result = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return result.stdout.strip()

    git("init", "--quiet")
    assert git_commit(str(tmp_path)) is None  # there is no commit yet
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "--quiet", "-m", "first")
    head = git("rev-parse", "HEAD")
    assert git_commit(str(tmp_path)) == {"commit": head, "modified": False}
    (tmp_path / "untracked").write_text("a run's own files do not count")
    assert git_commit(str(tmp_path)) == {"commit": head, "modified": False}
    (tmp_path / "file").write_text("two")
    assert git_commit(str(tmp_path)) == {"commit": head, "modified": True}
