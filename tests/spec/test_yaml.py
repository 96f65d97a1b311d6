"""YAML 1.2's core schema, the places of values, and faults of the text."""

from __future__ import annotations

import math
from typing import Any

import pytest

from senn_cli.spec.nodes import locate, plain
from senn_cli.spec.yaml import core_tag, read_yaml


def read(text: str) -> Any:
    root, faults = read_yaml(text, filename="s.yaml")
    assert faults == []
    return plain(root)


def faults(text: str) -> list[str]:
    _, found = read_yaml(text, filename="s.yaml")
    return [f"{fault.origin}: {'.'.join(map(str, fault.path))} {fault.message}" for fault in found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("1e-3", 1e-3),
        ("1e5", 1e5),
        ("1E3", 1000.0),
        ("+12", 12),
        ("-0", 0),
        (".5", 0.5),
        ("1.", 1.0),
        ("0x1F", 31),
        ("0o17", 15),
        ("-.inf", -math.inf),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
    ],
)
def test_core_schema_values(text: str, value: object) -> None:
    found = read(f"x: {text}")["x"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        *("no", "yes", "on", "off", "No", "OFF", "y", "n"),
        *("12:30", "1:30:00", "017", "00.5", "-08", "2024-01-01", "2024-01-01T12:00:00Z"),
        *("1_000", "0b101", "=", "nan", "inf", "1e", "e3", ".", "-", "1.2.3", "tRue", "none"),
    ],
)
def test_texts_stay_texts(text: str) -> None:
    assert read(f"x: {text!s}" if text != "-" else "x: '-'")["x"] == text


@pytest.mark.parametrize("text", ["'3'", '"true"', "'~'", "!!str 3"])
def test_quoted_and_tagged_scalars_are_texts(text: str) -> None:
    assert isinstance(read(f"x: {text}")["x"], str)


def test_nan_is_a_number() -> None:
    assert math.isnan(read("x: .nan")["x"])


def test_keys_are_texts_whatever_they_look_like() -> None:
    assert read("1: a\ntrue: b\nno: c\n2024-01-01: d") == {
        "1": "a",
        "true": "b",
        "no": "c",
        "2024-01-01": "d",
    }


def test_anchors_aliases_and_merges() -> None:
    text = """
base: &base {a: 1, b: 2}
more: &more {b: 3, c: 4}
one: {<<: *base, b: 5}
two:
  <<: [*base, *more]
  d: 6
same: *base
"""
    value = read(text)
    assert value["one"] == {"a": 1, "b": 5}
    assert value["two"] == {"a": 1, "b": 2, "c": 4, "d": 6}  # the first of the merged wins
    assert value["same"] is value["base"]


def test_a_quoted_merge_key_is_a_key() -> None:
    assert read("'<<': 1") == {"<<": 1}


def test_merge_of_something_else_is_a_fault() -> None:
    assert faults("x: {<<: 3}") == ["s.yaml:1: x.<< should name mappings, such as `<<: *base`"]


def test_a_key_given_twice_names_both_lines() -> None:
    assert faults("a: 1\nb: {c: 2,\n  'c': 3}\na: 4\n") == [
        "s.yaml:3: b.c is given twice, on line 2 and on line 3",
        "s.yaml:4: a is given twice, on line 1 and on line 4",
    ]


def test_an_alias_inside_its_own_anchor_is_a_fault() -> None:
    assert faults("a: &a {b: [*a]}") == ["s.yaml:1: a.b.0 contains itself through an alias"]


def test_aliases_that_multiply_are_read_in_no_time() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    value = read("\n".join(lines))  # 2^60 items, were they written out
    assert value["a59"][0] is value["a59"][1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: !!python/object:os.system {}", "x has the tag !!python/object:os.system"),
        ("x: !mine 3", "x has the tag !mine"),
        ("x: !!binary aGk=", "x has the tag !!binary"),
        ("x: !!int yes", 'x has the tag !!int but is "yes"'),
        ("? [a]\n: 3", "the spec has a key that is not a text"),
        ("x: " + "9" * 5000, "x is a number of too many digits"),
    ],
)
def test_other_faults_of_values(text: str, message: str) -> None:
    (found,) = faults(text)
    assert message in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n\tb: 2", "s.yaml:2:  a tab in column 1; YAML is indented with spaces alone"),
        ("a:\n\tb: 2", "s.yaml:2:  a tab in column 1; YAML is indented with spaces alone"),
        ("a: 1\n  b: 2", "s.yaml:2:  not valid YAML: a `: ` where none can be"),
        ("a: [1, 2", "s.yaml:1:  not valid YAML: a list in brackets that is not closed"),
        ("a: 1\nb: 'x", "s.yaml:2:  not valid YAML: a quote or bracket is not closed"),
        ("a: *b", "s.yaml:1:  not valid YAML: found undefined alias 'b'"),
        ("a: 1\n---\nb: 2", "s.yaml:2:  a second document begins here"),
        ("a: \x07", "s.yaml:1:  the character U+0007 is not allowed in YAML"),
        ("[" * 5000, "s.yaml:1:  nested too deeply"),
    ],
)
def test_faults_of_syntax(text: str, message: str) -> None:
    (found,) = faults(text)
    assert found.startswith(message)


def test_places() -> None:
    root, _ = read_yaml("a:\n  b:\n    - 1\n    - 2\nc: &c {d: 3}\ne:\n  <<: *c\n", filename="f")
    assert locate(root, ("a",)) == ("f:1", 1)
    assert locate(root, ("a", "b")) == ("f:2", 2)
    assert locate(root, ("a", "b", 1)) == ("f:4", 4)
    assert locate(root, ("e", "d")) == ("f:5", 5)  # where a merged key is written
    assert locate(root, ("a", "missing")) == ("f:1", 1)
    assert locate(root, ()) == ("f:1", 1)


def test_core_tag() -> None:
    assert [core_tag(text) for text in ("3e-4", "12", "off", "", "TRUE", "017")] == [
        "float",
        "int",
        "str",
        "null",
        "bool",
        "str",
    ]
