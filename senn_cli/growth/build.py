"""A policy from the `expansion` section of a spec."""

from __future__ import annotations

from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Task
from senn_cli.engine.programs import Ledger
from senn_cli.growth.compiled import Compiled
from senn_cli.growth.dormant_mlp import DormantNeurons
from senn_cli.growth.policy import NoGrowth, Policy
from senn_cli.growth.removal import PruneSettings
from senn_cli.growth.search import DepthSearch, WidthSearch
from senn_cli.growth.senn import SennPolicy
from senn_cli.growth.settings import SennSettings
from senn_cli.growth.standing import StandingSettings
from senn_cli.spec.expansion import ExpansionSpec, FixedSpec, SearchSpec
from senn_cli.spec.growth import DepthSearchSpec, WidthSearchSpec


def make_policy(spec: ExpansionSpec, task: Task, metric: Metric, ledger: Ledger) -> Policy:
    """The policy that `spec.policy` and `spec.proposals` name, for a fully connected network."""
    if isinstance(spec, FixedSpec):
        return NoGrowth()
    searches = spec if isinstance(spec, SearchSpec) else SearchSpec()
    settings = SennSettings(
        threshold=spec.threshold,
        stop=spec.stop,
        noise=spec.noise,
        price=searches.price,
        samples=spec.samples,
        held_out=searches.score_on == "held_out",
        bias_removed=spec.bias_removed,
        max_hidden=spec.max_hidden,
        max_parameters=spec.max_parameters,
        width=_width(searches.width) if spec.width.enabled else None,
        per_round=spec.width.per_round,
        max_width=spec.width.max_width,
        initial_coefficients=searches.width.coefficients == "initial",
        depth=_depth(searches.depth) if spec.depth.enabled else None,
        layer_cost=searches.depth.layer_cost,
        max_layers=spec.depth.max_layers,
        singular_floor=searches.depth.singular_floor,
        weights="random" if spec.policy == "random" else "score",
        prune=PruneSettings(spec.prune.min_width, spec.prune.per_round)
        if spec.prune.enabled
        else None,
    )
    compiled = Compiled(ledger, task, metric, damping_a=INPUT_DAMPING, damping_s=spec.score_damping)
    if isinstance(spec, SearchSpec):
        return SennPolicy(settings, compiled)
    options = spec.dormant
    dormant = StandingSettings(options.neurons, options.activate, options.prune, options.redraw)
    return DormantNeurons(settings, dormant, compiled)


INPUT_DAMPING = 1e-3
"""Damping of A in scores, as a share of its mean eigenvalue: enough for single precision."""


def _width(spec: WidthSearchSpec) -> WidthSearch:
    return WidthSearch(
        method=spec.method,
        proposals=spec.proposals,
        polished=min(spec.polished, spec.proposals),
        steps=spec.steps,
        rank=spec.rank,
        learning_rate=spec.learning_rate,
        temperature=spec.temperature,
    )


def _depth(spec: DepthSearchSpec) -> DepthSearch:
    return DepthSearch(
        method=spec.method,
        proposals=spec.proposals,
        polished=min(spec.polished, spec.proposals),
        steps=spec.steps,
        learning_rate=spec.learning_rate,
        temperature=spec.temperature,
        log_determinant=spec.log_determinant,
    )
