"""The `transfer` section: what it accepts, and what does not go with it."""

from __future__ import annotations

import pytest

from senn_cli.errors import SpecError
from senn_cli.spec import Spec, dump_spec, parse_spec

MINIMAL = "data: digits\nnetwork: mlp\n"


def spec(*overrides: str) -> Spec:
    return parse_spec(MINIMAL, overrides=overrides)


def test_the_defaults() -> None:
    found = spec().transfer
    assert (found.head, found.inputs) == ("zero", "keep")
    assert (found.optimizer, found.curvature) == ("reset", "reset")
    assert found.freeze == ()


def test_a_spec_with_the_section_is_written_and_read_again() -> None:
    one = spec("transfer={head: keep, freeze: [layer 0, map_2]}", "expansion.depth=false")
    assert one.transfer.freeze == ("layer 0", "map_2")
    assert parse_spec(dump_spec(one)) == one


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("transfer.head=none", "transfer.head should be one of zero, fresh or keep"),
        ("transfer.inputs=zero", "transfer.inputs should be"),
        ("transfer.optimizer=true", "transfer.optimizer should be"),
        ("transfer.frezee=[map_0]", "did you mean freeze?"),
        ("transfer.freeze=map_0", "transfer.freeze should be a list"),
        ("transfer.freeze=[map_0, map_0]", "every part to freeze once"),
        ("transfer.freeze=['']", "transfer.freeze"),
    ],
)
def test_faults(override: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec(override)
    assert message in caught.value.message


def test_frozen_parts_and_inserted_layers_exclude_each_other() -> None:
    with pytest.raises(SpecError) as caught:
        spec("transfer.freeze=[map_0]")
    assert "transfer.freeze should be left out while expansion.depth is on" in caught.value.message
    assert spec("transfer.freeze=[map_0]", "expansion.policy=none").transfer.freeze == ("map_0",)
    assert spec("transfer.freeze=[map_0]", "expansion.depth=false").transfer.freeze == ("map_0",)
