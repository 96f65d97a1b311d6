"""PyTorch's own tensors, data sets and loaders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from senn_cli.data.python import ArgumentError, given

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64", "bool"])
def test_tensors(dtype: str) -> None:
    tensor = torch.tensor([[0.0, 1.0], [1.0, 0.0]], requires_grad=dtype == "float32")
    found = given(tensor.to(getattr(torch, dtype)), torch.tensor([1, 0]), task="classification")
    np.testing.assert_array_equal(found.x, [[0, 1], [1, 0]])
    assert found.y is not None
    assert found.y.tolist() == [1, 0]
    np.testing.assert_array_equal(given([tensor[0], tensor[1]]).x, [[0, 1], [1, 0]])


def test_images_have_their_channels_last() -> None:
    images = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 3, 4, 5)
    found = given(images)
    np.testing.assert_array_equal(found.x, images.permute(0, 2, 3, 1).numpy())
    assert found.notes == ("X: images of the shape (3, 4, 5) became (4, 5, 3), channels last",)


def pairs(count: int) -> Any:
    x = torch.arange(count * 2, dtype=torch.float32).reshape(count, 2)
    return torch.utils.data.TensorDataset(x, torch.arange(count) % 3)


@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": None}, {"num_workers": 0}])
def test_a_loader_and_its_data_set_are_alike(options: dict[str, Any]) -> None:
    whole = given(pairs(10), task="classification")
    loaded = given(torch.utils.data.DataLoader(pairs(10), **options), task="classification")
    np.testing.assert_array_equal(loaded.x, whole.x)
    assert whole.y is not None and loaded.y is not None
    assert loaded.y.tolist() == whole.y.tolist() == [n % 3 for n in range(10)]
    assert loaded.notes == ("X: 10 examples of a DataLoader were read into memory, 80 B",)


def test_pictures_of_a_data_set_without_a_transform() -> None:
    class Pictures(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, number: int) -> tuple[Image.Image, int]:
            return Image.new("RGB", (5, 4), (number, 0, 9)), number

    found = given(Pictures())
    assert isinstance(found.x, np.ndarray)
    assert (found.x.shape, found.x.dtype) == ((3, 4, 5, 3), np.uint8)
    assert found.x[2, 0, 0].tolist() == [2, 0, 9]


def test_a_stream() -> None:
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return ((torch.ones(2) * n, float(n)) for n in range(3))

    found = given(torch.utils.data.DataLoader(Numbers(), batch_size=2), task="regression")
    np.testing.assert_array_equal(found.x, [[0, 0], [1, 1], [2, 2]])
    assert found.y is not None
    assert found.y.tolist() == [[0], [1], [2]]


def test_faults() -> None:
    with pytest.raises(ArgumentError, match="X: the tensor is no array of numbers"):
        given(torch.eye(3).to_sparse())
