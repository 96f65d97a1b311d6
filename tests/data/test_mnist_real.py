"""With the real files, where the environment variable SENN_DATA names them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from senn_cli.data import mnist
from senn_cli.data.idx import read_idx
from senn_cli.data.published import MNIST
from senn_cli.errors import DataError

# MD5 of the unpacked files, as published with the data set's mirrors.
UNPACKED_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def test_the_files_are_the_published_ones(senn_data: Path) -> None:
    files = mnist.find(MNIST, senn_data)
    assert files is not None
    for name, path in files.items():
        array = read_idx(path)
        header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        digest = hashlib.md5(header + array.tobytes(), usedforsecurity=False).hexdigest()
        assert digest == UNPACKED_MD5[name]


def test_sizes_and_class_counts(senn_data: Path) -> None:
    source = mnist.load("mnist", senn_data)
    assert source.test is not None
    assert source.train.x.shape == (60_000, 28, 28)
    assert source.test.x.shape == (10_000, 28, 28)
    assert tuple(np.bincount(source.train.y)) == MNIST.train_counts
    assert source.train.y[:5].tolist() == [5, 0, 4, 1, 9]


def test_they_are_not_taken_for_fashion_mnist(senn_data: Path) -> None:
    files = mnist.find(MNIST, senn_data)
    assert files is not None
    with pytest.raises(DataError, match="belongs to mnist"):
        mnist.load("fashion_mnist", next(iter(files.values())).parent)
