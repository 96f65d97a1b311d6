"""Several runs side by side: a table, and where their specs differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from senn_cli.report.options import flattened, is_duration
from senn_cli.report.page.head import facts, final_widths
from senn_cli.report.record import Record
from senn_cli.report.words import widths

_ABSENT = object()


def comparison(
    records: Sequence[Record], runs: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> dict[str, Any]:
    """The table (`columns`, `rows`) and `differences`: an option, and its value in every run.

    Args:
      records: the runs.
      runs: what the page has of each, for its `status`.
      names: of the runs.
    """
    known = [dict(facts(record)) for record in records]
    # Every figure that some run has, in the order of the facts.
    columns = list(dict.fromkeys(label for found in known for label in found))
    rows = []
    for record, run, name, found in zip(records, runs, names, known, strict=True):
        found["hidden sizes"] = widths(final_widths(record))
        rows.append([name, run["status"], *(found.get(label, "") for label in columns)])
    return {
        "columns": ["run", "status", *columns],
        "rows": rows,
        "differences": differences([record.spec for record in records]),
    }


def differences(specs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The options that are not the same in all specs: `option` and `values`, in words."""
    flat = [flattened(spec) for spec in specs]
    options = list(dict.fromkeys(option for spec in flat for option in spec))
    found = []
    for option in options:
        values = [spec.get(option, _ABSENT) for spec in flat]
        texts = ["" if value is _ABSENT else _text(value) for value in values]
        if len(set(texts)) > 1:
            found.append({"option": option, "values": texts})
    return found


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and is_duration(value):
        ((unit, count),) = value.items()
        return f"{count} {unit}"
    return json.dumps(value, ensure_ascii=False, default=str)
