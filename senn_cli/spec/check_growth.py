"""Faults between limits, edits and times of growth, and the network that it begins with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from senn_cli.spec.activation import SLOPES
from senn_cli.spec.aimed import AimedSpec
from senn_cli.spec.describe import alternatives
from senn_cli.spec.expansion import SearchSpec
from senn_cli.spec.found import Found
from senn_cli.spec.given import GivenSpec
from senn_cli.words import plural

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec

PIECEWISE = ("relu", "leaky_relu", "identity")
"""Activations whose second derivative is zero."""


def limits(spec: Spec) -> Iterator[Found]:
    """The network that growth begins with respects its limits."""
    expansion, hidden = spec.growth, spec.network.hidden
    if expansion is None:
        return
    others = ("network.hidden", "expansion.policy")
    most = expansion.max_hidden
    if most is not None and most < sum(hidden):
        yield Found(
            ("expansion", "max_hidden"),
            f"should be at least {sum(hidden)}, the sum of network.hidden, found {most}",
            others,
        )
    most = expansion.width.max_width
    if expansion.width.enabled and most is not None and most < max(hidden, default=0):
        yield Found(
            ("expansion", "width", "max_width"),
            f"should be at least {max(hidden)}, the largest of network.hidden, found {most}",
            (*others, "expansion.width.enabled"),
        )
    most = expansion.depth.max_layers
    if expansion.depth.enabled and most is not None and most < len(hidden):
        yield Found(
            ("expansion", "depth", "max_layers"),
            f"should be at least {len(hidden)}, the layers of network.hidden, found {most}",
            (*others, "expansion.depth.enabled"),
        )


def nothing_changes(spec: Spec) -> Iterator[Found]:
    """Something can change."""
    expansion = spec.growth
    if expansion is None or expansion.depth.enabled or expansion.prune.enabled:
        return
    others = ("expansion.width.enabled", "expansion.depth.enabled", "expansion.prune.enabled")
    if not expansion.width.enabled:
        yield Found(
            ("expansion", "policy"),
            f"should not be {expansion.policy} when width, depth and prune are all switched off, "
            "as nothing can change; write `policy: none` for a fixed architecture",
            others,
        )
    elif not spec.network.hidden and isinstance(expansion, GivenSpec):
        yield Found(
            ("network", "hidden"),
            f"should have a layer for expansion.policy {expansion.policy} to widen, found []",
            others,
        )
    elif not spec.network.hidden:
        yield Found(
            ("expansion", "depth"),
            "should not be switched off when network.hidden is empty: there is no layer to widen",
            (*others, "network.hidden", "expansion.policy"),
        )


def searches(spec: Spec) -> Iterator[Found]:
    """No more proposals are polished than drawn."""
    if not isinstance(spec.expansion, SearchSpec):
        return
    for name, search in (("width", spec.expansion.width), ("depth", spec.expansion.depth)):
        draws_one = search.method == "mala"
        if search.enabled and search.polished > search.proposals and not draws_one:
            yield Found(
                ("expansion", name, "polished"),
                f"should be at most expansion.{name}.proposals, {search.proposals}, found "
                f"{search.polished}",
                (f"expansion.{name}.proposals", f"expansion.{name}.enabled"),
            )


def window(spec: Spec) -> Iterator[Found]:
    """Growth does not end before it begins."""
    growth = spec.growth
    start, until = (None, None) if growth is None else (growth.start, growth.until)
    if start is None or until is None or start.unit != until.unit:
        return
    if until.value < start.value:
        yield Found(
            ("expansion", "until"),
            f"should not come before expansion.start, {start}, found {until}",
            ("expansion.start",),
        )


def thinning(spec: Spec) -> Iterator[Found]:
    """Rounds become rarer, not more frequent."""
    growth = spec.growth
    if not isinstance(growth, SearchSpec) or growth.thin_to is None:
        return
    if growth.thin_to.unit == growth.every.unit and growth.thin_to.value < growth.every.value:
        yield Found(
            ("expansion", "thin_to"),
            f"should be at least expansion.every, {growth.every}, found {growth.thin_to}",
            ("expansion.every",),
        )


def served(spec: Spec) -> Iterator[Found]:
    """A policy whose places are given serves the kind of network, which has those layers."""
    expansion = spec.expansion
    if not isinstance(expansion, GivenSpec):
        return
    if spec.network.convolves and not expansion.convolves:
        yield Found(
            ("expansion", "policy"),
            f"{expansion.policy} does not serve a network of kind {spec.network.kind}, which has "
            "convolutions; take another policy, or a network without",
            ("network.kind",),
        )
    if spec.network.convolves and expansion.depth.enabled:
        yield Found(
            ("expansion", "depth"),
            f"should be off for a network of kind {spec.network.kind}, no map of which can be "
            f"taken apart by {expansion.policy}; write `depth: false`",
            ("network.kind", "expansion.policy"),
        )
    activation = getattr(spec.network, "activation", None)
    if expansion.curved and activation in PIECEWISE:
        yield Found(
            ("expansion", "policy"),
            f"{expansion.policy} needs an activation with a second derivative, which "
            f"network.activation {activation} lacks; take another policy, or for example tanh",
            ("network.activation",),
        )
    linear = isinstance(expansion, AimedSpec) and expansion.smooth
    if linear and activation is not None and activation not in SLOPES:
        yield Found(
            ("expansion", "policy"),
            f"{expansion.policy} does not serve {activation}, as it takes new neurons for linear "
            f"at 0: take another policy, or one of {alternatives(sorted(SLOPES))} for "
            "network.activation",
            ("network.activation",),
        )
    known = len(spec.network.hidden)
    wrong = [n for n in expansion.width.layers or () if n >= known]
    if wrong:
        yield Found(
            ("expansion", "width", "layers"),
            f"should be numbers of the {plural(known, 'layer')} of network.hidden, from 0, found "
            f"{wrong[0]}",
            ("network.hidden", "expansion.policy"),
        )
