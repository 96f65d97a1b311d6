"""What a run would take, worked out without running it: shapes, steps, and memory. No JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from senn_cli.data.dataset import Dataset
from senn_cli.errors import DataError
from senn_cli.growth.edits import CapacityRule
from senn_cli.nets.architecture import Architecture, Layer
from senn_cli.nets.conv_architecture import TAPS, DenseArchitecture, Wiring
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.spec import Spec
from senn_cli.spec.expansion import ExpansionSpec
from senn_cli.spec.network import DenseNetSpec, NetworkSpec
from senn_cli.training.footprint import Memory, memory

AUTO_MULTIPLE = {"cpu": 8, "gpu": 64}
"""What `capacity.multiple: auto` is: small on a CPU, where spare neurons cost time."""


CHANNELS = 4
"""Channels allocated for each one in use at the start of a densenet that grows."""


@dataclass(frozen=True)
class Row:
    """A linear map with the neurons that it feeds.

    Attributes:
      name: `layer 0`, ... as in the history, then `output`.
      inputs, neurons: (in use, capacity).
      activation: of the neurons; empty for the output.
      parameters: (in use, capacity): kernel, bias and coefficients.
    """

    name: str
    inputs: tuple[int, int]
    neurons: tuple[int, int]
    activation: str
    parameters: tuple[int, int]


@dataclass(frozen=True)
class Plan:
    """What a run would take.

    Attributes:
      start: the architecture that training starts from.
      full: the largest that `expansion.max_hidden` lets it become, else `start`.
      memory, full_memory: of these two.
      examples: of the training, validation and test part.
      batch: examples a step.
      steps_per_epoch: full batches in an epoch.
      steps, epochs: length of the run; None where it is given in minutes.
      minutes: length of the run, else None.
    """

    start: AnyArchitecture
    full: AnyArchitecture
    memory: Memory
    full_memory: Memory
    examples: tuple[int, int, int]
    batch: int
    steps_per_epoch: int
    steps: int | None
    epochs: float | None
    minutes: float | None


def make_plan(spec: Spec, dataset: Dataset) -> Plan:
    """The plan of `spec` with its data.

    Where the spec leaves the device open, capacities are those of a CPU.

    Raises:
      DataError: a batch larger than the training part.
    """
    examples = len(dataset.train)
    batch = batch_size(spec, examples)
    per_epoch = examples // batch
    length = spec.training.length()
    steps = None if length.minutes is not None else length.in_steps(per_epoch)
    rule = capacity_rule(spec.network, "gpu" if spec.device == "gpu" else "cpu")
    example = dataset.train.x.shape[1:]
    start = initial_architecture(spec, example, dataset.outputs, rule)
    full = largest(spec, dataset, start, rule, batch)
    validation = dataset.validation
    return Plan(
        start=start,
        full=full,
        memory=memory(spec, dataset, start, batch),
        full_memory=memory(spec, dataset, full, batch),
        examples=(examples, 0 if validation is None else len(validation), len(dataset.test)),
        batch=batch,
        steps_per_epoch=per_epoch,
        steps=steps,
        epochs=None if steps is None else steps / per_epoch,
        minutes=length.minutes,
    )


def batch_size(spec: Spec, examples: int) -> int:
    """Examples a step, of `examples` to train on.

    Raises:
      DataError: more than there are.
    """
    batch = spec.training.batch_of(examples)
    if batch > examples:
        raise DataError(
            f"training.batch_size is {batch}, but the training part has only {examples} examples",
            hint="lower training.batch_size, or leave it out: `auto` fits the data",
        )
    return batch


def capacity_rule(network: NetworkSpec | DenseNetSpec, platform: str) -> CapacityRule:
    """How capacities grow on `platform`, which is `cpu` or that of some GPU."""
    if isinstance(network, DenseNetSpec):
        return CapacityRule(1, 0.5)  # it has no spare channels
    multiple = network.capacity.multiple
    if multiple == "auto":
        multiple = AUTO_MULTIPLE["cpu" if platform == "cpu" else "gpu"]
    return CapacityRule(multiple, network.capacity.growth)


def initial_architecture(
    spec: Spec, shape: tuple[int, ...], outputs: int, rule: CapacityRule
) -> AnyArchitecture:
    """The architecture that training starts from, with its capacities.

    Args:
      shape: of one example.

    Raises:
      DataError: examples that are no images, for a network that needs them.
    """
    network = spec.network
    if isinstance(network, DenseNetSpec):
        if len(shape) not in (2, 3):
            raise DataError(
                f"network.kind densenet needs images, height x width or height x width x channels; "
                f"an example has shape {shape}",
                hint="take a source of images, or `network: mlp`",
            )
        height, width, channels = (*shape, 1)[:3]
        blocks = tuple(
            tuple(Layer(width, room(spec, width), network.activation) for width in block)
            for block in network.blocks
        )
        image = (height, width, channels)
        return DenseArchitecture(image, outputs, blocks, bud_of(spec), network.pool)
    capacities = network.capacity.initial or [rule.room(width) for width in network.hidden]
    layers = tuple(
        Layer(width, capacity, network.activation)
        for width, capacity in zip(network.hidden, capacities, strict=True)
    )
    return Architecture(math.prod(shape), outputs, layers)


def room(spec: Spec, width: int) -> int:
    """Channels allocated at the start for a layer of a densenet with `width` in use."""
    assert isinstance(spec.network, DenseNetSpec)
    if not (spec.grows and spec.expansion.width.enabled):
        return width
    initial = spec.network.capacity.initial
    return CHANNELS * width if initial is None else max(width, initial)


def bud_of(spec: Spec) -> int:
    """Channels of a densenet's buds."""
    assert isinstance(spec.network, DenseNetSpec)
    if not (spec.grows and spec.expansion.depth.enabled):
        return 0
    if spec.network.bud is not None:
        return spec.network.bud
    return max(1, room(spec, spec.network.hidden[0]) // 2)


def rows(architecture: AnyArchitecture) -> list[Row]:
    """A row for every linear map, from the inputs to the outputs."""
    if isinstance(architecture, DenseArchitecture):
        return [_conv_row(architecture, wire) for wire in architecture.wiring]
    full, found = architecture.shape(), []
    for index in range(architecture.maps):
        hidden = index < len(architecture.hidden)
        layer = architecture.hidden[index] if hidden else None
        (n_in, n_out), (cap_in, cap_out) = architecture.map_width(index), full.map_width(index)
        own = 3 if layer is not None and layer.activation == "rational" else 0
        found.append(
            Row(
                name=f"layer {index}" if hidden else "output",
                inputs=(n_in, cap_in),
                neurons=(n_out, cap_out),
                activation="" if layer is None else layer.activation,
                parameters=((n_in + 1 + own) * n_out, (cap_in + 1 + own) * cap_out),
            )
        )
    return found


def _conv_row(architecture: DenseArchitecture, wire: Wiring) -> Row:
    used = sum(source.width for source in wire.sources)
    room = sum(source.channels for source in wire.sources)
    head = wire.kind == "head"
    taps, bias = (1, 1) if head else (TAPS, 0)
    return Row(
        name="output" if head else _name(architecture, wire),
        inputs=(used, room),
        neurons=(wire.width, wire.channels),
        activation="" if head else architecture.hidden[wire.index].activation,
        parameters=((taps * used + bias) * wire.width, (taps * room + bias) * wire.channels),
    )


def _name(architecture: DenseArchitecture, wire: Wiring) -> str:
    block, number = architecture.place(wire.index)
    return f"block {block} {wire.kind} {number}"


def largest(
    spec: Spec, dataset: Dataset, start: AnyArchitecture, rule: CapacityRule, batch: int
) -> AnyArchitecture:
    """The architecture of `max_hidden` neurons that takes most memory, or `start` without a limit.

    Where the neurons will go is not known in advance: the layer in which they take most memory gets
    all of them, as far as `max_width` allows. Layers are only inserted where growth can do nothing
    else.
    """
    expansion = spec.expansion
    fixed = expansion.policy == "none" or expansion.max_hidden is None
    if fixed or isinstance(start, DenseArchitecture):
        return start
    grown = _inserted(start, expansion, rule)
    if not expansion.width.enabled:
        return grown
    fillings = [
        _widened(grown, (*range(first, len(grown.hidden)), *range(first)), expansion, rule)
        for first in range(len(grown.hidden))
    ]
    return max(fillings, key=lambda a: memory(spec, dataset, a, batch).total, default=grown)


def _inserted(start: Architecture, expansion: ExpansionSpec, rule: CapacityRule) -> Architecture:
    """`start` with the layers that must come before any neuron, or instead of neurons."""
    limit, most_layers = expansion.max_hidden or 0, expansion.depth.max_layers
    grown = start
    while expansion.depth.enabled and not (grown.hidden and expansion.width.enabled):
        # An inserted layer stands on its map's narrower side and is as wide as that.
        width, index = max((min(grown.map_width(i)), i) for i in range(grown.maps))
        full = most_layers is not None and len(grown.hidden) >= most_layers
        if full or sum(grown.widths) + width > limit:
            break
        layer = Layer(width, rule.room(width), "rational")
        grown = replace(grown, hidden=(*grown.hidden[:index], layer, *grown.hidden[index:]))
    return grown


def _widened(
    start: Architecture, order: tuple[int, ...], expansion: ExpansionSpec, rule: CapacityRule
) -> Architecture:
    """`start` with its layers filled in `order` until `max_hidden` is reached."""
    grown = start
    for index in order:
        extra = max(0, (expansion.max_hidden or 0) - sum(grown.widths))
        width, capacity = grown.hidden[index].width, grown.hidden[index].capacity
        wanted = width + extra
        if expansion.width.max_width is not None:
            wanted = max(width, min(wanted, expansion.width.max_width))
        while capacity < wanted:  # in the steps that single neurons make
            capacity = rule.room(capacity + 1, capacity)
        grown = grown.with_layer(index, width=wanted, capacity=capacity)
    return grown
