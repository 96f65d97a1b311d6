"""Options by their dotted names."""

from __future__ import annotations

from senn_cli.report.options import flattened, is_duration


def test_flat_options() -> None:
    assert flattened({"a": {"b": {"c": 1}}, "d": {"steps": 3}, "e": {}}) == {
        "a.b.c": 1,
        "d": {"steps": 3},
        "e": {},
    }


def test_flattened() -> None:
    spec = {"a": {"b": {"c": 1}, "e": {}}, "d": {"minutes": 5}, "f": [1, {"g": 2}]}
    assert flattened(spec) == {"a.b.c": 1, "a.e": {}, "d": {"minutes": 5}, "f": [1, {"g": 2}]}


def test_durations() -> None:
    assert is_duration({"epochs": 3})
    assert not is_duration({"epochs": 3, "steps": 1})
    assert not is_duration({"width": 3})
