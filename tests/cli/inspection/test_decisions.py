from __future__ import annotations

import pytest

from senn_cli.cli.inspection import decisions
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.report.audit import Audit, AuditedRound
from senn_cli.report.timeline import entry_of
from tests.handmade import added, event, inserted

WIDE = Screen(1000, "utf-8")


def texts(lines: list[Line]) -> list[str]:
    return [text.rstrip() for text, _ in lines]


def audited(count: int, pearson: float | None, control: float | None) -> Audit:
    rounds = tuple(AuditedRound(i, 1, 0.1, i + 1, 0.2, None) for i in range(count))
    return Audit(rounds, pearson, pearson, 2.0 if count else None, control)


@pytest.mark.parametrize(
    ("audit", "parts"),
    [
        (audited(0, None, None), ["no round with an accepted edit has been measured again"]),
        (audited(1, None, None), ["1 round, too few for a correlation; median of realised"]),
        (audited(4, None, None), ["4 rounds, without spread"]),
        (audited(4, 0.5, None), ["over 4 rounds, few enough for chance", "0.50", "no control"]),
        (audited(12, 0.5, 0.25), ["over 12 rounds, predicted", "tells more than that"]),
        (audited(12, 0.25, 0.5), ["correlate by 0.25", "by 0.50", "tells no more than that"]),
        (audited(12, -0.25, -0.25), ["tells no more than that"]),
    ],
)
def test_the_audit_promises_no_more_than_its_numbers(audit: Audit, parts: list[str]) -> None:
    words = " ".join(decisions.audit_words(audit))
    for part in parts:
        assert part in words


def test_edits_in_words() -> None:
    events = [
        added(10, [3], 0, 0.1),
        added(10, [3], 0, 0.1, neurons=4),
        inserted(20, [3, 3], 1, 0.1),
        event(30, [3, 2], "prune_neurons", layer=1, neuron=0),
        event(40, [3, 2], "enlarge_capacity", layer=0, capacity=48),
        event(50, [3, 2]),
        event(60, [3, 2], "something_new"),
    ]
    rows = texts(decisions.history([entry_of(e) for e in events], WIDE))[1:]
    for text, expected in zip(
        rows,
        ["+1 neuron ", "+4 neurons", "+layer of 3", "-1 neuron", "capacity 48", "rejected",
         "something_new"],
        strict=True,
    ):  # fmt: skip
        assert expected in text


def test_the_threshold_stands_in_the_heading_or_in_the_rows() -> None:
    one, two = added(10, [3], 0, 0.1, ratio=0.75), event(20, [3], ratio=0.25)
    heading, *rows = texts(decisions.history([entry_of(one), entry_of(two)], WIDE))
    assert "Δη/η, τ 0.5" in heading
    assert " 0.75 " in rows[0]
    other = entry_of(two | {"threshold": 0.25})
    heading, *rows = texts(decisions.history([entry_of(one), other], WIDE))
    assert "τ" not in heading
    assert "0.75 > 0.5" in rows[0]
    assert "0.25 <= 0.25" in rows[1]


def test_many_layers_are_counted() -> None:
    wide = entry_of(added(10, [100] * 12, 0, 0.1))
    assert "1200 in 12 layers" in texts(decisions.history([wide], WIDE))[1]
