"""About how many programs a run will compile: what the view counts towards. No JAX."""

from __future__ import annotations

from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_of
from senn_cli.spec import Spec
from senn_cli.spec.aimed import AimedSpec
from senn_cli.spec.expansion import SearchSpec
from senn_cli.training.footprint import looks
from senn_cli.training.room import deepens_by_search

_UNLIMITED = 2  # times that a layer is enlarged, or layers that come, where nothing limits them


def expected_programs(
    spec: Spec, start: Architecture, *, validated: bool, few: bool = False
) -> int:
    """About how many programs a run from `start` compiles; exact where nothing grows, on a CPU.

    Growth within a capacity compiles nothing, but another capacity or another layer has all
    programs of the loop and of a round compiled again.

    Args:
      validated: whether there are validation data.
      few: whether the data are small, `room.small`.
    """
    # The loss of the training, validation and test data: block by block, one program does for all.
    parts = 1 if few or kind_of(start).one_by_one else 3 if validated else 2
    natural = spec.optimizer.kind == "natural_gradient"
    # A step, or where steps go one by one that and the order of the examples; the spectrum of the
    # inputs or a look at the curvature.
    first = parts + 1 + kind_of(start).one_by_one + (spec.proposals is not None or natural)
    if not spec.grows:
        return first
    a_round = _search(spec, start) if isinstance(spec.growth, SearchSpec) else 1
    if isinstance(spec.growth, AimedSpec):
        a_round = spec.growth.programs * len(start.hidden)
    if few and deepens_by_search(spec):
        # No spectrum, and one program each for all sites; a step of more layers than one, and a
        # search and scores of wider ones (`growth/compiled.py`).
        widens = spec.growth is not None and spec.growth.width.enabled
        return parts + 1 + 4 + 4 * widens + 3 * min(1, _changes(spec, start))
    return first + a_round + _changes(spec, start) * (parts + a_round + looks(start))


def _search(spec: Spec, start: Architecture) -> int:
    """The programs of a growth round that searches."""
    if looks(start):
        return 3  # a look at the data, the search at all sites, and the scores of all
    count = 1 + len(start.maps)  # a look at the data, and a target for every map
    growth = spec.growth
    if growth is not None and growth.width.enabled:
        of_a_layer = 4 + (isinstance(growth, SearchSpec) and growth.realise)
        count += of_a_layer * len(start.hidden)  # search, activate, score, append
    if growth is not None and growth.depth.enabled:
        count += 3 * len(start.maps)  # search and score, again where less room is left
    return count


def _changes(spec: Spec, start: Architecture) -> int:
    """How often the shapes will change; where parameters have a price, perhaps never."""
    expansion, times = spec.growth, 0
    if expansion is None or (isinstance(expansion, SearchSpec) and expansion.price > 0):
        return times
    if expansion.width.enabled and start.hidden:
        if expansion.max_hidden is None or looks(start):
            times += _UNLIMITED
        else:
            rule = kind_of(start).capacity_rule(spec, "cpu")
            capacity, most = start.hidden[0].capacity, expansion.max_hidden
            while capacity < most - sum(start.widths[1:]):
                capacity, times = rule.room(capacity + 1, capacity), times + 1
    if expansion.depth.enabled and not (start.hidden and expansion.max_hidden):
        times += _UNLIMITED
    return times
