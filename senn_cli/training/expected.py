"""About how many programs a run will compile: what the view counts towards. No JAX."""

from __future__ import annotations

from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec import Spec
from senn_cli.spec.network import DenseNetSpec
from senn_cli.training.plan import capacity_rule

_UNLIMITED = 2  # times that a layer is enlarged, or layers that come, where nothing limits them


def expected_programs(spec: Spec, start: AnyArchitecture, *, validated: bool) -> int:
    """About how many programs a run from `start` compiles; exact where nothing grows.

    Growth within a capacity compiles nothing, but another capacity or another layer has all
    programs of the loop and of a round compiled again.

    Args:
      validated: whether there are validation data.
    """
    parts = 3 if validated else 2  # the loss of the training, validation and test data
    if isinstance(start, DenseArchitecture):
        natural = spec.optimizer.kind == "natural_gradient"
        looks = spec.grows or natural
        first = 2 + parts + looks + spec.grows  # a step, the order of the examples
        return first + (_changes(spec, start) * (parts + 2) if spec.grows else 0)
    spectrum = spec.grows or spec.optimizer.kind == "natural_gradient"
    first = spectrum + parts + 1
    if not spec.grows:
        return first
    return first + _round(spec, start) + _changes(spec, start) * (parts + _round(spec, start))


def _round(spec: Spec, start: MlpArchitecture) -> int:
    """The programs of a growth round of a fully connected network."""
    count = 1 + len(start.maps)  # a look at the data, and a target for every map
    if spec.expansion.width.enabled:
        count += 3 * len(start.hidden)  # search, score, append
    if spec.expansion.depth.enabled:
        count += 3 * len(start.maps)  # search and score, again where less room is left
    return count


def _changes(spec: Spec, start: AnyArchitecture) -> int:
    """How often the shapes will change; where parameters have a price, perhaps never."""
    expansion, times = spec.expansion, 0
    if spec.proposals == "search" and expansion.price > 0:
        return times
    if expansion.width.enabled and start.hidden:
        if expansion.max_hidden is None or isinstance(spec.network, DenseNetSpec):
            times += _UNLIMITED
        else:
            rule = capacity_rule(spec.network, "cpu")
            capacity, most = start.hidden[0].capacity, expansion.max_hidden
            while capacity < most - sum(start.widths[1:]):
                capacity, times = rule.room(capacity + 1, capacity), times + 1
    if expansion.depth.enabled and not (start.hidden and expansion.max_hidden):
        times += _UNLIMITED
    return times
