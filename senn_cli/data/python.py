"""`given`: what a user has in Python, arrays or frames or data sets, as arrays or a table.

No package is imported for that. What a network learns from is decided by the sources; see
`senn_cli.data.kept` for how what was given becomes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from senn_cli.data.dataset import Array, Task
from senn_cli.data.examples import LIMIT
from senn_cli.data.given_inputs import inputs_of
from senn_cli.data.given_targets import targets_of, weights_of
from senn_cli.data.table import Table
from senn_cli.errors import DataError
from senn_cli.words import plural


class ArgumentError(DataError, ValueError):
    """An argument of the wrong form; a ValueError, too, as scikit-learn's users expect."""


@dataclass(frozen=True)
class Given:
    """What was given, in one of two forms.

    Attributes:
      x: examples `(N, *shape)`, uint8, float32 or float64; or a table of named columns.
      y: labels `(N,)` (integers, booleans or text), values float32 or float64 `(N, k)`, or 0 and 1
        uint8 `(N, k)` for several labels; None where none were given.
      weights: how much every example counts, float32 `(N,)`; None where all count alike.
      targets: the names of the targets, where they have any.
      notes: what was found that a user may not expect, as sentences.
    """

    x: Array | Table
    y: Array | None = None
    weights: Array | None = None
    targets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.x)


def given(
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    task: Task | None = None,
    fills: bool = False,
    limit: int = LIMIT,
) -> Given:
    """Examples, targets and weights as arrays or a table.

    Args:
      x: an array, a list of rows, a tensor, a sparse matrix (it is made dense), a data frame of
        pandas, polars or Arrow, or a `Dataset` or `DataLoader` of PyTorch, which may bring the
        targets. 8-bit arrays stay as they are: images `(N, H, W)` or `(N, H, W, C)`.
      y: labels or values, `(N,)` or `(N, k)`: an array, a list, a tensor, a series or a frame.
      sample_weight: `(N,)`, none negative.
      task: what `y` is checked for; None to take it for what its type says: text and booleans for
        labels, numbers as they are.
      fills: whether gaps (NaN) in `x` will be filled: arrays with gaps become a table then.
      limit: the most bytes that are made of something that is not in memory, or sparse.

    Raises:
      ArgumentError: names the argument, what was found and what to do.
    """
    try:
        inputs, own, notes = inputs_of(x, "X", fills, limit)
        if own is not None and y is not None:
            raise DataError("X yields pairs with targets, but y is given, too", hint="leave y out")
        y = own if y is None else y
        values, names = (None, ()) if y is None else targets_of(y, "y", task)
        weights = None if sample_weight is None else weights_of(sample_weight, "sample_weight")
        for what, array in (("y", values), ("sample_weight", weights)):
            if array is not None and len(array) != len(inputs):
                raise DataError(
                    f"X has {plural(len(inputs), 'example')}, but {what} has {len(array)}: "
                    "inconsistent lengths"
                )
    except DataError as error:
        raise ArgumentError(error.message, hint=error.hint) from error
    return Given(inputs, values, weights, names, tuple(notes))
