"""What a run would take, worked out without running it: shapes, steps, and memory. No JAX."""

from __future__ import annotations

import math
from dataclasses import dataclass

from senn_cli.data.dataset import Array, Dataset, Part
from senn_cli.data.rows import PIECE
from senn_cli.engine.gpu import expected_devices
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_named
from senn_cli.runs.environment import machine_memory
from senn_cli.spec import Spec
from senn_cli.training.footprint import Memory, memory
from senn_cli.training.largest import largest
from senn_cli.training.room import with_room


@dataclass(frozen=True)
class Plan:
    """What a run would take.

    Attributes:
      start: the architecture that training starts from.
      full: the largest that the limits of `expansion` let it become, or `start` without limits.
      memory, full_memory: of these two.
      examples: of the training, validation and test part.
      devices: how many the run goes over; the memory is that of each of them.
      handed: whether the training part stays with the host, which hands out rows.
      batch: examples a step.
      steps_per_epoch: full batches in an epoch.
      steps, epochs: length of the run; None where it is given in minutes.
      minutes: length of the run, else None.
    """

    start: Architecture
    full: Architecture
    memory: Memory
    full_memory: Memory
    devices: int
    handed: bool
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
    platform = "gpu" if spec.device.kind == "gpu" else "cpu"
    spec, examples = with_room(spec, dataset, platform), len(dataset.train)
    batch = spec.training.batch_of(examples)
    per_epoch = examples // batch
    steps = spec.training.steps_of(per_epoch)
    kind = kind_named(spec.network.kind)
    start = kind.start(spec, dataset.train.x.shape[1:], dataset.outputs, platform)
    rule = kind.capacity_rule(spec, platform)

    devices = expected_devices(spec.device)
    limit = spec.device.limit((machine_memory() or math.inf) / devices)
    data = stored(dataset, devices, limit)

    def needed(architecture: Architecture) -> Memory:
        return memory(spec, architecture, batch, examples, data, devices)

    full = largest(spec, start, rule, lambda found: needed(found).total)
    validation = dataset.validation
    return Plan(
        start=start,
        full=full,
        memory=needed(start),
        full_memory=needed(full),
        devices=devices,
        handed=devices == 1 and _size(dataset.train.x) > limit,
        examples=(examples, 0 if validation is None else len(validation), len(dataset.test)),
        batch=batch,
        steps_per_epoch=per_epoch,
        steps=steps,
        epochs=None if steps is None else steps / per_epoch,
        minutes=spec.training.minutes,
    )


def stored(dataset: Dataset, devices: int = 1, limit: float = math.inf) -> int:
    """Bytes of the parts that stay on a device.

    Args:
      limit: of the inputs of a part, above which each of `devices` has its share, and a single one
        two pieces at a time.
    """
    kept = [part for part in (dataset.train, dataset.validation) if part is not None]

    def share(part: Part) -> int:
        one, rows = _size(part.x[:1]), len(part)
        if _size(part.x) > limit:
            # What is handed out is counted in float32.
            few = math.ceil(2 * PIECE / (4 * max(1, part.x[:1].size)))
            rows = min(rows, few) if devices == 1 else math.ceil(rows / devices)
        return rows * one

    return sum(share(part) + _size(part.y) for part in kept)


def _size(array: Array) -> int:
    return array.size * min(array.itemsize, 4)  # what is float64 on the host is float32 there
