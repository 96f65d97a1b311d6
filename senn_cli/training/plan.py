"""What a run would take, worked out without running it: shapes, steps, and memory. No JAX."""

from __future__ import annotations

from dataclasses import dataclass

from senn_cli.data.dataset import Dataset
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_named
from senn_cli.spec import Spec
from senn_cli.training.footprint import Memory, memory
from senn_cli.training.largest import largest


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

    start: Architecture
    full: Architecture
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
    kind, platform = kind_named(spec.network.kind), "gpu" if spec.device.kind == "gpu" else "cpu"
    start = kind.start(spec, dataset.train.x.shape[1:], dataset.outputs, platform)
    rule = kind.capacity_rule(spec, platform)

    def needed(architecture: Architecture) -> Memory:
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
