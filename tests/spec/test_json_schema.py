"""The JSON schema is one, and accepts and refuses what the program does."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from senn_cli.spec import InvalidSpecError, dump_spec, json_schema, parse_spec
from senn_cli.spec.nodes import plain
from senn_cli.spec.template import template_text, templates
from senn_cli.spec.yaml import read_yaml
from senn_cli.sweep.read import is_sweep

FILES = sorted((Path(__file__).parents[2] / "specs").glob("*.yaml"))
SPECS = [path for path in FILES if not is_sweep(path)]
START = "data: digits\nnetwork: mlp\n"


@cache
def validator() -> Any:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def complaints(text: str) -> list[str]:
    """What a JSON Schema validator says of a spec, which is read as YAML 1.2."""
    return [error.message for error in validator().iter_errors(plain(read_yaml(text)[0]))]


def test_the_schema_has_the_keywords_of_json_schema_alone() -> None:
    def walk(schema: Any) -> None:
        if isinstance(schema, list):
            for inner in schema:
                walk(inner)
        if isinstance(schema, dict):
            if schema.get("type") in ("integer", "number", "array"):
                known = {
                    *("type", "title", "description", "default", "minimum", "maximum"),
                    *("exclusiveMinimum", "exclusiveMaximum", "items", "prefixItems", "minItems"),
                    *("maxItems", "enum"),
                }
                assert set(schema) <= known
            for inner in schema.values():
                walk(inner)

    walk(validator().schema)


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_it_accepts_the_specs_of_the_repository(path: Path) -> None:
    assert complaints(path.read_text("utf-8")) == []


@pytest.mark.parametrize("name", sorted(templates()))
def test_it_accepts_the_templates_and_what_they_resolve_to(name: str) -> None:
    text = template_text(name)
    assert complaints(text) == []
    assert complaints(dump_spec(parse_spec(text, "s.yaml"))) == []
    assert yaml.safe_load(dump_spec(parse_spec(text, "s.yaml")))


@pytest.mark.parametrize(
    "text",
    [
        START + "training: {steps: 1e3, batch_size: 1e2, evaluate: 10 steps}",
        START + "training: {batch_size: auto}",
        START + "checkpoints: false",
        START + "checkpoints: {every: 5m}",
        START + "expansion: {width: false, every: {steps: 3}, policy: random}",
        START + "expansion: {policy: none}",
        START + "optimizer: {kind: muon, beta: 0.9}",
        START + "optimizer: {preset: paper, cg_iterations: 20}",
        "data: cifar10\nnetwork: densenet\ncurvature: {method: rank_one, vectors: 2}",
        "data: cifar10\nnetwork: densenet\nexpansion: {stop: 1, dormant: {slow: 0.1}}",
        START + "optimizer: adam",
        "data: {source: cifar10, augment: paper, channels: 1}\nnetwork: densenet",
        "data: {source: cifar10, augment: [flip, {kind: pad}, crop]}\nnetwork: densenet",
        "data: {source: digits, subset: 10%, test: 0.5}\nnetwork: {kind: mlp, hidden: []}",
        "data: {source: tiny_imagenet, classes: 5}\nnetwork: {kind: densenet, bud: 0}",
    ],
)
def test_it_accepts_what_the_program_does(text: str) -> None:
    parse_spec(text, "s.yaml")
    assert complaints(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "data: digits",
        "data: digit\nnetwork: mlp",
        START + "seed: -1",
        START + "seed: 4294967296",
        START + "seed: 1.5",
        START + "training: {steps: 0}",
        START + "training: {batch_size: 0}",
        START + "training: {batch_size: some}",
        START + "training: {epochs: -1}",
        START + "optimizer: {kind: adam, learning_rate: 0}",
        START + "optimizer: {kind: adam, b1: 1}",
        START + "optimizer: {invert_every: 0}",
        START + "optimizer: {invert_every: 1e21}",
        START + "optimizer: {kind: lyon}",
        START + "optimizer: {solver: cg, invert_every: 3}",
        START + "optimizer: {kind: adam, schedule: {kind: cosine, cycles: 2}}",
        START + "expansion: {policy: none, threshold: 1}",
        START + "expansion: {dormant: {}, proposals: search}",
        START + "expansion: {width: {temperature: 1}}",
        START + "curvature: {stride: 1}",
        "data: cifar10\nnetwork: {kind: densenet, bud: 3}\nexpansion: none",
        "data: cifar10\nnetwork: densenet\noptimizer: {fixed_input_factor: true}",
        START + "expansion: {policy: grow}",
        START + "expansion: {width: {proposals: 0}}",
        START + "expansion: {every: 3 hours}",
        START + "checkpoints: {keep: 0}",
        START + "unknown: 1",
        "data: digits\nnetwork: {kind: mlp, hidden: [0]}",
        "data: digits\nnetwork: {kind: mlp, hidden: [1e12]}",
        "data: digits\nnetwork: {kind: densenet, blocks: []}",
        "data: digits\nnetwork: {kind: densenet, blocks: [[]]}",
        "data: {source: digits, subset: 2.5}\nnetwork: mlp",
        "data: {source: moons, train: 0}\nnetwork: mlp",
        "data: {source: cifar10, channels: 2}\nnetwork: mlp",
        "data: {source: tiny_imagenet, classes: 1}\nnetwork: mlp",
    ],
)
def test_it_refuses_what_the_program_does(text: str) -> None:
    with pytest.raises(InvalidSpecError):
        parse_spec(text, "s.yaml")
    assert complaints(text)
