"""Why nothing was scored any more in the last part of a run."""

from __future__ import annotations

from collections.abc import Mapping

from senn_cli.report.options import is_duration
from senn_cli.report.record import Record
from senn_cli.words import plural

_SHARE = 0.8  # of the run: scores that go on until then leave no gap that asks for a reason


def unscored(record: Record) -> str | None:
    """A sentence with the last scored step and the reason; None where there is no gap to explain.

    The reason is that of the newest decision; where there was none after the last score, no growth
    round was due.
    """
    steps = [int(event["step"]) for event in record.history if event.get("candidates")]
    if not steps or steps[-1] >= _SHARE * record.last_step:
        return None
    newest = record.history[-1]
    if int(newest["step"]) > steps[-1] or not newest.get("candidates"):
        why = str(newest.get("reason") or "no reason is recorded")
    else:
        why = _no_round(record)
    return f"Nothing was scored after step {steps[-1]:,}: {why}."


def _no_round(record: Record) -> str:
    until = record.spec.get("expansion", {}).get("until")
    if isinstance(until, Mapping) and is_duration(until):
        ((unit, count),) = until.items()
        return f"expansion.until is {plural(count, unit.removesuffix('s'))}"
    return "no growth round was due"
