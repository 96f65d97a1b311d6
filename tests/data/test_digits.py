from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from senn_cli.data import digits


def test_digits_are_scikit_learns() -> None:
    source = digits.load()
    bunch = load_digits()
    assert source.train.x.shape == (1797, 8, 8)
    assert source.train.x.dtype == np.uint8
    assert source.train.y.dtype == np.int32
    assert np.array_equal(source.train.x.reshape(-1, 64), bunch.data)
    assert np.array_equal(source.train.y, bunch.target)
    assert source.train.ids.tolist() == list(range(1797))
    assert source.classes == tuple("0123456789")
    assert source.test is None


@pytest.mark.parametrize("file", [digits._FILE, "datasets/elsewhere.csv.gz"])
def test_digits_of_another_layout(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digits, "_FILE", file)
    bunch = load_digits()
    assert np.array_equal(digits._table(), np.column_stack([bunch.data, bunch.target]))
