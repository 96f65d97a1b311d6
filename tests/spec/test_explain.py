from __future__ import annotations

import re
from pathlib import Path

import pytest

from senn_cli.errors import UsageError
from senn_cli.spec import json_schema
from senn_cli.spec.explain import entries, explained
from senn_cli.spec.load import parse_spec
from senn_cli.spec.reference import as_markdown, as_text
from senn_cli.spec.trades import NOTES

ROOT = Path(__file__).parents[2]


def test_every_option_says_what_it_trades() -> None:
    """But names, paths and columns, which are not better or worse."""
    named = {"a text", "a text or null"}
    for name, entry in entries().items():
        assert entry.forms and all(form.meaning for form in entry.forms), name
        takes = [form.takes for form in entry.forms]
        columns = name.startswith("data.") and any("a text" in one for one in takes)
        switch = name.endswith(".enabled")  # its section says it
        if entry.members or columns or switch or takes[0] in named:
            continue
        if re.fullmatch(r"track\..*", name) and name not in NOTES:
            continue
        assert entry.note is not None, f"{name} has no entry in senn_cli/spec/trades.py"
        assert entry.note.trade not in {form.meaning for form in entry.forms}, name


def test_every_note_is_of_an_option() -> None:
    assert NOTES.keys() <= entries().keys()


def test_places_are_places_of_the_paper() -> None:
    for name, note in NOTES.items():
        for place in filter(None, note.paper.split(", ")):
            assert re.fullmatch(
                r"section (3\.[1-5]|4)|ingredient [1-4]|appendix [A-E]|figure [2-6]", place
            ), name


def test_members_that_differ_are_told_apart() -> None:
    entry = explained("optimizer.learning_rate")
    told = {m: form.default for form in entry.forms for m in form.members}
    assert told["kind: adam"] == told["kind: adamw"] == "0.001"
    assert told["kind: natural_gradient"] == "0.3" and told["kind: sgd"] == "0.1"
    text = as_text(entry)
    assert "0.001 (kind: adam, adamw or rmsprop)" in text
    assert "a number above 0\n" in text


@pytest.mark.parametrize(
    "name, value",
    [("optimizer.damping", "0"), ("expansion.threshold", "-1"), ("training.batch_size", "0")],
)
def test_what_is_out_of_the_range_told_is_refused(name: str, value: str) -> None:
    takes = explained(name).forms[0].takes
    assert ("above 0" in takes) == (name == "optimizer.damping")
    section, _, key = name.partition(".")
    text = "data: digits\nnetwork: mlp\n"
    parse_spec(text)
    with pytest.raises(Exception, match=re.escape(key)):
        parse_spec(f"{text}{section}: {{{key}: {value}}}\n")


def test_one_kind_alone() -> None:
    entry = explained("optimizer", "adam")
    assert "optimizer.b1" in entry.members and "optimizer.kl_clip" not in entry.members
    with pytest.raises(UsageError, match="no option under adam") as caught:
        explained("optimizer.kl_clip", "adam")
    assert caught.value.hint == "It belongs to natural_gradient."
    for name in ("optimizer", "training.stop", "seed"):
        with pytest.raises(UsageError, match="no option under foo"):
            explained(name, "foo")
    assert explained("data.augment", "pad").members == ("data.augment.kind", "data.augment.to")


@pytest.mark.parametrize(
    "name, hint",
    [
        ("expansion.treshold", "Did you mean expansion.threshold?"),
        ("tau", "Did you mean expansion.threshold?"),
        ("lr", "Did you mean optimizer.learning_rate?"),
        ("damping", "Did you mean optimizer.damping or curvature.damping?"),
        ("zzzz", "All of them: senn explain --all"),
    ],
)
def test_other_names(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        explained(name)
    assert caught.value.hint == hint


def test_a_name_alone_and_places_in_lists() -> None:
    assert explained("threshold").name == "expansion.threshold"
    assert explained("data.augment[0].degrees").name == "data.augment.degrees"


def test_conditions_are_told() -> None:
    assert "read where  solver: cg" in as_text(explained("optimizer.cg_iterations"))


def test_the_reference_is_current() -> None:
    """After a change of the models: senn explain --all > specs/REFERENCE.md."""
    assert (ROOT / "specs" / "REFERENCE.md").read_text("utf-8") == as_markdown()


def test_the_schema_of_editors_tells_it_too() -> None:
    told = json_schema()["$defs"]["SearchSpec"]["properties"]["threshold"]["description"]
    assert told.startswith("tau: ") and told.endswith(NOTES["expansion.threshold"].trade)
