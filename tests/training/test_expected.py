"""About how many programs a run compiles, against what runs have compiled."""

from __future__ import annotations

import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.spec import parse_spec
from senn_cli.training.expected import expected_programs
from senn_cli.training.plan import make_plan

MOONS = "name: m\ndata: {source: moons, train: 100, test: 50, validation: 20}\n"
SMALL = MOONS + "network: {kind: mlp, hidden: [3]}\n"


def expected(text: str, *overrides: str) -> int:
    spec = parse_spec(text, overrides=overrides)
    dataset = load_dataset(spec.data, spec.seed)
    validated = dataset.validation is not None
    return expected_programs(spec, make_plan(spec, dataset).start, validated=validated)


def test_without_growth_it_is_exact() -> None:
    """A step, and the loss of every part; KFAC takes the inputs' spectrum, too."""
    adam = ("optimizer={kind: adam}", "expansion={policy: none}")
    assert expected(SMALL, *adam) == 4
    assert expected(SMALL, *adam, "data.validation=0") == 3
    assert expected(SMALL, "expansion={policy: none}") == 5


def test_growth_within_a_capacity_compiles_one_round() -> None:
    """A step, the spectrum and the losses of three parts; a look, two targets, and what searches
    for, computes, scores and appends neurons at one site and layers at two."""
    growth = "expansion={max_hidden: 8, price: 0}", "network.capacity={initial: [8]}"
    assert expected(SMALL, *growth) == 18


@pytest.mark.parametrize(("policy", "programs"), [("gradmax", 1), ("tiny", 2), ("firefly", 1)])
def test_policies_that_aim_have_their_programs_at_every_layer(policy: str, programs: int) -> None:
    """Beside a step and the losses of three parts."""
    growth = f"expansion={{policy: {policy}, max_hidden: 8}}", "optimizer={kind: adam}"
    room = "network.capacity.initial"
    assert expected(SMALL, *growth, f"{room}=[8]") == 4 + programs
    assert expected(SMALL, *growth, "network.hidden=[2, 2]", f"{room}=[8, 8]") == 4 + 2 * programs


def test_on_small_data_no_further_layer_compiles_anything() -> None:
    """One program measures all parts, and of those that a round needs one does for all sites; of
    more layers than one there is a step of their own, of wide ones a search and scores."""
    spec = parse_spec(SMALL)
    start = make_plan(spec, load_dataset(spec.data, spec.seed)).start
    assert expected_programs(spec, start, validated=True, few=True) == 10
    free = parse_spec(SMALL, overrides=("expansion.price=0",))
    assert expected_programs(free, start, validated=True, few=True) == 13
    still = parse_spec(SMALL, overrides=("expansion=none", "optimizer=adam"))
    assert expected_programs(still, start, validated=True, few=True) == 2


def test_another_capacity_compiles_all_again() -> None:
    growth, room = "expansion={{price: {}, max_hidden: {}}}", "network.capacity={initial: [8]}"
    within, once = (expected(SMALL, growth.format(0, most), room) for most in (8, 12))
    assert once == within + 3 + 13  # the losses of three parts, and a round
    # Where parameters have a price nobody knows whether anything will be added.
    assert expected(SMALL, growth.format(1, 12), room) == within


@pytest.mark.parametrize("policy", ["none", "senn"])
def test_a_densenet_is_counted_too(policy: str) -> None:
    text = "name: d\ndata: digits\nnetwork: {kind: densenet, blocks: [[2], [2]]}\n"
    found = expected(text, f"expansion={{policy: {policy}}}", "optimizer={kind: adam}")
    # The order of the examples, a step, and one program that measures all parts.
    assert (found == 3) if policy == "none" else (found > 5)
