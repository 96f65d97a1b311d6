"""How much room networks on small data get, so that growth compiles nothing. No JAX."""

from __future__ import annotations

from senn_cli.data.dataset import Dataset
from senn_cli.engine.effort import efforts_of
from senn_cli.nets.registry import kind_named
from senn_cli.spec import Spec
from senn_cli.spec.expansion import SearchSpec
from senn_cli.spec.network import CapacitySpec

ROOMY = 32
"""What capacities of a network on small data are multiples of: its steps are hardly slower, and a
table rarely needs more."""


def deepens_by_search(spec: Spec) -> bool:
    """Whether layers are searched for, and inserted with the function kept."""
    growth = spec.growth
    return isinstance(growth, SearchSpec) and growth.depth.enabled and not growth.realise


def small(spec: Spec, examples: int, inputs: int, platform: str) -> bool:
    """Whether running all programs of a run takes less time than optimising them would.

    Args:
      examples: of the training part; inputs: numbers an example.
    """
    convolves = kind_named(spec.network.kind).one_by_one
    return efforts_of(examples, inputs, convolves=convolves, platform=platform).steps == "quick"


def with_room(spec: Spec, dataset: Dataset, platform: str) -> Spec:
    """`spec` with `network.capacity.multiple` where it leaves that open and the data are small.

    Only where proposals are searched for: dormant ones would become more.
    """
    capacity = getattr(spec.network, "capacity", None)  # which only some kinds offer
    if not isinstance(capacity, CapacitySpec) or capacity.multiple != "auto":
        return spec
    few = small(spec, len(dataset.train), dataset.inputs, platform)
    if not few or spec.proposals != "search":
        return spec
    roomy = capacity.model_copy(update={"multiple": ROOMY})
    network = spec.network.model_copy(update={"capacity": roomy})
    return spec.model_copy(update={"network": network})
