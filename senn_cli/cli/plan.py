"""What `--dry-run` shows: the layers, the length of the run and its memory."""

from __future__ import annotations

from dataclasses import fields

from rich.console import Console

from senn_cli.cli.console import table
from senn_cli.nets.registry import kind_named
from senn_cli.nets.tables import map_rows
from senn_cli.report.words import printable
from senn_cli.spec import Spec
from senn_cli.spec.expansion import SearchSpec
from senn_cli.training.expected import expected_programs
from senn_cli.training.footprint import Memory, looks
from senn_cli.training.plan import Plan
from senn_cli.training.room import small
from senn_cli.words import hidden_units, in_bytes, plural

_LABELS = {
    "parameters": "parameters",
    "optimizer": "optimizer state",
    "curvature": "curvature state",
    "data": "training and validation data",
    "activations": "activations of one batch",
    "growth": "samples of a growth round",
}


def print_plan(spec: Spec, plan: Plan, console: Console) -> None:
    """Prints the plan of a run to `console`; nothing is styled without a terminal."""
    for line in length_lines(spec, plan):
        console.print(printable(line, console.encoding))
    console.print(
        table(("layer", "inputs", f"{_unit(spec)}s", "activation", "parameters"), layers(plan))
    )
    memory = "memory" if plan.devices == 1 else f"memory of each of {plan.devices} devices"
    console.print(table((memory, "at the start", "at full capacity"), memories(plan)))
    for line in notes(spec, plan):
        console.print(printable(line, console.encoding))


def length_lines(spec: Spec, plan: Plan) -> list[str]:
    """The data and the length of the run, in words."""
    train, validation, test = plan.examples
    if plan.steps is None or plan.epochs is None:
        length = plural(plan.minutes or 0, "minute")
    else:
        length = f"{plural(plan.steps, 'step')}, {plural(plan.epochs, 'epoch')}"
    platform = "gpu" if spec.device.kind == "gpu" else "cpu"
    few = small(spec, train, plan.start.inputs, platform)
    count = expected_programs(spec, plan.start, validated=validation > 0, few=few)
    programs = plural(count, "program")
    return [
        f"run: {spec.name}, policy {spec.expansion.policy}, optimizer {spec.optimizer.kind}",
        f"examples: {train:,} training, {validation:,} validation, {test:,} test",
        f"training: {length}, batches of {plan.batch:,}, "
        f"{plural(plan.steps_per_epoch, 'step')} an epoch",
        *rounds(spec),
        f"compilations: {'about ' if spec.grows else ''}{programs}, unless the cache has them",
    ]


def rounds(spec: Spec) -> list[str]:
    """When rounds of growth are due, and what their end begins, in words."""
    growth, told = spec.growth, list[str]()
    if growth is not None:
        told.append(f"growth: a round every {growth.every}")
        if isinstance(growth, SearchSpec) and growth.thin_to is not None:
            told[-1] += f", rarer while they add nothing, up to every {growth.thin_to}"
        if spec.optimizer.schedule.kind == "wsd":
            decay = spec.optimizer.schedule.decay
            told.append(f"learning rate: falls when growth ends, at least in the last {decay:.0%}")
    return told


def layers(plan: Plan) -> list[tuple[str, ...]]:
    """A row for every linear map, then their sum; sizes are `in use / capacity`."""
    found = [
        (row.site, _pair(row.inputs), _pair(row.units), row.activation, _pair(row.parameters))
        for row in map_rows(plan.start)
    ]
    total = (plan.start.parameters, plan.start.shape().parameters)
    return [*found, ("total", "", "", "", _pair(total))]


def memories(plan: Plan) -> list[tuple[str, str, str]]:
    """A row for everything that takes memory, then the sum."""
    found = []
    for field in fields(Memory):
        start, full = (getattr(memory, field.name) for memory in (plan.memory, plan.full_memory))
        if start or full:
            label = _LABELS[field.name]
            if field.name == "growth" and looks(plan.start):
                label = "a look at the curvature, and the scores"
            if field.name == "data" and plan.handed:
                label = "data, of which the host hands out rows"
            found.append((label, in_bytes(start), in_bytes(full)))
    return [*found, ("total", in_bytes(plan.memory.total), in_bytes(plan.full_memory.total))]


def notes(spec: Spec, plan: Plan) -> list[str]:
    """What the tables mean."""
    capacity = hidden_units(plan.full.capacities, _unit(spec))
    if spec.growth is None:
        full = "Full capacity: nothing grows."
    elif spec.growth.max_hidden is not None:
        full = (
            f"Full capacity: {capacity}, room for the {spec.growth.max_hidden} "
            "of expansion.max_hidden where they take most memory."
        )
    elif plan.full == plan.start:
        full = (
            f"Full capacity: {capacity}, as at the start; expansion.max_hidden "
            "sets no limit, and a full layer is enlarged."
        )
    else:
        full = f"Full capacity: {capacity}, all that the limits of width and depth allow."
    lines = ["Sizes are in use / capacity; memory is that of the capacity.", full]
    kind = kind_named(spec.network.kind)
    there = kind.capacity_rule(spec, "gpu")
    if spec.device.kind == "auto" and there != kind.capacity_rule(spec, "cpu"):
        lines.append(
            f"Capacities are those of a CPU; on a GPU they are multiples of {there.multiple}."
        )
    return lines


def _unit(spec: Spec) -> str:
    return kind_named(spec.network.kind).unit


def _pair(sizes: tuple[int, int]) -> str:
    return " / ".join(f"{size:,}" for size in sizes)
