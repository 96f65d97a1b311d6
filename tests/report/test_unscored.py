from __future__ import annotations

from dataclasses import replace
from typing import Any

from senn_cli.report.record import Record
from senn_cli.report.unscored import unscored
from tests.handmade import added, event, record, row

SCORED = {"candidates": [{"kind": "width", "site": "layer 0", "ratio": 1.0}]}


def made(*history: dict[str, Any], **expansion: Any) -> Record:
    found = record(history=history, metrics=[row(600, [4])])
    return replace(found, spec=found.spec | {"expansion": expansion})


def test_a_limit_that_was_reached_is_named() -> None:
    full = "max_hidden: 4 hidden neurons of at most 4"
    found = made(
        added(80, [4], 0, 0.1, **SCORED),
        event(80, [4], reason=full),
        event(90, [4], reason=full),
        event(590, [4], reason=full),
    )
    assert unscored(found) == f"Nothing was scored after step 80: {full}."
    # The same where rounds were not recorded after the one that reached it.
    assert unscored(made(added(80, [4], 0, 0.1, **SCORED), event(80, [4], reason=full))) == (
        f"Nothing was scored after step 80: {full}."
    )


def test_no_rounds_after_expansion_until() -> None:
    scored = event(1100, [4], reason="too low", **SCORED)
    assert unscored(made(scored | {"step": 110}, until={"epochs": 11})) == (
        "Nothing was scored after step 110: expansion.until is 11 epochs."
    )
    assert unscored(made(scored | {"step": 110}, until={"steps": 1})) == (
        "Nothing was scored after step 110: expansion.until is 1 step."
    )
    assert unscored(made(scored | {"step": 110}, until=None)) == (
        "Nothing was scored after step 110: no growth round was due."
    )


def test_scores_until_the_end_need_no_reason() -> None:
    assert unscored(made(event(590, [4], **SCORED))) is None
    assert unscored(made(event(10, [4]))) is None
    assert unscored(made()) is None
