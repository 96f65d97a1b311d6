"""What a run would take, worked out without running it: shapes, steps, and memory. No JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass

from senn_cli.data.dataset import Dataset
from senn_cli.nets.architecture import CapacityRule, Layer
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec import Spec
from senn_cli.spec.network import DenseNetSpec, NetworkSpec
from senn_cli.training.footprint import Memory, memory
from senn_cli.training.largest import largest

AUTO_MULTIPLE = {"cpu": 8, "gpu": 64}
"""What `capacity.multiple: auto` is: small on a CPU, where spare neurons cost time."""


CHANNELS = 4
"""Channels allocated for each one in use at the start of a densenet that grows."""


@dataclass(frozen=True)
class Plan:
    """What a run would take.

    Attributes:
      start: the architecture that training starts from.
      full: the largest that the limits of `expansion` let it become, or `start` without limits.
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
    What must hold for it is asked before, by `ready.require_ready`.
    """
    examples = len(dataset.train)
    batch = spec.training.batch_of(examples)
    per_epoch = examples // batch
    steps = spec.training.steps_of(per_epoch)
    rule = capacity_rule(spec.network, "gpu" if spec.device == "gpu" else "cpu")
    example = dataset.train.x.shape[1:]
    start = initial_architecture(spec, example, dataset.outputs, rule)

    def needed(architecture: AnyArchitecture) -> Memory:
        return memory(spec, architecture, batch, examples, stored(dataset))

    full = largest(spec, start, rule, lambda found: needed(found).total)
    validation = dataset.validation
    return Plan(
        start=start,
        full=full,
        memory=needed(start),
        full_memory=needed(full),
        examples=(examples, 0 if validation is None else len(validation), len(dataset.test)),
        batch=batch,
        steps_per_epoch=per_epoch,
        steps=steps,
        epochs=None if steps is None else steps / per_epoch,
        minutes=spec.training.minutes,
    )


def stored(dataset: Dataset) -> int:
    """Bytes of the parts that stay on the device."""
    kept = [part for part in (dataset.train, dataset.validation) if part is not None]
    # What is float64 on the host is float32 there.
    return sum(a.size * min(a.itemsize, 4) for part in kept for a in (part.x, part.y))


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
      shape: of one example: of an image, where the network is a densenet.
    """
    network = spec.network
    if isinstance(network, DenseNetSpec):
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
    return MlpArchitecture(math.prod(shape), outputs, layers)


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
