"""Faults between the kind of network, its capacity and what is asked of it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from senn_cli.spec.expansion import SearchSpec, StandingSpec
from senn_cli.spec.found import Found
from senn_cli.spec.network import DenseNetSpec, NetworkSpec
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.spec.sources import Numbers

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec


def images(spec: Spec) -> Iterator[Found]:
    """A network of images is not given tables."""
    if spec.network.images and isinstance(spec.data, Numbers):
        yield Found(
            ("network", "kind"),
            f"should be mlp for data.source {spec.data.source}: a {spec.network.kind} needs images",
            ("data.source",),
        )


def searched(spec: Spec) -> Iterator[Found]:
    """What a DenseNet that searches for its channels cannot do."""
    if not isinstance(spec.network, DenseNetSpec) or not isinstance(spec.expansion, SearchSpec):
        return
    if spec.expansion.prune.enabled:
        yield Found(
            ("expansion", "prune"),
            "should be off where a densenet searches for its channels, as a search takes out only "
            "what a single map reads; write `prune: false`, or `proposals: dormant`",
            ("network.kind", "expansion.proposals", "expansion.policy"),
        )


def solver(spec: Spec) -> Iterator[Found]:
    """The natural gradient has a solver that serves the network."""
    known = spec.network.solvers
    if isinstance(spec.optimizer, NaturalGradientSpec) and spec.optimizer.solver not in known:
        yield Found(
            ("optimizer", "solver"),
            f"should be {' or '.join(known)} for a {spec.network.kind}, found "
            f"{spec.optimizer.solver}",
            ("network.kind", "optimizer.preset"),
        )


def channels(spec: Spec) -> Iterator[Found]:
    """There is room for the channels of every layer."""
    if not isinstance(spec.network, DenseNetSpec):
        return
    most, initial = max(spec.network.hidden), spec.network.capacity.initial
    if initial is not None and initial < most:
        yield Found(
            ("network", "capacity", "initial"),
            f"should be at least {most}, the largest of network.blocks, found {initial}",
            ("network.blocks",),
        )


def dormant(spec: Spec) -> Iterator[Found]:
    """Layers are inserted where they stand as buds."""
    if spec.network.buds or not isinstance(spec.expansion, StandingSpec):
        return
    if spec.expansion.depth.enabled:
        yield Found(
            ("expansion", "depth"),
            f"should be off for the dormant proposals of a network of kind {spec.network.kind}, "
            "which has no buds; write `depth: false`, or `proposals: search`",
            ("network.kind", "expansion.proposals", "expansion.policy"),
        )


def capacity(spec: Spec) -> Iterator[Found]:
    """A capacity a layer, with room for its width."""
    if not isinstance(spec.network, NetworkSpec):
        return
    hidden, initial = spec.network.hidden, spec.network.capacity.initial
    if initial is None:
        return
    path, others = ("network", "capacity", "initial"), ("network.hidden",)
    if len(initial) != len(hidden):
        yield Found(
            path,
            f"should have one capacity a hidden layer, {len(hidden)} for network.hidden, found "
            f"{len(initial)}",
            others,
        )
        return
    for index, (capacity, width) in enumerate(zip(initial, hidden, strict=True)):
        if capacity < width:
            yield Found(
                (*path, index),
                f"should be at least network.hidden.{index}, {width}, found {capacity}",
                others,
            )
