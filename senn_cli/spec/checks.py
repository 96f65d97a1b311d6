"""Faults that involve several keys: each is valid by itself, together they make no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from senn_cli.spec import check_data, check_growth, check_network, check_training
from senn_cli.spec.found import Found
from senn_cli.spec.under import unread

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec

_CHECKS: tuple[Callable[[Spec], Iterator[Found]], ...] = (
    check_data.test_part,
    check_data.validation_part,
    check_data.one_origin,
    check_data.augment_colors,
    check_network.images,
    check_network.searched,
    check_network.solver,
    check_network.channels,
    check_network.dormant,
    check_network.capacity,
    check_training.loss,
    check_training.metric,
    check_growth.limits,
    check_growth.nothing_changes,
    check_growth.searches,
    check_growth.window,
    check_growth.thinning,
    check_growth.served,
    check_training.nesterov,
    check_training.warmup,
    check_training.schedule,
    check_training.best,
)


def cross_faults(spec: Spec) -> list[Found]:
    """All faults that involve several keys, in the order of the checks below."""
    return [found for check in _CHECKS for found in check(spec)]


def unread_faults(spec: Spec) -> Iterator[Found]:
    """What is written and not read under the choices of the spec."""
    for one in unread(spec):
        if one.written:
            others = one.condition.keys(one.path[:-1])
            told = f"is not read here; it belongs to {one.condition.words()}"
            yield Found(one.path, told, others, unread=True)
