from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.build import make_policy
from senn_cli.growth.policies.none import NoGrowth
from senn_cli.growth.policies.search import SearchGrowth
from senn_cli.growth.policy import Candidate, Site, View, sites
from senn_cli.growth.settings import Settings
from senn_cli.spec import Spec
from tests.densenets import architecture


def test_sites_are_hidden_layers_and_the_narrower_sides_of_maps(nets: Any) -> None:
    shape = nets.architecture(5, [(3, 4, "silu"), (3, 3, "tanh")], 8)
    widened = sites(shape, width=True, depth=False)
    assert [(s.kind, s.index, s.at, str(s)) for s in widened] == [
        ("width", 0, "layer_0", "layer 0"),
        ("width", 1, "layer_1", "layer 1"),
    ]
    deepened = sites(shape, width=False, depth=True)
    assert [(s.kind, s.index, s.at, s.side, str(s)) for s in deepened] == [
        ("depth", 0, "map_0", "outputs", "map 0"),
        ("depth", 1, "map_1", "inputs", "map 1"),
        ("depth", 2, "map_2", "inputs", "map 2"),
    ]
    assert sites(shape, width=True, depth=True) == (*widened, *deepened)
    assert sites(shape, width=False, depth=False) == ()
    linear = nets.architecture(5, [], 8)
    assert [str(s) for s in sites(linear, width=True, depth=True)] == ["map 0"]


def test_where_there_are_buds_they_are_the_sites_of_layers() -> None:
    net = architecture((6, 6, 1), 3, [[(3, 8), (2, 8)], [(4, 8)]], bud=2)
    assert [str(s) for s in sites(net, width=True, depth=True)] == [
        "block 0 bud 0",
        "block 0 layer 0",
        "block 0 bud 1",
        "block 0 layer 1",
        "block 1 bud 0",
        "block 1 layer 0",
    ]


def test_an_addition_raises_the_score_of_the_maps_that_read_it(nets: Any) -> None:
    shape = nets.architecture(5, [(3, 4, "silu"), (3, 3, "tanh")], 8)
    wide, deep = sites(shape, width=True, depth=True)[1::2][:2]
    assert [m.name for m in wide.targets(shape)] == ["map_2"]
    assert [m.name for m in deep.targets(shape)] == ["map_1"]
    net = architecture((6, 6, 1), 3, [[(3, 8), (2, 8)], [(4, 8)]], bud=2)
    first = sites(net, width=True, depth=False)[0]
    assert [m.name for m in first.targets(net)] == ["block_0/layer_1"]  # no bud's map
    bud = sites(net, width=False, depth=True)[0]
    assert [m.name for m in bud.targets(net)] == ["block_0/layer_0"]


def test_the_architecture_after_an_addition(nets: Any) -> None:
    shape = nets.architecture(5, [(3, 4, "silu"), (3, 3, "tanh")], 8)
    after = [site.after(shape) for site in sites(shape, width=True, depth=True)]
    assert [a.widths for a in after] == [(4, 3), (3, 4), (3, 3, 3), (3, 3, 3), (3, 3, 3)]
    assert [a.capacities for a in after[:2]] == [(4, 3), (4, 4)]
    net = architecture((6, 6, 1), 3, [[(3, 8), (2, 8)], [(4, 8)]], bud=2)
    grown = [site.after(net) for site in sites(net, width=False, depth=True)]
    assert [[len(b) for b in g.blocks] for g in grown] == [[3, 1], [3, 1], [2, 2]]
    assert grown[1].widths == (3, 2, 2, 4)


def test_limits(nets: Any) -> None:
    free = Settings(threshold=0.0, stop=0.0, noise=0.0)
    shape = nets.architecture(5, [(3, 4, "silu"), (2, 3, "tanh")], 8)
    wide, narrow, *deep = (site.after(shape) for site in sites(shape, width=True, depth=True))
    assert all(free.allows(shape, after) for after in (wide, narrow, *deep))
    for changes, allowed in (
        ({"max_hidden": 6}, [True, True, False, False, False]),
        ({"max_hidden": 5}, [False] * 5),
        ({"max_width": 3}, [False, True, True, True, True]),
        ({"max_layers": 2}, [True, True, False, False, False]),
        ({"per_block": 2}, [True, True, False, False, False]),
        ({"max_parameters": shape.parameters}, [False] * 5),
    ):
        settings = replace(free, **changes)  # type: ignore[arg-type]
        assert [settings.allows(shape, a) for a in (wide, narrow, *deep)] == allowed, changes


def test_a_candidate_s_line_has_plain_values() -> None:
    layer = Site("width", 0, "layer_0", "layer 0")
    line = Candidate(layer, 0.3, 0.2, 0.01, 0.5, 0.3, 0.6, True).to_json()
    assert line == {
        "kind": "width",
        "layer": 0,
        "site": "layer 0",
        "delta_eta": 0.3,
        "delta_eta_lower": 0.2,
        "bias": 0.01,
        "eta": 0.5,
        "score": 0.3,
        "ratio": 0.6,
        "passes": True,
    }


def test_a_ratio_to_nothing_has_no_number_in_json() -> None:
    layer = Site("width", 0, "layer_0", "layer 0")
    candidate = Candidate(layer, 0.3, 0.2, 0.01, 0.0, 0.3, float("inf"), True)
    assert candidate.to_json()["ratio"] is None


def policy_of(expansion: Any) -> Any:
    spec = Spec.model_validate({"data": "mnist", "network": "mlp", "expansion": expansion})
    return make_policy(spec, CLASSIFICATION, "softmax", Ledger())


def test_no_growth_decides_nothing(nets: Any) -> None:
    view: Any = View(
        architecture=nets.architecture(2, [(1, 1, "silu")], 1),
        params={},
        widths=np.asarray([1]),  # type: ignore[arg-type]
        data=None,  # type: ignore[arg-type]
        seed=0,
        step=0,
        asked=0,
        added=0,
        every=1,
        per_epoch=1,
        layer_allowed=True,
        input_spectrum=None,
    )
    round_ = NoGrowth().decide(view)
    assert round_.decisions == () and round_.finished


@pytest.mark.parametrize("name", ["senn", "random"])
def test_a_policy_is_made_from_its_section(name: str) -> None:
    width = {"proposals": 5, "polished": 5, "per_round": 3, "max_width": 17}
    policy = policy_of(
        {
            "policy": name,
            "threshold": 0.5,
            "stop": 0.1,
            "noise": 2.0,
            "samples": 99,
            "score_on": "searched",
            "bias_removed": False,
            "max_hidden": 20,
            "max_parameters": 100000,
            "width": width | ({"coefficients": "initial"} if name == "senn" else {}),
            "depth": {"layer_cost": 2.0, "max_layers": 3, "singular_floor": 0.1},
        }
    )
    assert isinstance(policy, SearchGrowth)
    s = policy.settings
    assert (s.threshold, s.stop, s.noise) == (0.5, 0.1, 2.0)
    assert (s.samples, s.held_out) == (99, False)
    assert (s.bias_removed, s.max_hidden, s.max_parameters) == (False, 20, 100000)
    assert (s.per_round, s.max_width, s.initial_coefficients) == (3, 17, name == "senn")
    assert (s.layer_cost, s.max_layers, s.singular_floor) == (2.0, 3, 0.1)
    assert s.weights == ("score" if name == "senn" else "random")
    assert (s.width.proposals, s.width.polished) == (5, 5)


def test_switched_off_parts_add_nothing() -> None:
    policy = policy_of({"width": False, "depth": False, "prune": True})
    assert isinstance(policy, SearchGrowth)
    assert not policy.settings.widens and not policy.settings.deepens
    assert isinstance(policy_of("none"), NoGrowth)
