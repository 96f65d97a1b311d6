"""What will stop training, as far as a spec tells it with what is known before data are loaded."""

from __future__ import annotations

from collections.abc import Iterator

from senn_cli.data.known import Known, known, training_rows
from senn_cli.engine.gpu import expected_platform, why_no_gpu
from senn_cli.nets.registry import kind_named
from senn_cli.runs.environment import machine_memory
from senn_cli.spec import Spec
from senn_cli.spec.found import Found
from senn_cli.training.footprint import memory
from senn_cli.training.ready import too_large
from senn_cli.words import plural


def foreseen(spec: Spec) -> list[Found]:
    """What stands against training; loading the data may find more (`training/ready.py`)."""
    source = known(spec.data)
    return [*_rows(spec, source), *_images(spec, source), *_memory(spec, source)]


def doubts(spec: Spec) -> list[str]:
    """What will stop training here, but perhaps not where the spec is meant for."""
    reason = why_no_gpu()
    if spec.device.kind != "gpu" or reason is None:
        return []
    return [f"device is gpu, but JAX will find no GPU here: {reason}"]


def length_of(spec: Spec) -> str | None:
    """How much there is to train on, and in how many steps; None where only loading tells."""
    source = known(spec.data)
    if source is None or not source.exact:
        return None
    examples = training_rows(spec.data, source.rows)
    batch = spec.training.batch_of(examples)
    told = f"{plural(examples, 'example')} in batches of {batch:,}"
    steps = None if spec.training.epochs is None else spec.training.steps_of(examples // batch)
    return told if steps is None else f"{told}, {plural(steps, 'step')}"


def _rows(spec: Spec, source: Known | None) -> Iterator[Found]:
    if source is None:
        return
    examples, size = training_rows(spec.data, source.rows), spec.training.batch_size
    parts = ("data.source", "data.path", "data.validation", "data.subset")
    if examples < 1:
        yield Found(
            ("data",), f"should leave something to train on of {plural(source.rows, 'row')}"
        )
    elif isinstance(size, int) and size > examples:
        can = "" if source.exact else f" that a table of {plural(source.rows, 'line')} can have"
        yield Found(
            ("training", "batch_size"),
            f"should be at most {examples}, the examples to train on{can}, found {size}; left out, "
            "it fits the data",
            parts,
        )


def _images(spec: Spec, source: Known | None) -> Iterator[Found]:
    if source is None or source.example is None:
        return
    if kind_named(spec.network.kind).misfit(source.example) is not None:
        yield Found(
            ("network", "kind"),
            f"should be mlp: a densenet needs images, and an example of data.path has the shape "
            f"{source.example}",
            ("data.path", "data.inputs"),
        )


def _memory(spec: Spec, source: Known | None) -> Iterator[Found]:
    there = machine_memory()
    if there is None or expected_platform(spec.device.kind) != "cpu":
        return
    # Without the data, the least that they can be.
    examples = 1 if source is None else max(1, training_rows(spec.data, source.rows))
    kind = kind_named(spec.network.kind)
    example = (1,) if kind.misfit((1,)) is None else (1, 1, 1)
    architecture = kind.start(spec, example, 1, "cpu")
    batch = min(examples, spec.training.batch_of(examples))
    needed = memory(spec, architecture, batch, examples, 0).least
    if needed > there:
        path = ("network", kind.layers)
        told = too_large(needed, there)
        yield Found(path, f"makes a network that {told}", ("training.batch_size",))
