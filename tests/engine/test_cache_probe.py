from __future__ import annotations

import sys

import pytest

from senn_cli.engine.cache_probe import second_process_hits


def test_two_processes_share_a_fresh_cache() -> None:
    """Whether they do depends on the CPU; that it can be told does not."""
    assert second_process_hits() in (True, False)


def test_a_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    with pytest.raises(RuntimeError, match="abacus"):
        second_process_hits()
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    with pytest.raises(RuntimeError, match="/does/not/exist"):
        second_process_hits()
