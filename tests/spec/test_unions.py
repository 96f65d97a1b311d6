"""An option that nothing reads is refused, with the name of the choice that it belongs to."""

from __future__ import annotations

import pytest

from senn_cli.spec import InvalidSpecError, dump_spec, parse_spec

MLP = "data: digits\nnetwork: mlp\n"
DENSE = "data: cifar10\nnetwork: densenet\n"


def faults(text: str, *overrides: str) -> list[str]:
    try:
        parse_spec(text, "s.yaml", overrides=overrides)
    except InvalidSpecError as error:
        return error.message.splitlines()
    return []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MLP + "expansion: {dormant: {activate: 0.1}}",
            "expansion.dormant is not an option of proposals: search; it belongs to proposals: "
            "dormant",
        ),
        (
            MLP + "expansion: {policy: none, max_hidden: 3}",
            "expansion.max_hidden is not an option of policy: none; it belongs to a policy that "
            "grows",
        ),
        (
            DENSE + "expansion: {samples: 9}",
            "expansion.samples is not an option of proposals: dormant; it belongs to proposals: "
            "search",
        ),
        (
            DENSE + "expansion: {width: {rank: 3}}",
            "expansion.width.rank is not an option of proposals: dormant; it belongs to "
            "proposals: search",
        ),
        (
            DENSE + "expansion: {dormant: {neurons: 3}}",
            "expansion.dormant.neurons is not read here; it belongs to network.kind: mlp",
        ),
        (
            MLP + "expansion: {proposals: dormant, depth: false, samples: 100}",
            "expansion.samples is not an option of proposals: dormant; it belongs to proposals: "
            "search",
        ),
        (
            MLP + "expansion: {policy: dynamic_node_creation, stop: 1}",
            "expansion.stop is not an option of policy: dynamic_node_creation; it belongs to "
            "proposals: search or dormant",
        ),
        (
            MLP + "expansion: {window: 3 steps}",
            "expansion.window is not an option of proposals: search; it belongs to policy: "
            "dynamic_node_creation or splitting",
        ),
        (
            MLP + "expansion: {width: {method: mala, rank: 3}}",
            "expansion.width.rank is not read here; it belongs to method: closed_form",
        ),
        (
            DENSE + "expansion: {proposals: search, depth: {singular_floor: 0.1}}",
            "expansion.depth.singular_floor is not read here; it belongs to network.kind: mlp",
        ),
        (
            DENSE + "expansion: {proposals: search, depth: {polished: 1}}",
            "expansion.depth.polished is not read here; it belongs to network.kind: mlp",
        ),
        (
            DENSE + "expansion: {proposals: search, depth: {method: mala}}",
            "expansion.depth.method is not read here; it belongs to network.kind: mlp",
        ),
        (
            MLP + "expansion: {depth: {per_block: 2}}",
            "expansion.depth.per_block is not read here; it belongs to network.kind: densenet",
        ),
        (
            MLP + "expansion: {policy: random, width: {coefficients: initial}}",
            "expansion.width.coefficients is not read here; it belongs to expansion.policy: senn",
        ),
        (
            MLP + "optimizer: {cg_iterations: 3}",
            "optimizer.cg_iterations is not read here; it belongs to solver: cg",
        ),
        (
            MLP + "optimizer: {preset: paper, invert_every: 3}",
            "optimizer.invert_every is not read here; it belongs to solver: kfac",
        ),
        (
            DENSE + "optimizer: {moving_average: 0.5}",
            "optimizer.moving_average is not read here; it belongs to network.kind: mlp",
        ),
        (
            MLP + "optimizer: {kind: lion, eps: 1e-9}",
            "optimizer.eps is not an option of kind: lion; it belongs to kind: adam, adamw, "
            "rmsprop or muon",
        ),
        (
            MLP + "optimizer: {schedule: {kind: one_cycle, warmup: 3 steps}}",
            "optimizer.schedule.warmup is not read here; "
            "it belongs to kind: constant, cosine or wsd",
        ),
        (
            MLP + "optimizer: {schedule: {kind: cosine, cycles: 2}}",
            "optimizer.schedule.cycles is not read here; it belongs to kind: one_cycle",
        ),
        (
            DENSE + "optimizer: {damping: 0.1}\ncurvature: {damping: 0.2}",
            "optimizer.damping is not read here; it belongs to curvature.damping: null or "
            "optimizer.solver: cg",
        ),
        (
            MLP + "optimizer: {kind: sgd, nesterov: true}",
            "optimizer.nesterov is not read here; it belongs to a momentum above 0",
        ),
        (MLP + "curvature: {stride: 1}", "curvature is not read here; it belongs to network.kind"),
        (
            DENSE + "curvature: {stride: 1}\noptimizer: adam\nexpansion: none",
            "curvature is not read here; it belongs to expansion.policy: senn or random or "
            "optimizer.kind: natural_gradient",
        ),
        (
            DENSE + "curvature: {vectors: 1}",
            "curvature.vectors is not read here; it belongs to method: rank_one",
        ),
        (
            "data: cifar10\nnetwork: {kind: densenet, bud: 3}\nexpansion: none",
            "network.bud is not read here; it belongs to expansion.policy: senn or random",
        ),
    ],
)
def test_what_nothing_reads_is_refused_with_its_home(text: str, message: str) -> None:
    (found,) = faults(text)
    line = 2 if "bud" in text else 3
    assert found.startswith(f"s.yaml:{line}: {message}")


def test_it_is_told_beside_other_faults() -> None:
    text = MLP + "expansion: {samples: 0}\noptimizer: {cg_iterations: 3, lerning_rate: 1}\nseed: x"
    assert [line.split()[1] for line in faults(text)] == [
        "expansion.samples",
        "optimizer.lerning_rate",
        "optimizer.cg_iterations",
        "seed",
    ]


@pytest.mark.parametrize(
    "text",
    [
        MLP + "optimizer: {solver: cg, cg_iterations: 3}",
        MLP + "optimizer: {preset: paper, solver: kfac, invert_every: 3}",
        DENSE + "curvature: {method: rank_one, vectors: 1}",
        DENSE + "curvature: {stride: 1}\nexpansion: none",
        DENSE + "curvature: {stride: 1}\noptimizer: adam",
        DENSE
        + "expansion: {proposals: search, depth: {per_block: 2, max_layers: 6, layer_cost: 8}}",
        # One that is off keeps its options for when it is on again.
        MLP + "expansion: {width: {enabled: false, rank: 3}}",
    ],
)
def test_what_is_read(text: str) -> None:
    assert faults(text) == []


def test_a_resolved_spec_holds_nothing_that_is_not_read() -> None:
    fixed = dump_spec(parse_spec(DENSE + "expansion: none\noptimizer: adam"))
    for name in ("stride:", "capacity:", "bud:", "threshold:", "dormant:", "final:"):
        assert name not in fixed
    assert "proposals: dormant" in dump_spec(parse_spec(DENSE))
    assert "cg_iterations" not in dump_spec(parse_spec(MLP))


def test_switching_growth_off_leaves_the_files_options_aside() -> None:
    text = DENSE.replace("densenet", "{kind: densenet, bud: 3}") + "expansion: {stop: 1, every: 5m}"
    assert len(faults(text)) == 1, "a duration in minutes"
    assert faults(text, "expansion.policy=none") == []
    assert not parse_spec(text, overrides=["expansion.policy=none"]).grows
    # What is itself set beside it is a contradiction.
    (found,) = faults(text, "expansion.policy=none", "expansion.stop=2")
    assert found.startswith("--set expansion.stop=2: expansion.stop is not an option of policy")
