"""Short forms: a section as the text that names its kind, and what is meant by other texts."""

from __future__ import annotations

import pytest

from senn_cli.errors import SpecError
from senn_cli.spec import Spec, parse_spec
from senn_cli.spec.describe import alternatives
from senn_cli.spec.expansion import POLICIES

BASE = "data: digits\nnetwork: mlp\n"


def fault(text: str, *overrides: str) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(text, "s.yaml", None, overrides)
    return caught.value.message


def test_a_policy_stands_for_the_section() -> None:
    def growth(text: str, *overrides: str) -> Spec:
        return parse_spec(text, "s.yaml", None, overrides)

    for policy in POLICIES:
        long = growth(BASE + f"expansion: {{policy: {policy}}}")
        assert growth(BASE + f"expansion: {policy}") == long
    dense = "data: digits\nnetwork: densenet\n"
    assert growth(dense + "expansion: senn") == growth(dense)  # its own defaults, too
    assert growth(dense + "expansion: {proposals: null}") == growth(dense)
    set_beside = growth(BASE + "expansion: random", "expansion.threshold=0.5").expansion
    assert (set_beside.policy, set_beside.threshold) == ("random", 0.5)
    assert fault(BASE + "expansion: non") == (
        f"s.yaml:3: expansion.policy should be one of {alternatives(POLICIES)}, found the text "
        '"non"; did you mean none?'
    )


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (BASE + "expansion: false", "`expansion: none`"),
        (BASE + "expansion: true", "`expansion: senn`"),
        (BASE + "training: 20 epochs", "`training: {epochs: 20}`"),
        (BASE + "checkpoints: 5 minutes", "`checkpoints: {every: 5 minutes}`"),
        (
            "data: my table.csv\nnetwork: mlp",
            '`{source: csv, path: "my table.csv", target: COLUMN}`',
        ),
        ("data: my.npz\nnetwork: mlp", '`{source: npz, path: "my.npz"}`'),
        ("data: digit\nnetwork: mlp", "digits"),
        (BASE + "optimizer: adm", "adam"),
    ],
)
def test_what_was_meant_is_guessed(text: str, meant: str) -> None:
    assert fault(text).endswith(f"; did you mean {meant}?")


@pytest.mark.parametrize(
    ("text", "override"),
    [
        ("checkpoints: false", "checkpoints.keep=7"),
        ("expansion: {prune: true}", "expansion.prune.min_width=7"),
        ("track: {tensorboard: true}", "track.tensorboard.directory=7x"),
    ],
)
def test_a_switch_takes_options_beside_it(text: str, override: str) -> None:
    spec = parse_spec(BASE + text, "s.yaml", None, [override])
    assert "7" in repr(spec.checkpoints) + repr(spec.expansion.prune) + repr(spec.track)


def test_no_message_shows_what_pydantic_puts_before_it() -> None:
    from senn_cli.spec.errors import explain

    error = {"type": "value_error", "loc": ("seed",), "input": 3, "msg": "Value error, is odd"}
    (found,) = explain({**error, "ctx": {"error": ValueError("it is odd")}})
    assert found.message == "is wrong: it is odd, found 3"
    (found,) = explain(error)
    assert found.message == "is wrong: is odd, found 3"
