"""What must hold of a spec and its data before training: asked by training, `senn data check` and
`--dry-run` alike, so that the one never stops at what the others have passed. No JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from senn_cli.data.dataset import Dataset
from senn_cli.errors import DataError, SennError, SpecError
from senn_cli.nets.registry import kind_named
from senn_cli.runs.environment import machine_memory
from senn_cli.spec import Spec
from senn_cli.spec.base import LARGEST
from senn_cli.spec.expansion import SearchSpec
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.training.footprint import memory
from senn_cli.training.plan import stored
from senn_cli.words import in_bytes, plural

LARGEST_ROWS = 2_000
"""Examples of a batch times outputs above which `optimizer.solver: rows` is refused: the time of
its steps grows with the cube."""


def require_ready(spec: Spec, dataset: Dataset, platform: str) -> None:
    """Raises one `SennError` for all that stands against training.

    Args:
      platform: that JAX runs on, or is expected to: `cpu` or some GPU's.
    """
    found = faults(spec, dataset, platform)
    if found:
        raise joined(found)


def faults(spec: Spec, dataset: Dataset, platform: str) -> list[SennError]:
    """All that stands against training."""
    found = [fault for check in _CHECKS for fault in check(spec, dataset)]
    # What a network would take is only worked out for one that there can be.
    return found if found or platform != "cpu" else list(_memory(spec, dataset))


def joined(found: Sequence[SennError]) -> SennError:
    """Several errors as one; a single one stays as it is."""
    if len(found) == 1:
        return found[0]
    hints = dict.fromkeys(error.hint for error in found if error.hint is not None)
    return DataError(
        "\n".join(error.message for error in found),
        title="Not ready to train",
        hint="\n".join(hints) or None,
    )


def _recordings(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    wanted = spec.record
    if wanted.landscape and (dataset.inputs != 1 or dataset.outputs != 1):
        yield SpecError(
            f"record.landscape needs one input and one output, found {dataset.inputs} and "
            f"{dataset.outputs}",
            hint="leave record.landscape out, or take data such as `source: regression`",
        )
    if wanted.boundary and (dataset.inputs != 2 or dataset.task != "classification"):
        yield SpecError(
            f"record.boundary needs a classification of two inputs, found a {dataset.task} of "
            f"{dataset.inputs}",
            hint="leave record.boundary out, or take data such as `source: moons`",
        )


def _batch(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    examples = len(dataset.train)
    if spec.training.batch_of(examples) > examples:
        yield DataError(
            f"training.batch_size is {spec.training.batch_size}, but the training part has only "
            f"{plural(examples, 'example')}",
            hint="lower training.batch_size, or leave it out: `auto` fits the data",
        )


def _rows(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    natural = spec.optimizer if isinstance(spec.optimizer, NaturalGradientSpec) else None
    if natural is None or natural.solver != "rows":
        return
    batch = spec.training.batch_of(len(dataset.train))
    if batch * dataset.outputs > LARGEST_ROWS:
        yield SpecError(
            f"optimizer.solver rows solves a system of batch times outputs, {LARGEST_ROWS:,} at "
            f"most; found {batch:,} x {dataset.outputs:,} = {batch * dataset.outputs:,}",
            hint="lower training.batch_size, or take optimizer.solver: ekfac, kfac or cg",
        )
    if spec.transfer.freeze:
        yield SpecError(
            "optimizer.solver rows trains all of a network, but transfer.freeze holds parts of it",
            hint="take optimizer.solver: ekfac, kfac or cg, or leave transfer.freeze out",
        )


def _images(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    kind, shape = spec.network.kind, dataset.train.x.shape[1:]
    misfit = kind_named(kind).misfit(shape)
    if misfit is not None:
        yield DataError(
            f"network.kind {kind} {misfit}; an example has shape {shape}",
            hint="take a source of images, or `network: mlp`",
        )


def _classes(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    if dataset.task == "classification" and dataset.outputs < 2:
        yield DataError(
            f"all examples are of class {dataset.classes[0]}; a classification needs two classes "
            "at least",
            hint="for numbers to predict, write data.task: regression",
        )


def _halves(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    halves = isinstance(spec.growth, SearchSpec) and spec.growth.score_on == "held_out"
    if halves and len(dataset.train) < 2:
        yield DataError(
            "growth needs two training examples at least, one to search on and one to decide on, "
            "found one",
            hint="give it more data, or write `expansion: {policy: none}`",
        )


def _length(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    length, examples = spec.training.length(), len(dataset.train)
    per_epoch = examples // spec.training.batch_of(examples)
    if length.epochs is not None and per_epoch and length.in_steps(per_epoch) > LARGEST:
        yield SpecError(
            f"training.epochs is {length.epochs:g}, which are {length.in_steps(per_epoch):,} "
            f"steps; a run has at most {LARGEST:,}"
        )


def _memory(spec: Spec, dataset: Dataset) -> Iterator[SennError]:
    there, examples = machine_memory(), len(dataset.train)
    kind = kind_named(spec.network.kind)
    architecture = kind.start(spec, dataset.train.x.shape[1:], dataset.outputs, "cpu")
    batch = spec.training.batch_of(examples)
    needed = memory(spec, architecture, batch, examples, stored(dataset)).least
    if there is not None and needed > there:
        yield DataError(
            f"the network that network.{kind.layers} describes {too_large(needed, there)}",
            hint="lower the widths, or training.batch_size",
        )


def too_large(needed: int, there: int) -> str:
    """What to say of a network that takes more memory than there is."""
    return f"takes {in_bytes(needed)} at the start, more than the {in_bytes(there)} of this machine"


_CHECKS: tuple[Callable[[Spec, Dataset], Iterator[SennError]], ...] = (
    _recordings,
    _batch,
    _rows,
    _images,
    _classes,
    _halves,
    _length,
)
