from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from senn_cli.engine.programs import Ledger
from senn_cli.growth.build import make_policy
from senn_cli.growth.policy import Candidate, NoGrowth, Site, View, sites
from senn_cli.growth.senn import SennPolicy
from senn_cli.spec.expansion import FixedSpec, SearchSpec
from senn_cli.spec.growth import DepthSearchSpec, WidthSearchSpec


def test_sites_are_hidden_layers_and_the_narrower_sides_of_maps(nets: Any) -> None:
    shape = nets.architecture(5, [(3, 4, "silu"), (3, 3, "tanh")], 8)
    assert sites(shape, width=True, depth=False) == (Site("width", 0), Site("width", 1))
    assert sites(shape, width=False, depth=True) == (
        Site("depth", 0, "outputs"),
        Site("depth", 1, "inputs"),
        Site("depth", 2, "inputs"),
    )
    assert len(sites(shape, width=True, depth=True)) == 5
    assert sites(shape, width=False, depth=False) == ()
    linear = nets.architecture(5, [], 8)
    assert sites(linear, width=True, depth=True) == (Site("depth", 0, "inputs"),)


def test_a_site_names_the_map_whose_score_it_raises() -> None:
    assert (Site("width", 1).target, str(Site("width", 1))) == (2, "layer 1")
    depth = Site("depth", 1, "inputs")
    assert (depth.target, str(depth)) == (1, "map 1")


def test_a_candidate_s_line_has_plain_values() -> None:
    line = Candidate(Site("width", 0), 0.3, 0.2, 0.01, 0.5, 0.3, 0.6, True).to_json()
    assert line == {
        "kind": "width",
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
    candidate = Candidate(Site("width", 0), 0.3, 0.2, 0.01, 0.0, 0.3, float("inf"), True)
    assert candidate.to_json()["ratio"] is None


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


@pytest.mark.parametrize(("name", "weights"), [("senn", "score"), ("random", "random")])
def test_a_policy_is_made_from_its_section(name: str, weights: str) -> None:
    spec = SearchSpec(
        policy=name,
        threshold=0.5,
        stop=0.1,
        noise=2.0,
        samples=99,
        score_on="searched",
        bias_removed=False,
        max_hidden=20,
        max_parameters=1000,
        width=WidthSearchSpec(
            proposals=5, polished=16, per_round=3, max_width=7, coefficients="initial"
        ),
        depth=DepthSearchSpec(layer_cost=2.0, max_layers=3, singular_floor=0.1),
    )
    policy = make_policy(spec, "classification", "softmax", Ledger())
    assert isinstance(policy, SennPolicy)
    s = policy.settings
    assert (s.threshold, s.stop, s.noise) == (0.5, 0.1, 2.0)
    assert (s.samples, s.held_out) == (99, False)
    assert (s.bias_removed, s.max_hidden, s.max_parameters) == (False, 20, 1000)
    assert (s.per_round, s.max_width, s.initial_coefficients) == (3, 7, True)
    assert (s.layer_cost, s.max_layers, s.singular_floor) == (2.0, 3, 0.1)
    assert s.weights == weights
    # More than there are cannot be polished.
    assert s.width is not None and (s.width.proposals, s.width.polished) == (5, 5)


def test_switched_off_parts_have_no_search() -> None:
    spec = SearchSpec(width=WidthSearchSpec(enabled=False), depth=DepthSearchSpec(enabled=False))
    policy = make_policy(spec, "regression", "gaussian", Ledger())
    assert isinstance(policy, SennPolicy)
    assert policy.settings.width is None and policy.settings.depth is None
    none = make_policy(FixedSpec(policy="none"), "regression", "gaussian", Ledger())
    assert isinstance(none, NoGrowth)
