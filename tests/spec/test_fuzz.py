"""Whatever is written in a spec or an override, the answer is a spec or a readable error."""

from __future__ import annotations

import copy
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from senn_cli.errors import SpecError
from senn_cli.spec import Spec, dump_spec, json_schema, parse_spec
from senn_cli.spec.template import template_text, templates

KEYS = sorted(
    {
        key
        for part in json_schema()["$defs"].values()
        for key in (*part.get("properties", {}), *part.get("enum", []))
    }
)
VALID = [
    yaml.safe_load(dump_spec(parse_spec(template_text(name), "s.yaml"))) for name in templates()
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(KEYS),
    st.just(10**500),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)
pieces = st.sampled_from(
    [
        *"{}[]:,-#&*!|>'\"%@`?~\t\n 0a",
        ": ",
        "\n  ",
        "<<: ",
        "&a ",
        "*a",
        "!!int ",
        "---\n",
        "é",
        "\0",
    ]
)


def check(text: str, overrides: list[str]) -> None:
    try:
        spec = parse_spec(text, "s.yaml", None, overrides)
    except SpecError as error:
        assert error.message
        for line in error.message.splitlines():
            assert line.startswith(("s.yaml:", "--set "))
            assert line.isprintable()
            assert len(line) < 1000
    else:
        assert isinstance(spec, Spec)


@settings(max_examples=300)
@given(st.lists(st.one_of(pieces, st.sampled_from(KEYS)), max_size=30).map("".join))
def test_any_text(text: str) -> None:
    check(text, [])
    check("data: digits\nnetwork: mlp\n" + text, [])


@settings(max_examples=300)
@given(st.data(), st.sampled_from(VALID), values)
def test_any_value_anywhere(draw: st.DataObject, valid: dict[str, Any], value: Any) -> None:
    spec = copy.deepcopy(valid)
    inner: Any = spec
    while True:
        keys = sorted(inner) if isinstance(inner, dict) else range(len(inner))
        key = draw.draw(st.sampled_from([*keys, draw.draw(st.sampled_from(KEYS))]))
        if isinstance(inner, list):
            key = key if isinstance(key, int) else 0
        below = inner.get(key) if isinstance(inner, dict) else None
        if not isinstance(below, dict | list) or not below or draw.draw(st.booleans()):
            break
        inner = below
    if isinstance(inner, dict) or inner:
        inner[key] = value
    check(yaml.safe_dump(spec, allow_unicode=True), [])


@settings(max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda path, value: f"{'.'.join(path)}={value}",
            st.lists(st.one_of(st.sampled_from(KEYS), st.sampled_from(["0", "9", ""])), max_size=3),
            st.one_of(
                scalars.filter(lambda value: value != 10**500),
                st.lists(pieces, max_size=6).map("".join),
            ),
        ),
        max_size=4,
    ),
    st.sampled_from(sorted(templates())),
)
def test_any_override(overrides: list[str], name: str) -> None:
    check(template_text(name), overrides)
