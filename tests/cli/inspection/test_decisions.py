from __future__ import annotations

from dataclasses import replace

from senn_cli.cli.inspection import decisions
from senn_cli.cli.inspection.screen import Line, Screen
from senn_cli.report.audit import Audit
from senn_cli.report.timeline import entry_of
from tests.handmade import added, event, inserted

WIDE = Screen(1000, "utf-8")


def texts(lines: list[Line]) -> list[str]:
    return [text.rstrip() for text, _ in lines]


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


def test_channels_are_called_channels() -> None:
    entries = [
        replace(entry_of(added(10, [3], 0, 0.1)), unit="channel"),
        replace(entry_of(added(10, [3], 0, 0.1, neurons=4)), unit="channel"),
        replace(entry_of(event(30, [3], "prune_neurons", layer=0, neuron=0)), unit="channel"),
    ]
    text = "\n".join(texts(decisions.history(entries, WIDE)))
    assert "+1 channel " in text and "+4 channels" in text and "-1 channel " in text
    assert "neuron" not in text


def test_the_audit_is_named() -> None:
    (line,) = texts(decisions.score_audit(Audit((), None, None, None, None), WIDE))
    assert line == "Score audit: No growth round has had its loss measured again."
