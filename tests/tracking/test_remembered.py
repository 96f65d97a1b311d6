"""What trackers keep in a run's directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.tracking.remembered import FILE, recall, remember


def test_each_tracker_has_its_own(tmp_path: Path) -> None:
    assert recall(tmp_path, "mlflow") == {}
    remember(tmp_path, "mlflow", {"run": "a"})
    remember(tmp_path, "wandb", {"id": "b"})
    remember(tmp_path, "mlflow", {"run": "c"})
    assert recall(tmp_path, "mlflow") == {"run": "c"}
    assert json.loads((tmp_path / FILE).read_text()) == {
        "mlflow": {"run": "c"},
        "wandb": {"id": "b"},
    }
    assert [path.name for path in tmp_path.iterdir()] == [FILE]  # no temporary file is left


@pytest.mark.parametrize("content", ["{", "[1]", ""])
def test_a_damaged_file_is_named_and_kept(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(RunError, match=r"tracking\.json is damaged"):
        recall(tmp_path, "mlflow")
    with pytest.raises(RunError, match=r"tracking\.json is damaged"):
        remember(tmp_path, "mlflow", {})
    assert (tmp_path / FILE).read_text() == content
