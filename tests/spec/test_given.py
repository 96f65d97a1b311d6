"""Policies of given times and places: what of a spec they refuse, by name."""

from __future__ import annotations

import pytest

from senn_cli.spec import InvalidSpecError, parse_spec

MLP = "data: digits\nnetwork: {kind: mlp, hidden: [3, 4]}\n"


def fault(text: str) -> str:
    with pytest.raises(InvalidSpecError) as found:
        parse_spec(text, "s.yaml")
    (line,) = found.value.message.splitlines()
    return line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MLP + "expansion: {policy: dynamic_node_creation, width: {layers: [0, 2]}}",
            "s.yaml:3: expansion.width.layers should be numbers of the 2 layers of "
            "network.hidden, from 0, found 2",
        ),
        (
            MLP + "expansion: {policy: dynamic_node_creation, max_hidden: 6}",
            "s.yaml:3: expansion.max_hidden should be at least 7",
        ),
        (
            MLP + "expansion: {policy: dynamic_node_creatoin}",
            "s.yaml:3: expansion.policy should be one of senn, random, none",
        ),
        (
            "data: digits\nnetwork: {kind: mlp, hidden: []}\nexpansion: dynamic_node_creation",
            "s.yaml:2: network.hidden should have a layer for expansion.policy "
            "dynamic_node_creation to widen, found []",
        ),
        (
            "data: digits\nnetwork: densenet\nexpansion: splitting",
            "s.yaml:3: expansion.policy splitting does not serve a network of kind densenet, "
            "which has convolutions",
        ),
        (
            "data: digits\nnetwork: {kind: mlp, activation: relu}\nexpansion: splitting",
            "s.yaml:3: expansion.policy splitting needs an activation with a second derivative, "
            "which network.activation relu lacks",
        ),
        (
            "data: digits\nnetwork: densenet\nexpansion: gradmax",
            "s.yaml:3: expansion.policy gradmax does not serve a network of kind densenet, "
            "which has convolutions",
        ),
        (
            "data: digits\nnetwork: {kind: mlp, activation: relu}\nexpansion: tiny",
            "s.yaml:3: expansion.policy tiny does not serve relu, as it takes new neurons for "
            "linear at 0: take another policy, or one of gelu, identity, rational, silu or tanh",
        ),
        (
            "data: digits\nnetwork: densenet\nexpansion: {policy: net2net, depth: true}",
            "s.yaml:3: expansion.depth should be off for a network of kind densenet",
        ),
        (
            MLP + "expansion: {policy: net2net, width: false}",
            "s.yaml:3: expansion.policy should not be net2net when width, depth and prune are all "
            "switched off",
        ),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    assert fault(text).startswith(message)


def test_a_policy_by_its_name_alone() -> None:
    spec = parse_spec(MLP + "expansion: dynamic_node_creation")
    assert (spec.expansion.policy, spec.proposals, spec.grows) == (
        "dynamic_node_creation",
        None,
        True,
    )


def test_another_policy_leaves_the_files_options_aside() -> None:
    text = MLP + "expansion: {policy: dynamic_node_creation, window: 3 steps, max_hidden: 9}"
    spec = parse_spec(text, overrides=["expansion.policy=random"])
    assert spec.growth is not None
    assert (spec.expansion.policy, spec.growth.max_hidden) == ("random", 9)
