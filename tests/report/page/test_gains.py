from __future__ import annotations

from senn_cli.report.audit import Audit, AuditedRound
from senn_cli.report.page.gains import gains, words


def measured(step: int, realised: float | None, before: float | None = None) -> AuditedRound:
    until = None if realised is None else step + 10
    return AuditedRound(step, 1, 0.5, until, realised, before)


def audited(
    rounds: int, pearson: float | None, control: float | None, ratio: float | None = None
) -> Audit:
    found = tuple(measured(10 * k, 0.25) for k in range(rounds))
    return Audit(found, pearson, pearson, ratio, control)


def test_rounds_that_were_not_measured_again_are_left_out() -> None:
    found = gains(Audit((measured(10, 0.25), measured(20, None, 0.125)), None, None, 0.5, None))
    assert (found["step"], found["until"], found["edits"]) == ([10], [20], [1])
    assert (found["predicted"], found["realised"], found["before"]) == ([0.5], [0.25], [None])


def test_nothing_to_tell() -> None:
    nothing = ["No growth round has had its loss measured again."]
    assert words(Audit((), None, None, None, None)) == nothing
    assert words(Audit((measured(10, None),), None, None, None, None)) == nothing


def test_too_few_for_a_correlation() -> None:
    one, median = words(audited(1, None, None, 0.5))
    assert one.startswith("1 growth round has had the loss measured again: too few")
    assert median == "The median round gained 0.5 times what was predicted."
    assert words(audited(2, None, None))[0].startswith("2 growth rounds have had")


def test_a_correlation_and_its_control() -> None:
    first, second = words(audited(12, 0.75, 0.25))
    assert first == (
        "Over 12 growth rounds the correlation of the predicted with the realised gains is 0.75, "
        "that of their ranks 0.75."
    )
    assert "has a correlation of 0.25 with the realised gains" in second
    assert second.endswith("the score told more than that.")
    assert words(audited(4, 0.25, 0.75))[1].endswith("the score told less than that.")
    assert words(audited(4, 0.5, 0.52))[1].endswith("the score told about as much as that.")
    assert len(words(audited(10, 0.5, None))) == 1


def test_few_rounds_are_called_few() -> None:
    warning = "Correlations over so few rounds may be chance."
    assert warning in words(audited(9, 0.75, 0.25))
    assert warning not in words(audited(10, 0.75, 0.25))
    assert warning not in words(audited(2, None, None))
