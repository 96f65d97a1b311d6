"""What a run was started with: the resolved spec as it stands in its file, and the environment."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from senn_cli.errors import RunError
from senn_cli.report.record import Record
from senn_cli.runs.directory import RunDirectory


def spec_text(record: Record) -> str:
    """The text of `spec.yaml`.

    Raises:
      RunError: it cannot be read.
    """
    path = RunDirectory(record.path).spec_path
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror or error}") from error


def environment(record: Record) -> list[list[str]]:
    """Labels and texts, a line a value; a resumption is a line of its own at the end."""
    rows = [[_label(key), _text(key, value)] for key, value in record.environment.items()]
    rows = [row for row in rows if row[1]]
    for row in record.resumed:
        told = f"from step {row.get('step')} at {row.get('time')}"
        if row.get("overrides"):
            told += " with " + " ".join(map(str, row["overrides"]))
        if row.get("branched_from"):
            told += f", branched from {row['branched_from']}"
        rows.append(["resumed", told])
    return rows


def _label(key: str) -> str:
    return {"time": "started", "cpus": "CPUs", "variables": "environment variables"}.get(key, key)


def _text(key: str, value: Any) -> str:
    if value is None:
        return ""
    if key == "command" and isinstance(value, list):
        return shlex.join(map(str, value))
    if isinstance(value, Mapping):
        return "\n".join(f"{name} {_plain(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "\n".join(map(_plain, value))
    return _plain(value)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
