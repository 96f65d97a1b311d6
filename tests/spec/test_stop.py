"""`training.stop`: its short form, its faults, and what it has to do with the rest of a spec."""

from __future__ import annotations

import pytest
import yaml

from senn_cli.spec import InvalidSpecError, dump_spec, json_schema, parse_spec
from senn_cli.spec.training import StopSpec

BASE = "data: digits\nnetwork: mlp\n"
NO_VALIDATION = "data: {source: digits, validation: 0}\nnetwork: mlp\n"


def section(text: str) -> StopSpec | None:
    return parse_spec(f"{BASE}training: {{stop: {text}}}\n", "s.yaml").training.stop


def faults(text: str, base: str = BASE) -> list[str]:
    try:
        parse_spec(f"{base}{text}\n", "s.yaml")
    except InvalidSpecError as error:
        return error.message.splitlines()
    return []


def test_off_by_default_and_short_forms() -> None:
    assert section("null") is None
    assert parse_spec(BASE).training.stop is None
    short = section("validation_loss")
    assert short == section("{metric: validation_loss}") == StopSpec(metric="validation_loss")
    assert short is not None
    assert (short.patience, short.min_delta, short.restore) == (10, 0, True)


def test_every_option_is_written_and_read_again() -> None:
    stop = {"metric": "train_loss", "patience": 3, "min_delta": 0.001, "restore": False}
    spec = parse_spec(f"{BASE}training: {{stop: {stop}}}\n".replace("False", "false"))
    written = dump_spec(spec)
    assert yaml.safe_load(written)["training"]["stop"] == stop
    assert parse_spec(written) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stop: validation_los", "did you mean validation_loss?"),
        ("stop: {patience: 3}", "training.stop.metric"),
        ("stop: {metric: train_loss, patience: 0}", "patience should be at least 1, found 0"),
        ("stop: {metric: train_loss, patience: 1e21}", "training.stop.patience should be at most"),
        ("stop: {metric: train_loss, min_delta: -1}", "min_delta should be at least 0, found -1"),
        ("stop: true", "training.stop should be"),
        (
            "stop: {metric: train_loss, patience: null, restore: false}",
            "training.stop.restore should be true where training.stop.patience is null, or nothing "
            "comes of it; `checkpoints.best: train_loss` keeps the best network beside the last",
        ),
        (
            "stop: validation_mse",
            "training.stop should not be validation_mse: the task of data.source digits is a "
            "classification, which has validation_accuracy",
        ),
    ],
)
def test_faults(text: str, message: str) -> None:
    (found,) = faults(f"training: {{{text}}}")
    assert found.startswith("s.yaml:3: ")
    assert message in found


def test_without_a_validation_part_nothing_of_it_can_be_watched() -> None:
    (found,) = faults("training: {stop: validation_loss}", NO_VALIDATION)
    assert found == (
        "s.yaml:3: training.stop should not be validation_loss when data.validation is 0; "
        "train_loss needs no validation part"
    )
    assert faults("training: {stop: train_loss}", NO_VALIDATION) == []


def test_a_run_has_one_best_evaluation() -> None:
    (found,) = faults("training: {stop: validation_loss}\ncheckpoints: {best: train_loss}")
    assert found == (
        "s.yaml:4: checkpoints.best is not read here; it belongs to training.stop: null"
    )


def test_the_schema_knows_the_short_form() -> None:
    full, short, nothing = json_schema()["$defs"]["TrainingSpec"]["properties"]["stop"]["anyOf"]
    assert full["$ref"].endswith("StopSpec")
    assert "validation_loss" in short["enum"]
    assert nothing == {"type": "null"}
