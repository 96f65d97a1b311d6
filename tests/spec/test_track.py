"""The `track` section: its short forms, its faults, and what paths in it mean."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from senn_cli.spec import InvalidSpecError, dump_spec, json_schema, parse_spec
from senn_cli.spec.track import MLflowSpec, TensorBoardSpec, TrackSpec, WandbSpec

BASE = "data: digits\nnetwork: mlp\n"


def section(text: str, base: Path | None = None) -> TrackSpec:
    return parse_spec(f"{BASE}track: {text}\n", "s.yaml", base).track


def faults(text: str) -> list[str]:
    try:
        section(text)
    except InvalidSpecError as error:
        return error.message.splitlines()
    return []


def test_all_are_off_by_default() -> None:
    for track in (parse_spec(BASE, "s.yaml").track, section("{}")):
        assert not (track.tensorboard.enabled or track.mlflow.enabled or track.wandb.enabled)


def test_written_is_on() -> None:
    assert section("{tensorboard: true}").tensorboard == TensorBoardSpec()
    assert section("{mlflow: {}}").mlflow == MLflowSpec()
    assert section("{wandb: {mode: offline}}").wandb == WandbSpec(mode="offline")
    assert TensorBoardSpec().enabled and MLflowSpec().enabled and WandbSpec().enabled
    assert not section("{wandb: false}").wandb.enabled
    assert not section("{wandb: {enabled: false, project: p}}").wandb.enabled
    assert not section("{wandb: true}").mlflow.enabled


def test_defaults() -> None:
    assert TensorBoardSpec().directory is None
    assert (MLflowSpec().uri, MLflowSpec().experiment) == (None, "senn")
    assert (WandbSpec().project, WandbSpec().entity, WandbSpec().mode) == ("senn", None, None)


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("sqlite:///mlflow.db", "sqlite:////base/mlflow.db"),
        ("sqlite:///../mlflow.db", "sqlite:////mlflow.db"),
        ("sqlite:////data/mlflow.db", "sqlite:////data/mlflow.db"),
        ("http://localhost:5000", "http://localhost:5000"),
        ("https://user@host/mlflow", "https://user@host/mlflow"),
        ("databricks", "databricks"),
    ],
)
def test_paths_are_relative_to_the_spec(uri: str, found: str) -> None:
    assert section(f"{{mlflow: {{uri: '{uri}'}}}}", Path("/base")).mlflow.uri == found


def test_the_directory_is_relative_to_the_spec() -> None:
    track = section("{tensorboard: {directory: tb}}", Path("/base"))
    assert track.tensorboard.directory == Path("/base/tb")


def test_every_option_is_written_and_read_again() -> None:
    text = (
        "{tensorboard: {directory: /tb}, mlflow: {uri: 'sqlite:////m.db', experiment: e}, "
        "wandb: {project: p, entity: me, mode: offline}}"
    )
    spec = parse_spec(f"{BASE}track: {text}\n", "s.yaml")
    written = dump_spec(spec)
    assert yaml.safe_load(written)["track"] == {
        "tensorboard": {"enabled": True, "directory": "/tb"},
        "mlflow": {"enabled": True, "uri": "sqlite:////m.db", "experiment": "e"},
        "wandb": {"enabled": True, "project": "p", "entity": "me", "mode": "offline"},
    }
    assert parse_spec(written, "s.yaml") == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{tensorbord: true}", "s.yaml:3: track.tensorbord is unknown; did you mean tensorboard?"),
        (
            "{wandb: {projekt: x}}",
            "s.yaml:3: track.wandb.projekt is unknown; did you mean project?",
        ),
        ("{wandb: {mode: off-line}}", "s.yaml:3: track.wandb.mode should be one of online or "),
        (
            "{wandb: {project: 3}}",
            "track.wandb.project should be a text that is not empty, found 3",
        ),
        ("{wandb: {project: a/b}}", "track.wandb.project should have none of / "),
        ("{wandb: {entity: ''}}", "track.wandb.entity should be a text that is not empty"),
        ("{mlflow: {experiment: ' '}}", "track.mlflow.experiment should be a text that is not"),
        (
            "{mlflow: {uri: 5000}}",
            "track.mlflow.uri should be a text that is not empty, found 5000",
        ),
        ("{mlflow: {uri: 'http://[x'}}", "track.mlflow.uri should be a URI, found"),
        ("{mlflow: 1}", "s.yaml:3: track.mlflow should be a mapping, found 1"),
        ("{mlflow: null}", "s.yaml:3: track.mlflow is empty; leave it out to take the defaults"),
        ("true", "s.yaml:3: track should be a mapping, found true"),
        ("{tensorboard: {directory: 3}}", "track.tensorboard.directory should be the path of a"),
    ],
)
def test_faults(text: str, message: str) -> None:
    (found,) = faults(text)
    assert message in found


def test_a_password_is_refused_and_not_repeated() -> None:
    (found,) = faults("{mlflow: {uri: 'postgresql://me:hunter2@host/db'}}")
    assert "track.mlflow.uri should hold no password" in found
    assert "MLFLOW_TRACKING_URI" in found
    assert "hunter2" not in found


def test_an_override_reaches_it() -> None:
    spec = parse_spec(BASE, "s.yaml", None, ["track.tensorboard=true", "track.wandb.project=p"])
    assert spec.track == TrackSpec(tensorboard=TensorBoardSpec(), wandb=WandbSpec(project="p"))


def test_the_schema_knows_the_short_forms() -> None:
    fields = json_schema()["$defs"]["TrackSpec"]["properties"]
    assert {name: field["anyOf"][1]["type"] for name, field in fields.items()} == dict.fromkeys(
        ("tensorboard", "mlflow", "wandb"), "boolean"
    )
