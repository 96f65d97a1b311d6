"""The sources that a spec can name, in a line each, for `senn data list`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from senn_cli.data.fetch import whereabouts


@dataclass(frozen=True)
class Entry:
    """One source.

    Attributes:
      name: `data.source` in a spec.
      task: what its targets can be.
      size: training and test examples, in words.
      description: what it is.
      available: whether it can be used without a download.
      where: where it comes from on this machine.
    """

    name: str
    task: str
    size: str
    description: str
    available: bool
    where: str


def entries() -> tuple[Entry, ...]:
    """All sources, those that need nothing first."""
    both = "classification, regression or multilabel"
    return (
        Entry(
            "digits",
            "classification",
            "1797",
            "8x8 handwritten digits of scikit-learn",
            True,
            "installed",
        ),
        Entry(
            "moons",
            "classification",
            "200 + 500 test (settable)",
            "two noisy half circles",
            True,
            "drawn from the seed",
        ),
        Entry(
            "regression",
            "regression",
            "50 + 1000 test (settable)",
            "a curve from a random rational network, one input",
            True,
            "drawn from the seed",
        ),
        *(
            Entry(name, "classification", size, what, *whereabouts(name))
            for name, size, what in (
                ("mnist", "60000 + 10000 test", "28x28 handwritten digits"),
                ("fashion_mnist", "60000 + 10000 test", "28x28 pictures of clothing"),
                ("cifar10", "50000 + 10000 test", "32x32 color pictures, 10 classes"),
                ("cifar100", "50000 + 10000 test", "32x32 color pictures, 100 classes"),
                ("tiny_imagenet", "100000 + 10000 test", "64x64 color pictures, 200 classes"),
            )
        ),
        Entry(
            "folder",
            "classification",
            "yours",
            "class folders of PNG and JPEG images: data.path",
            True,
            "your directory",
        ),
        Entry("npz", both, "yours", "arrays in a NumPy archive: data.path", True, "your file"),
        Entry("csv", both, "yours", "a table: data.path and data.target", True, "your file"),
        Entry(
            "parquet",
            both,
            "yours",
            "a table in Parquet's format: data.path and data.target",
            *_needs("pyarrow", "parquet", "your file or folder"),
        ),
        Entry(
            "sklearn",
            both,
            "20 to 1797; OpenML's any",
            "tables of scikit-learn (data.name) and OpenML (data.openml)",
            True,
            "installed, or downloaded by scikit-learn",
        ),
        Entry(
            "huggingface",
            both,
            "yours, or theirs",
            "tables or images of the library datasets: data.path or data.name",
            *_needs("datasets", "huggingface", "your directory, or downloaded by it"),
        ),
    )


def _needs(module: str, extra: str, where: str) -> tuple[bool, str]:
    """Whether a package is installed, and where the data are or what brings it."""
    if find_spec(module) is not None:
        return True, where
    return False, f"needs {module}: pip install 'senn-cli[{extra}]'"
