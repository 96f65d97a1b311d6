"""Predicted against realised gains, and what the audit says of them."""

from __future__ import annotations

from typing import Any

from senn_cli.report.audit import Audit
from senn_cli.report.page.numbers import short
from senn_cli.report.verdict import audit_words


def gains(audited: Audit) -> dict[str, Any]:
    """The rounds that were measured again, as columns, and `words`, sentences about them.

    Keys of the columns: `step`, `until`, `edits`, `predicted`, `realised`, `before` (what the
    interval before the round gained, None for the first), `own` (what the edits gained by
    themselves, None without forks).
    """
    found = [each for each in audited.rounds if each.realised is not None]
    return {
        "step": [each.step for each in found],
        "until": [each.until for each in found],
        "edits": [each.edits for each in found],
        "predicted": [short(each.predicted) for each in found],
        "realised": [short(each.realised) for each in found],
        "before": [short(each.before) for each in found],
        "own": [short(each.own) for each in found],
        "words": audit_words(audited),
    }
