"""The `checkpoints` section: its short forms, its faults, and what it has to do with the data."""

from __future__ import annotations

import pytest
import yaml

from senn_cli.spec import (
    CheckpointsSpec,
    Duration,
    InvalidSpecError,
    dump_spec,
    json_schema,
    parse_spec,
)

BASE = "data: digits\nnetwork: mlp\n"


def section(text: str) -> CheckpointsSpec:
    return parse_spec(f"{BASE}checkpoints: {text}\n", "s.yaml").checkpoints


def faults(text: str, base: str = BASE) -> list[str]:
    try:
        parse_spec(f"{base}checkpoints: {text}\n", "s.yaml")
    except InvalidSpecError as error:
        return error.message.splitlines()
    return []


def test_defaults() -> None:
    spec = parse_spec(BASE, "s.yaml").checkpoints
    assert spec.enabled
    assert spec.every == Duration(minutes=5)
    assert not spec.growth
    assert spec.keep == 3
    assert spec.best is None
    assert spec.keep_every is None


def test_switched_off_and_on() -> None:
    assert section("false") == CheckpointsSpec(enabled=False)
    assert section("true") == section("{}") == CheckpointsSpec()
    assert not section("{enabled: false, keep: 5}").enabled


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("{every: {minutes: 0.5}}", Duration(minutes=0.5)),
        ("{every: 5m}", Duration(minutes=5)),
        ("{every: 30 min}", Duration(minutes=30)),
        ("{every: 1e3 steps}", Duration(steps=1000)),
        ("{every: {epochs: 2}}", Duration(epochs=2)),
    ],
)
def test_any_unit_between_checkpoints(text: str, every: Duration) -> None:
    assert section(text).every == every


def test_every_option_is_written_and_read_again() -> None:
    text = "{every: 100 steps, growth: true, keep: 1e1, best: train_loss, keep_every: 9 epochs}"
    spec = parse_spec(f"{BASE}checkpoints: {text}\n", "s.yaml")
    written = dump_spec(spec)
    assert yaml.safe_load(written)["checkpoints"] == {
        "enabled": True,
        "every": {"steps": 100},
        "growth": True,
        "keep": 10,
        "best": "train_loss",
        "keep_every": {"epochs": 9},
    }
    assert parse_spec(written, "s.yaml") == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{keep: 0}", "s.yaml:3: checkpoints.keep should be at least 1, found 0"),
        ("{keep: true}", "s.yaml:3: checkpoints.keep should be a whole number, found true"),
        ("{kep: 2}", "s.yaml:3: checkpoints.kep is unknown; did you mean keep?"),
        ("{every: 0 steps}", "s.yaml:3: checkpoints.every.steps should be at least 1, found 0"),
        ("{every: 3}", "s.yaml:3: checkpoints.every should be a duration"),
        ("{every: null}", "s.yaml:3: checkpoints.every should be a duration"),
        (
            "{keep_every: 5 minutes}",
            "checkpoints.keep_every should be in steps or epochs, found minutes",
        ),
        ("{best: validation_acuracy}", "did you mean validation_accuracy?"),
        ("{best: true}", "s.yaml:3: checkpoints.best should be one of train_loss, "),
        ("3", "s.yaml:3: checkpoints should be a mapping, found 3"),
        ("null", "s.yaml:3: checkpoints is empty; leave it out to take the defaults"),
    ],
)
def test_faults(text: str, message: str) -> None:
    (found,) = faults(text)
    assert message in found


REGRESSION = "data: regression\nnetwork: mlp\n"
NO_VALIDATION = "data: {source: digits, validation: 0}\nnetwork: mlp\n"


@pytest.mark.parametrize(
    ("base", "best", "message"),
    [
        (
            REGRESSION,
            "validation_accuracy",
            "checkpoints.best should not be validation_accuracy: the task of data.source "
            "regression is a regression, which has validation_mse",
        ),
        (
            BASE,
            "validation_mse",
            "checkpoints.best should not be validation_mse: the task of data.source digits is a "
            "classification, which has validation_accuracy",
        ),
        (
            NO_VALIDATION,
            "validation_loss",
            "checkpoints.best should not be validation_loss when data.validation is 0; train_loss "
            "needs no validation part",
        ),
    ],
)
def test_a_metric_that_the_run_does_not_have(base: str, best: str, message: str) -> None:
    assert faults(f"{{best: {best}}}", base) == [f"s.yaml:3: {message}"]


@pytest.mark.parametrize(
    ("base", "best"),
    [
        (REGRESSION, "validation_mse"),
        (NO_VALIDATION, "train_loss"),
        (BASE, "validation_accuracy"),
        (BASE, "null"),
    ],
)
def test_a_metric_that_the_run_has(base: str, best: str) -> None:
    assert faults(f"{{best: {best}}}", base) == []


def test_faults_between_keys_are_found_beside_others() -> None:
    found = faults("{best: validation_mse, keep: 0}")
    assert sorted(line.split()[1] for line in found) == ["checkpoints.best", "checkpoints.keep"]


def test_an_override_reaches_it() -> None:
    spec = parse_spec(BASE, "s.yaml", None, ["checkpoints.every=2m", "checkpoints.keep=7"])
    assert spec.checkpoints == CheckpointsSpec(every=Duration(minutes=2), keep=7)
    off = parse_spec(BASE, "s.yaml", None, ["checkpoints=false"])
    assert off.checkpoints == CheckpointsSpec(enabled=False)


def test_the_schema_knows_the_short_forms() -> None:
    schema = json_schema()
    assert schema["properties"]["checkpoints"]["anyOf"][1]["type"] == "boolean"
    fields = schema["$defs"]["CheckpointsSpec"]["properties"]
    assert "minutes" in fields["every"]["anyOf"][1]["pattern"]
    assert "minutes" not in str(fields["keep_every"])
