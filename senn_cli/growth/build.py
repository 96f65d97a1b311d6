"""The policy that a spec names, for a network of any kind."""

from __future__ import annotations

from senn_cli.curvature.tracking import Tracking
from senn_cli.engine.metric import Metric
from senn_cli.engine.objective import Objective
from senn_cli.engine.programs import Ledger
from senn_cli.growth.compiled import Compiled
from senn_cli.growth.fields import Fields
from senn_cli.growth.policies.dormant import DormantGrowth
from senn_cli.growth.policies.dynamic_node_creation import Bounds, DynamicNodeCreation
from senn_cli.growth.policies.firefly import Firefly
from senn_cli.growth.policies.given import Places, Resting
from senn_cli.growth.policies.gradmax import GradMax
from senn_cli.growth.policies.net2net import Net2Net
from senn_cli.growth.policies.none import NoGrowth
from senn_cli.growth.policies.search import SearchGrowth
from senn_cli.growth.policies.splitting import Splitting
from senn_cli.growth.policies.tiny import Tiny
from senn_cli.growth.policy import Policy
from senn_cli.growth.settings import Limits, limits_of, settings_of
from senn_cli.growth.sight import Sights
from senn_cli.spec import Spec
from senn_cli.spec.aimed import Aimed, AimedSpec, GradMaxSpec, TinySpec
from senn_cli.spec.expansion import SearchSpec
from senn_cli.spec.given import Given, GivenSpec, Net2NetSpec, SplittingSpec

INPUT_DAMPING = 1e-3
"""Damping of A in scores, as a share of its mean eigenvalue: enough for single precision."""


def make_policy(
    spec: Spec,
    objective: Objective,
    metric: Metric,
    ledger: Ledger,
    tracking: Tracking | None = None,
    *,
    deepens: bool = False,
) -> Policy:
    """The policy that `spec.expansion` describes.

    Args:
      tracking: how curvature is tracked; None where it is not.
      deepens: whether an inserted layer is to compile nothing, `nets/slots.py`.
    """
    growth = spec.growth
    if growth is None:
        return NoGrowth()
    if isinstance(growth, AimedSpec):
        return _aimed(growth, limits_of(spec), objective, metric, ledger)
    if isinstance(growth, GivenSpec):
        return _given(growth, limits_of(spec), objective, ledger)
    settings = settings_of(spec)
    if not isinstance(growth, SearchSpec):
        assert tracking is not None and tracking.slow is not None
        return DormantGrowth(settings, tracking, ledger)
    compiled = Compiled(
        ledger,
        objective,
        metric,
        damping_a=INPUT_DAMPING,
        damping_s=growth.score_damping,
        deepens=deepens,
    )
    return SearchGrowth(settings, compiled, Fields(ledger, objective, metric, compiled.shares))


def _given(growth: Given, limits: Limits, objective: Objective, ledger: Ledger) -> Policy:
    """A policy whose times and places are given."""
    places = Places(limits, growth.width.layers)
    if isinstance(growth, Net2NetSpec):
        return Net2Net(places, growth.jitter)
    resting = Resting(growth.window, growth.flat)
    if isinstance(growth, SplittingSpec):
        return Splitting(places, resting, growth.step, objective, ledger)
    bounds = Bounds(growth.mean_error, growth.max_error)
    return DynamicNodeCreation(places, resting, growth.scale, bounds, objective, ledger)


def _aimed(
    growth: Aimed, limits: Limits, objective: Objective, metric: Metric, ledger: Ledger
) -> Policy:
    """A policy at given times that aims new units by the loss's gradient."""
    places, sights = Places(limits, growth.width.layers), Sights(ledger, objective, metric)
    if isinstance(growth, GradMaxSpec):
        return GradMax(places, growth.samples, growth.outgoing, sights)
    if isinstance(growth, TinySpec):
        return Tiny(places, growth.samples, growth.least, sights, objective, ledger)
    return Firefly(
        places,
        growth.samples,
        fresh=growth.candidates,
        steps=growth.steps,
        size=growth.size,
        objective=objective,
        ledger=ledger,
    )
