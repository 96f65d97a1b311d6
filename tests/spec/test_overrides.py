"""`--set path=value`: nested keys, list items, short forms, and overrides that lead nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from senn_cli.errors import SpecError
from senn_cli.spec import Duration, Spec, parse_spec
from senn_cli.spec.nodes import plain
from senn_cli.spec.overrides import apply_overrides
from senn_cli.spec.yaml import read_yaml

BASE = "data: digits\nnetwork: mlp\n"


def changed(text: str, *overrides: str) -> Any:
    root, faults = read_yaml(text, filename="s.yaml")
    assert faults == []
    root, faults = apply_overrides(root, overrides)
    assert faults == []
    return plain(root)


def parsed(*overrides: str, text: str = BASE) -> Spec:
    return parse_spec(text, "s.yaml", None, overrides)


def message(*overrides: str, text: str = BASE) -> str:
    with pytest.raises(SpecError) as caught:
        parsed(*overrides, text=text)
    return caught.value.message


def test_nested_keys_and_list_items() -> None:
    text = "data: {augment: [{degrees: 5}, {degrees: 6}]}"
    assert changed(text, "data.augment.0.degrees=20") == {
        "data": {"augment": [{"degrees": 20}, {"degrees": 6}]}
    }
    assert changed("a: [1, 2]", "a.1=3") == {"a": [1, 3]}
    assert changed("a: 1", "b.c.d=x", "b.c.e=[1, {f: 2}]") == {
        "a": 1,
        "b": {"c": {"d": "x", "e": [1, {"f": 2}]}},
    }
    assert changed("a:", "a.b=1") == {"a": {"b": 1}}


def test_values_are_yaml_1_2() -> None:
    values = {"3e-4": 3e-4, "1e3": 1000.0, "no": "no", "017": "017", "": None, "'3'": "3"}
    for text, value in values.items():
        assert changed("{}", f"x={text}") == {"x": value}
    assert changed("{}", "x=a=b") == {"x": "a=b"}


def test_later_overrides_win() -> None:
    assert changed("a: 1", "a=2", "a=3") == {"a": 3}


def test_an_alias_elsewhere_keeps_its_value() -> None:
    assert changed("a: &a {x: 1}\nb: *a\nc: {<<: *a}", "b.x=2") == {
        "a": {"x": 1},
        "b": {"x": 2},
        "c": {"x": 1},
    }


def test_below_short_forms() -> None:
    spec = parsed(
        "data.validation=10%",
        "network.hidden=[20, 30]",
        "network.hidden.1=1e1",
        "optimizer.learning_rate=3e-4",
        "optimizer.schedule.final=0.1",
        "expansion.depth.proposals=20",
        text=BASE + "optimizer: {schedule: cosine}\nexpansion: {depth: false}",
    )
    assert spec.data.validation == 0.1
    assert spec.network.hidden == (20, 10)
    assert spec.optimizer.kind == "natural_gradient"
    assert spec.optimizer.learning_rate == 3e-4
    assert spec.optimizer.schedule.kind == "cosine"
    assert spec.optimizer.schedule.final == 0.1
    assert not spec.expansion.depth.enabled
    assert spec.expansion.depth.proposals == 20


def test_one_unit_takes_the_place_of_another() -> None:
    text = BASE + "training: {epochs: 20}\nexpansion: {every: 5 epochs}"
    spec = parsed("training.steps=1e2", "expansion.every.steps=7", text=text)
    assert spec.training.length() == Duration(steps=100)
    assert spec.expansion.every == Duration(steps=7)
    assert "is given beside" in message("training.steps=1", "training.epochs=2")


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("nokey", "should have the form path=value"),
        ("=3", "should have the form path=value"),
        ("data..x=3", "should have the form path=value"),
        ("network.hidden.5=3", "network.hidden.5 does not exist: network.hidden has 2 items"),
        ("network.hidden.x=3", "network.hidden is a list; its items are network.hidden.0"),
        ("expansion.width.rank.x=3", "expansion.width.rank has no keys: it is a single value"),
        ("data.subset.0=3", "data.subset is not written in the spec, so it has no item 0"),
        ("seed=[3", "not valid YAML: a list in brackets that is not closed"),
        ("seed=!x 3", "the value has the tag !x"),
        ("seed={a: 1, a: 2}", "seed.a is given twice"),
        ("optimizer.lerning_rate=1", "optimizer.lerning_rate is unknown; did you mean learning_"),
        ("seed=x", 'seed should be a whole number, found the text "x"'),
        ("expansion.every=5m", "expansion.every should be in steps or epochs"),
    ],
)
def test_faults_name_the_override(override: str, text: str) -> None:
    spec = "data: digits\nnetwork: {kind: mlp, hidden: [1, 2]}\nexpansion: {width: {rank: 3}}"
    assert message(override, text=spec).startswith(f"--set {override}: {text}")


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ({"seed": 3}, "overrides: should be a list of texts"),
        ("seed=3", "overrides: should be a list of texts"),
        ([("seed", 3)], "overrides[0]: should be a text"),
    ],
)
def test_what_python_may_not_give(overrides: Any, text: str) -> None:
    """None of it was written after `--set`."""
    with pytest.raises(SpecError) as error:
        parse_spec(BASE, overrides=overrides)
    assert text in error.value.message
    assert 'overrides=["training.epochs=5"], found' in error.value.message
    assert "--set" not in error.value.message


def test_all_faults_at_once() -> None:
    found = message("seed=x", "nokey", "network.kind=cnn", text=BASE + "devise: cpu").splitlines()
    assert len(found) == 4
    assert found[0] == "s.yaml:3: devise is unknown; did you mean device?"
