"""What a data set is to the rest of the program: plain arrays in parts, and how they are scaled."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log2
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from senn_cli.data.rows import taken

if TYPE_CHECKING:
    from senn_cli.data.encoding import Encoding

Task = Literal["classification", "multilabel", "regression"]

Link = Literal["softmax", "logistic", "log", "identity"]
"""What a network's outputs are of the answers: their logits, each on its own or together, the
logarithms of rates, or the (scaled) predictions themselves."""
Array = NDArray[Any]


def link_of(task: Task, *, counts: bool = False) -> Link:
    """The link of a task, whose targets are `counts` or not."""
    if task == "regression":
        return "log" if counts else "identity"
    return "softmax" if task == "classification" else "logistic"


@dataclass(frozen=True)
class Part:
    """Examples that belong together: the training, validation or test part.

    Attributes:
      x: inputs as stored, `(N, *shape)`, uint8, float32 or float64; in memory, or `Rows` of a
        file that is mapped, which are read where they are asked for.
      y: targets, class numbers int32 `(N,)`, or values float32 or float64 `(N, k)`; of several
        labels which hold, 0 or 1.
      ids: row numbers in the source, int64 `(N,)`. Where the source has a test part of its own, the
        test rows are counted on after the training rows, so that no id occurs twice.
      weights: how much every example counts, float32 `(N,)`, none negative; None where all count
        alike.
    """

    x: Array
    y: Array
    ids: Array
    weights: Array | None = None

    def __post_init__(self) -> None:
        """Raises ValueError where the arrays disagree on the number of examples."""
        lengths = [len(a) for a in (self.x, self.y, self.ids, self.weights) if a is not None]
        if len(set(lengths)) > 1:
            raise ValueError(f"x, y, ids and weights differ in length: {lengths}")

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.x)

    def take(self, rows: Array) -> Part:
        """The part made of these positions, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        return Part(taken(self.x, rows), self.y[rows], self.ids[rows], weights)


@dataclass(frozen=True)
class Source:
    """What one source delivers, before anything is split, thinned out or scaled.

    Attributes:
      name: the source's name in a spec.
      task: "classification" or "regression".
      train: all rows but those of the official test part.
      test: the official test part; None where the source has none.
      classes: names of the classes in the order of their numbers; empty for regression.
      validation: the user's own validation part; None where one is to be held out.
      notes: what was found that a user may not expect, as sentences; `senn data check` and the
        start of a run show them.
      encoding: what the columns of a table are; None where the inputs are no table.
    """

    name: str
    task: Task
    train: Part
    test: Part | None
    classes: tuple[str, ...] = ()
    validation: Part | None = None
    notes: tuple[str, ...] = ()
    encoding: Encoding | None = None


@dataclass(frozen=True)
class Dataset:
    """A source split into its parts, and the scaling fitted on the training part.

    A network's input is `(x - shift) * scale`, flattened where it is fully connected, and for
    regression it is trained on `(y - target_shift) * target_scale`; both scalings multiply by the
    reciprocal of a standard deviation. A prediction in the user's units is
    `output / target_scale + target_shift`. Counts are not scaled: the network yields the logarithm
    of their rate.

    Attributes:
      name: the source's name in a spec.
      task: a class of several, several labels, or numbers.
      train: what is learned from.
      validation: held-out examples for choices made during training; None where there are none.
      test: the final measure, never used for a choice; without rows where nothing is set aside.
      classes: names of the classes in the order of their numbers; empty for regression.
      shift, scale: broadcastable to the shape of one example; float64 where the inputs are, else
        float32.
      target_shift, target_scale: `(k,)`, float64 where the targets are, else float32; zeros and
        ones of shape `(1,)` for classification.
      notes: what was found that a user may not expect, as sentences.
      encoding: how rows of a table became inputs; None where the inputs are no table.
      counts: whether the targets are counts.
    """

    name: str
    task: Task
    train: Part
    validation: Part | None
    test: Part
    classes: tuple[str, ...]
    shift: Array
    scale: Array
    target_shift: Array
    target_scale: Array
    notes: tuple[str, ...] = ()
    encoding: Encoding | None = None
    counts: bool = False

    @property
    def link(self) -> Link:
        """What the network's outputs are of the answers."""
        return link_of(self.task, counts=self.counts)

    @property
    def unit(self) -> float:
        """What the device counts targets of float64 in: a power of two near their deviation.

        So their squares stay within float32's range, and nothing is rounded.
        """
        if self.task != "regression" or self.counts or self.train.y.dtype != np.float64:
            return 1.0
        return 2.0 ** -floor(log2(float(self.target_scale.min())))

    @property
    def inputs(self) -> int:
        """The number of inputs of a fully connected network: one example, flattened."""
        return int(np.prod(self.train.x.shape[1:], dtype=np.int64))

    @property
    def outputs(self) -> int:
        """The number of outputs: the classes or labels, or the target values of one example."""
        return int(self.train.y.shape[1]) if self.task == "regression" else len(self.classes)

    @property
    def parts(self) -> dict[str, Part]:
        """The parts that exist, by name, in the order train, validation, test."""
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: part for name, part in named.items() if part is not None and len(part)}
