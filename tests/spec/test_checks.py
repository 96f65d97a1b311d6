"""Faults between keys, each found in a spec whose keys are valid one by one."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from senn_cli.spec import InvalidSpecError, Spec, dump_spec, parse_spec

REGRESSION = "data: regression\nnetwork: mlp\n"
BASE = "data: digits\nnetwork: {kind: mlp, hidden: [3, 4]}\n"


def faults(text: str) -> list[str]:
    try:
        parse_spec(text, "s.yaml")
    except InvalidSpecError as error:
        return [line.partition(": ")[2] for line in error.message.splitlines()]
    return []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "data: digits\nnetwork: {kind: mlp, hidden: [3, 4], capacity: {initial: [8]}}",
            "network.capacity.initial should have one capacity a hidden layer, 2 for "
            "network.hidden, found 1",
        ),
        (
            "data: digits\nnetwork: {kind: mlp, hidden: [3, 4], capacity: {initial: [8, 3]}}",
            "network.capacity.initial.1 should be at least network.hidden.1, 4, found 3",
        ),
        (
            REGRESSION + "optimizer: {metric: softmax}",
            "optimizer.metric should not be softmax, the metric of a classification",
        ),
        (
            BASE + "optimizer: {metric: gaussian}",
            "optimizer.metric should not be gaussian, the metric of a regression",
        ),
        (
            "data: {source: npz, path: x, task: regression}\nnetwork: mlp\n"
            "optimizer: {metric: softmax}",
            "optimizer.metric should not be softmax",
        ),
        (
            BASE + "expansion: {max_hidden: 6}",
            "expansion.max_hidden should be at least 7, the sum of network.hidden, found 6",
        ),
        (
            BASE + "expansion: {width: {max_width: 3}}",
            "expansion.width.max_width should be at least 4, the largest of network.hidden",
        ),
        (
            BASE + "expansion: {depth: {max_layers: 1}}",
            "expansion.depth.max_layers should be at least 2, the layers of network.hidden",
        ),
        (
            BASE + "expansion: {width: false, depth: false}",
            "expansion.policy should not be senn when width, depth and prune are all switched off, "
            "as nothing can change; write `policy: none` for a fixed architecture",
        ),
        (
            "data: moons\nnetwork: {kind: mlp, hidden: []}\nexpansion: {depth: false}",
            "expansion.depth should not be switched off when network.hidden is empty",
        ),
        (
            BASE + "expansion: {width: {proposals: 3, polished: 4}}",
            "expansion.width.polished should be at most expansion.width.proposals, 3, found 4",
        ),
        (
            BASE + "expansion: {start: 3 epochs, until: 2 epochs}",
            "expansion.until should not come before expansion.start, 3 epochs, found 2 epochs",
        ),
        (
            BASE + "expansion: {every: 3 epochs, thin_to: 2 epochs}",
            "expansion.thin_to should be at least expansion.every, 3 epochs, found 2 epochs",
        ),
        (
            BASE + "optimizer: {schedule: {kind: cosine, warmup: 30 epochs}}",
            "optimizer.schedule.warmup should not be longer than training, 20 epochs",
        ),
        (
            "data: {source: npz, path: x, test_path: y, test: 0.1}\nnetwork: mlp",
            "data.test should be left out when data.test_path names the test set",
        ),
        (
            "data: {source: digits, test: 0.5, validation: 50%}\nnetwork: mlp",
            "data.validation should leave something to train on",
        ),
        (
            "data: {source: moons, train: 50, validation: 50}\nnetwork: mlp",
            "data.validation should be below data.train, 50",
        ),
    ],
)
def test_faults_between_keys(text: str, message: str) -> None:
    (found,) = faults(text)
    assert found.startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        REGRESSION + "optimizer: {metric: gaussian}",
        REGRESSION + "optimizer: {metric: euclidean}",
        BASE + "optimizer: {metric: softmax}",
        BASE + "expansion: {max_hidden: 7}",
        BASE + "expansion: {policy: none}",
        BASE + "expansion: {width: {enabled: false, max_width: 1, polished: 9, proposals: 1}}",
        BASE + "expansion: {start: 3 epochs, until: 2 steps}",
        BASE + "expansion: {every: 3 epochs, thin_to: 2 steps}",
        "data: digits\nnetwork: {kind: mlp, activation: tanh, hidden: []}",
        "data: {source: npz, path: x, test_path: y}\nnetwork: mlp",
    ],
)
def test_what_is_fine(text: str) -> None:
    assert faults(text) == []


def test_they_are_found_beside_other_faults() -> None:
    found = faults(BASE + "seed: x\nexpansion: {max_hidden: 1, samples: 0, start: 3}")
    assert sorted(line.split()[0] for line in found) == [
        "expansion.max_hidden",
        "expansion.samples",
        "expansion.start",
        "seed",
    ]


def test_what_is_wrong_already_makes_no_second_fault() -> None:
    # With the faulty item taken out, the lengths would differ.
    text = "data: digits\nnetwork: {kind: mlp, hidden: [3, x], capacity: {initial: [3, 4]}}"
    assert len(faults(text)) == 1
    assert len(faults("data: digitz\nnetwork: mlp\noptimizer: {metric: gaussian}")) == 1


def test_python_users_hear_of_them_too() -> None:
    with pytest.raises(ValidationError, match=r"expansion\.max_hidden should be at least 10"):
        Spec.model_validate(
            {
                "data": {"source": "digits"},
                "network": {"kind": "mlp"},
                "expansion": {"max_hidden": 3},
            }
        )


@pytest.mark.parametrize("network", ["densenet", "{kind: densenet}", "{kind: mlp}"])
def test_dormant_proposals_have_the_papers_defaults(network: str) -> None:
    dormant = "" if "densenet" in network else "expansion: {proposals: dormant, depth: false}\n"
    spec = parse_spec(f"data: cifar10\nnetwork: {network}\n{dormant}")
    found = spec.expansion
    assert (spec.proposals, found.threshold, found.stop) == ("dormant", 3e-4, 0.0)
    assert str(found.every) == "20 steps"
    changed = parse_spec(
        f"data: cifar10\nnetwork: {network}\n"
        "expansion: {proposals: dormant, depth: false, threshold: 0.5}"
    )
    assert (changed.expansion.threshold, changed.expansion.stop) == (0.5, 0.0)
    searched = parse_spec("data: moons\nnetwork: mlp")
    assert (searched.proposals, searched.expansion.threshold) == ("search", 7e-3)
    assert parse_spec(dump_spec(spec)) == spec
