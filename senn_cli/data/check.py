"""What `senn data check` looks at: sizes, ranges, class counts, duplicates, constant features."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from senn_cli.data.dataset import Array, Dataset, Part
from senn_cli.words import plural

FEW = 100
"""Examples below which a result says little."""


@dataclass(frozen=True)
class PartReport:
    """One part in numbers.

    Attributes:
      examples: how many there are.
      inputs: shape of one example.
      dtype: type of the inputs as stored.
      low, high, mean: range and mean of the inputs, before scaling.
      targets: for regression the low, high, mean and standard deviation of every target column.
      class_counts: the number of examples by the name of the class, or of a label that holds.
      non_finite: how many input or target values are NaN or infinite.
      repeated: how many examples have the same inputs as an earlier one of this part.
      bytes: memory of inputs and targets.
    """

    examples: int
    inputs: tuple[int, ...]
    dtype: str
    low: float
    high: float
    mean: float
    targets: tuple[dict[str, float], ...]
    class_counts: dict[str, int]
    non_finite: int
    repeated: int
    bytes: int


@dataclass(frozen=True)
class Report:
    """A data set in numbers, and what looks wrong with it.

    Attributes:
      name, task: of the data set.
      inputs, outputs: of a fully connected network for it.
      parts: by name.
      constant_features: inputs that have one value in the whole training part.
      shared_with_train: for the other parts, how many of their examples have the inputs of a
        training example.
      bytes: memory of all parts.
      notes: what was found that a user may not expect, as sentences.
      warnings: sentences for the user; empty where nothing looks wrong.
    """

    name: str
    task: str
    inputs: int
    outputs: int
    parts: dict[str, PartReport]
    constant_features: int
    shared_with_train: dict[str, int]
    bytes: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return asdict(self)


def check_dataset(dataset: Dataset) -> Report:
    """Examines every part of a data set.

    Loading has refused what cannot be trained on; this finds what can, but perhaps should not.
    """
    whole: Any = {name: replace(part, x=np.asarray(part.x)) for name, part in dataset.parts.items()}
    dataset = replace(dataset, **whole)
    rows = {name: _row_hashes(part.x) for name, part in dataset.parts.items()}
    parts = {
        name: _report_part(part, rows[name], dataset.classes)
        for name, part in dataset.parts.items()
    }
    train_rows = set(rows["train"])
    shared = {
        name: sum(row in train_rows for row in hashes)
        for name, hashes in rows.items()
        if name != "train"
    }
    flat = dataset.train.x.reshape(len(dataset.train), -1)
    constant = np.flatnonzero(flat.min(axis=0) == flat.max(axis=0))
    return Report(
        name=dataset.name,
        task=dataset.task,
        inputs=dataset.inputs,
        outputs=dataset.outputs,
        parts=parts,
        constant_features=len(constant),
        shared_with_train=shared,
        bytes=sum(part.bytes for part in parts.values()),
        notes=dataset.notes,
        warnings=tuple(_warnings(dataset, parts, shared, constant)),
    )


def _report_part(part: Part, rows: list[bytes], classes: tuple[str, ...]) -> PartReport:
    counts: dict[str, int] = {}
    targets: tuple[dict[str, float], ...] = ()
    if classes:
        several = part.y.ndim == 2
        held = part.y.sum(axis=0) if several else np.bincount(part.y, minlength=len(classes))
        numbers = held.astype(int).tolist()
        counts = dict(zip(classes, numbers, strict=True))
    else:
        targets = tuple(
            {
                "low": float(column.min()),
                "high": float(column.max()),
                "mean": float(column.mean(dtype=np.float64)),
                "deviation": float(column.std(dtype=np.float64)),
            }
            for column in part.y.T
        )
    return PartReport(
        examples=len(part),
        inputs=tuple(int(size) for size in part.x.shape[1:]),
        dtype=str(part.x.dtype),
        low=float(part.x.min()),
        high=float(part.x.max()),
        mean=float(part.x.mean(dtype=np.float64)),
        targets=targets,
        class_counts=counts,
        non_finite=_non_finite(part.x) + _non_finite(part.y),
        repeated=len(rows) - len(set(rows)),
        bytes=part.x.nbytes + part.y.nbytes,
    )


def _warnings(
    dataset: Dataset, parts: dict[str, PartReport], shared: dict[str, int], constant: Array
) -> list[str]:
    found = []
    for name, report in parts.items():
        if report.non_finite:
            found.append(
                f"{name}: {plural(report.non_finite, 'value is', 'values are')} not finite"
            )
        absent = [label for label, count in report.class_counts.items() if count == 0]
        if absent:
            found.append(f"{name}: no example of {_some(absent, dataset)}")
        weights = dataset.parts[name].weights
        if weights is not None and not weights.all():
            found.append(f"{name}: {plural(int((weights == 0).sum()), 'example')} of weight 0")
    for name, count in shared.items():
        if count:
            found.append(
                f"{name}: {count} of {parts[name].examples} examples have the same inputs as a "
                "training example, so its result flatters"
            )
    found += _few(dataset, parts)
    counts = [count for count in parts["train"].class_counts.values() if count]
    if dataset.task == "classification" and max(counts) > 10 * min(counts):
        found.append(
            f"train: the largest class has {plural(max(counts), 'example')}, the smallest "
            f"{min(counts)}"
        )
    # The borders of images are constant as a rule; a constant column of a table says nothing.
    if len(constant) and len(dataset.train.x.shape) == 2:
        names = dataset.encoding.inputs if dataset.encoding is not None else ()
        which = ": " + _listed([names[i] for i in constant]) if names else ""
        found.append(f"train: {len(constant)} of {dataset.inputs} features never change{which}")
    elif len(constant) == dataset.inputs:
        found.append("train: all inputs are the same")
    return found


def _few(dataset: Dataset, parts: dict[str, PartReport]) -> list[str]:
    """What is odd about the numbers of examples, classes and targets."""
    found, train = [], parts["train"].examples
    examples = sum(part.examples for part in parts.values())
    if examples < FEW:
        measured = ", and none measures the result"
        if "test" in parts:
            measured = f", of which {parts['test'].examples} measure the result"
        found.append(
            f"only {plural(examples, 'example')}{measured}: it will vary much with the seed"
        )
    if dataset.task == "regression":
        if dataset.outputs > 1:
            found.append(f"{dataset.outputs} targets, which one network predicts together")
        for number, column in enumerate(dataset.train.y.T, start=1):
            values = len(np.unique(column))
            which = "" if dataset.outputs == 1 else f" {number}"
            if values == 1:
                found.append(f"train: target{which} never changes")
            elif values <= 3 < train:
                found.append(
                    f"train: target{which} has {values} values alone; if they are classes, write "
                    "data.task: classification"
                )
        return found
    counts = parts["train"].class_counts.items()
    single = [label for label, count in counts if count == 1]
    if single:
        found.append(f"train: a single example of {_some(single, dataset)}")
    if dataset.task == "multilabel":
        always = [label for label, count in counts if count == train]
        return [*found, f"train: {_some(always, dataset)} holds always"] if always else found
    if dataset.outputs > 10 and 2 * dataset.outputs > train:
        found.append(
            f"{dataset.outputs} classes for {plural(train, 'example')}; if they are numbers to "
            "predict, write data.task: regression"
        )
    return found


def _some(names: list[str], dataset: Dataset, limit: int = 5) -> str:
    what = "label" if dataset.task == "multilabel" else "class"
    return _listed([f"{what} {name}" for name in names], limit)


def _listed(names: list[str], limit: int = 5) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def _row_hashes(x: Array) -> list[bytes]:
    """A hash of every example; equal inputs have equal hashes."""
    return [
        hashlib.blake2b(np.ascontiguousarray(row).tobytes(), digest_size=16).digest() for row in x
    ]


def _non_finite(values: Array) -> int:
    return int(np.sum(~np.isfinite(values))) if values.dtype.kind == "f" else 0
