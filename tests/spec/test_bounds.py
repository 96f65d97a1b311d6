"""Every number of a spec is bounded on both sides, and told so where it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from senn_cli.spec import InvalidSpecError, json_schema, parse_spec

START = "data: moons\nnetwork: mlp\n"


def numbers(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """All integers and numbers of a JSON schema, with their paths."""
    if isinstance(schema, dict):
        if schema.get("type") in ("integer", "number") and "enum" not in schema:
            yield path, schema
        for key, value in schema.items():
            yield from numbers(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from numbers(value, f"{path}/{index}")


def test_every_number_of_the_schema_has_both_bounds() -> None:
    found = dict(numbers(json_schema()))
    assert len(found) > 80
    unbounded = [
        path
        for path, number in found.items()
        if not {"minimum", "exclusiveMinimum"} & number.keys()
        or not {"maximum", "exclusiveMaximum"} & number.keys()
    ]
    assert unbounded == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("optimizer: {invert_every: 1e21}", "optimizer.invert_every should be at most 2147483647"),
        ("network: {kind: mlp, hidden: [1e12]}", "network.hidden.0 should be at most 1048576"),
        (
            "optimizer: {schedule: {kind: one_cycle, cycles: 1e12}}",
            "optimizer.schedule.cycles should be at most 10000, found 1000000000000",
        ),
        (
            "data: {source: moons, train: 9223372036854775807}",
            "data.train should be at most 10000000, found 9223372036854775807",
        ),
        ("data: {source: digits, subset: 1e12}", "a number of examples from 1 to 2147483647"),
        ("data: {source: digits, test: 1e400}", "a number of examples from 1 to 2147483647"),
        ("training: {batch_size: 1e12}", "a whole number from 1 to 2147483647"),
        ("training: {epochs: 1e10}", "training.epochs should be at most 1e+09"),
        ("training: {steps: 2147483648}", "should be at most 2147483647 (2^31 - 1)"),
        ("optimizer: {learning_rate: 1e39}", "optimizer.learning_rate should be at most 1e+38"),
        ("network: {kind: mlp, capacity: {multiple: 1e9}}", "a whole number from 1 to 1048576"),
        ("network: {kind: densenet, blocks: [[]]}", "should have at least one item"),
    ],
)
def test_huge_numbers_are_refused_where_they_are_written(text: str, found: str) -> None:
    start = START if text.split(":")[0] not in START else ""
    start += "data: digits\n" if text.startswith("network") else ""
    start += "network: mlp\n" if text.startswith("data") else ""
    with pytest.raises(InvalidSpecError) as error:
        parse_spec(start + text, "s.yaml")
    assert found in error.value.message
    assert len(error.value.faults) == 1


def test_a_list_of_very_many_layers_is_refused() -> None:
    with pytest.raises(InvalidSpecError, match=r"should have at most 1000 items, found a list of"):
        parse_spec(f"data: moons\nnetwork: {{kind: mlp, hidden: {[1] * 1001}}}", "s.yaml")
