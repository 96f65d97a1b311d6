"""Fixtures of the plots' tests: within the figures' own style, as `senn plot` draws them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from senn_cli.report.plots.style import styled
from senn_cli.report.record import Record
from tests.report.plots.made import made_run, with_recordings


@pytest.fixture(autouse=True)
def _styled() -> Iterator[None]:
    with styled():
        yield


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return made_run(tmp_path / "half")


@pytest.fixture
def recorded(tmp_path: Path) -> Record:
    return with_recordings(tmp_path / "recorded")
