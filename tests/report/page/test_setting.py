from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.report.page.setting import environment, spec_text
from senn_cli.report.record import read_record
from tests.handmade import record, run_directory


def test_the_spec_is_that_of_the_file(tmp_path: Path) -> None:
    run = run_directory(tmp_path, name="'a <b> é'")
    assert spec_text(read_record(run)) == (run / "spec.yaml").read_text(encoding="utf-8")


def test_a_spec_that_is_gone_is_an_error() -> None:
    with pytest.raises(RunError, match=r"/nowhere/spec\.yaml cannot be read"):
        spec_text(record())


def test_the_environment_in_lines() -> None:
    made = replace(
        record(),
        environment={
            "python": "3.11.7",
            "packages": {"jax": "1.0", "numpy": "2.0"},
            "cpus": 2,
            "git": None,
            "command": ["senn", "train", "my spec.yaml"],
            "devices": ["cpu:0", "cpu:1"],
            "variables": {},
            "time": "2025-01-02T03:04:05+00:00",
        },
        resumed=(
            {"step": 20, "time": "later", "overrides": ["seed=1"], "branched_from": "/other"},
            {"step": 30, "time": "last", "overrides": [], "branched_from": None},
        ),
    )
    assert environment(made) == [
        ["python", "3.11.7"],
        ["packages", "jax 1.0\nnumpy 2.0"],
        ["CPUs", "2"],
        ["command", "senn train 'my spec.yaml'"],
        ["devices", "cpu:0\ncpu:1"],
        ["started", "2025-01-02T03:04:05+00:00"],
        ["resumed", "from step 20 at later with seed=1, branched from /other"],
        ["resumed", "from step 30 at last"],
    ]
