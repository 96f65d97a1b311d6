"""What is known of data before they are loaded: how many rows there can be, and of which shape.

Nothing is downloaded and no file is read as a whole, so that `senn validate` stays quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from senn_cli.spec.data import DataSpec, MoonsSpec, NpzSpec, RegressionSpec
from senn_cli.spec.images import (
    Cifar10Spec,
    Cifar100Spec,
    DigitsSpec,
    FashionMnistSpec,
    MnistSpec,
    TinyImagenetSpec,
)
from senn_cli.spec.share import count_of
from senn_cli.spec.sources import OwnFiles
from senn_cli.spec.tables import CsvSpec, SklearnSpec

_LARGEST_TABLE = 50_000_000  # bytes whose lines are counted in a tenth of a second
_BLOCK = 2**20
SKLEARN = {
    "iris": 150,
    "wine": 178,
    "breast_cancer": 569,
    "diabetes": 442,
    "linnerud": 20,
    "digits": 1797,
}
"""The rows of the sets that come with scikit-learn."""

_CLASSES, _PER_CLASS = 200, 500  # of Tiny-ImageNet


@dataclass(frozen=True)
class Known:
    """What is known of a source.

    Attributes:
      rows: rows but those of a test part of its own; of a table the lines, which are the most rows
        that it can have.
      exact: whether there are that many, and not perhaps fewer.
      example: the shape of one example, None where only loading tells.
    """

    rows: int
    exact: bool = True
    example: tuple[int, ...] | None = None


def known(spec: DataSpec) -> Known | None:
    """What is known of the source, None where only loading tells."""
    match spec:
        case DigitsSpec():
            return Known(1797)
        case MoonsSpec() | RegressionSpec():
            return Known(spec.train)
        case MnistSpec() | FashionMnistSpec():
            return Known(60_000)
        case Cifar10Spec() | Cifar100Spec():
            return Known(50_000)
        case TinyImagenetSpec():
            chosen = spec.classes if spec.classes is not None else _CLASSES
            classes = chosen if isinstance(chosen, int) else len(chosen)
            each = _PER_CLASS if spec.per_class is None else min(spec.per_class, _PER_CLASS)
            return Known(classes * each)
        case CsvSpec():
            lines = _lines(spec.path)
            return None if lines is None else Known(lines, exact=False)
        case SklearnSpec() if spec.name is not None:
            return Known(SKLEARN[spec.name])
        case NpzSpec():
            from senn_cli.data.npz import shape_of  # NumPy, for those alone who have an archive

            shape = shape_of(spec.path, spec.inputs)
            return Known(shape[0], example=shape[1:] or (1,)) if shape else None
        case _:
            return None


def training_rows(spec: DataSpec, rows: int) -> int:
    """Examples to train on of `rows`, as `load_dataset` sets the other parts aside; maybe none."""
    owned = isinstance(spec, OwnFiles) and spec.test_path is not None
    share = 0 if owned else getattr(spec, "test", 0)
    if not isinstance(spec, MoonsSpec | RegressionSpec):
        rows -= count_of(share, rows)
    rows -= count_of(spec.validation, rows)
    return rows if spec.subset is None else min(rows, count_of(spec.subset, rows))


def _lines(path: Path) -> int | None:
    """Lines of a table with something in them, None where it is compressed, large or not there."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_TABLE:
            return None
        feeds, returns, last = 0, 0, b"\n"
        with path.open("rb") as file:
            start = file.read(2)
            if start == b"\x1f\x8b":  # gzip
                return None
            block = start
            while block:
                feeds, returns = feeds + block.count(b"\n"), returns + block.count(b"\r")
                last = block[-1:]
                block = file.read(_BLOCK)
    except OSError:
        return None
    # Old files end their lines by a carriage return alone.
    return max(feeds, returns) + (last not in b"\r\n")
