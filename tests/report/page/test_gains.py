from __future__ import annotations

from senn_cli.report.audit import Audit, AuditedRound
from senn_cli.report.page.gains import gains


def measured(step: int, realised: float | None, before: float | None = None) -> AuditedRound:
    until = None if realised is None else step + 10
    return AuditedRound(step, 1, 0.5, until, realised, before)


def test_rounds_that_were_not_measured_again_are_left_out() -> None:
    found = gains(Audit((measured(10, 0.25), measured(20, None, 0.125)), None, None, 0.5, None))
    assert (found["step"], found["until"], found["edits"]) == ([10], [20], [1])
    assert (found["predicted"], found["realised"], found["before"]) == ([0.5], [0.25], [None])


def test_what_the_edits_gained_by_themselves_stands_beside_it() -> None:
    forked = AuditedRound(20, 1, 0.5, 30, 0.25, 0.125, 0.0625, 10)
    found = gains(Audit((measured(10, 0.25), forked), None, None, 0.5, None))
    assert found["own"] == [None, 0.0625]
