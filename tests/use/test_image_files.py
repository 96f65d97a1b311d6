from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import DataError
from senn_cli.use.image_files import files_below, read_images, require_images

Image = pytest.importorskip("PIL.Image")


def how(shape: tuple[int, ...], dtype: str = "uint8") -> Preprocessing:
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    return Preprocessing("classification", shape, dtype, ("a", "b"), zero, one, zero, one)


def save(path: Path, pixels: np.ndarray) -> Path:
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path


def test_pixels_of_the_runs_size_stay_as_they_are(tmp_path: Path) -> None:
    gray = np.arange(16).reshape(4, 4)
    color = np.arange(48).reshape(4, 4, 3)
    path = save(tmp_path / "g.png", gray)
    np.testing.assert_array_equal(read_images([path, path], how((4, 4))), [gray, gray])
    np.testing.assert_array_equal(read_images([path], how((4, 4, 1))), gray[None, :, :, None])
    path = save(tmp_path / "c.png", color)
    np.testing.assert_array_equal(read_images([path], how((4, 4, 3))), color[None])


def test_others_are_brought_to_it(tmp_path: Path) -> None:
    # The middle of a wide image, halved; gray becomes three equal channels.
    pixels = np.repeat([[0, 0, 100, 100, 200, 200, 0, 0]], 4, axis=0)
    found = read_images([save(tmp_path / "a.png", pixels)], how((2, 2, 3)))
    assert found.shape == (1, 2, 2, 3)
    assert (found[..., 0] == found[..., 2]).all()
    assert found[0, 0, 0, 0] < found[0, 0, 1, 0]
    # Colors become gray by 0.299 R + 0.587 G + 0.114 B.
    red = np.zeros((2, 2, 3))
    red[..., 0] = 200
    assert read_images([save(tmp_path / "r.png", red)], how((2, 2)))[0, 0, 0] == 60


def test_oblong_examples_need_images_of_their_size(tmp_path: Path) -> None:
    good = save(tmp_path / "a.png", np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(read_images([good], how((2, 3)))[0], np.arange(6).reshape(2, 3))
    bad = save(tmp_path / "b.png", np.zeros((3, 2)))
    with pytest.raises(DataError, match=r"b\.png has 2x3 pixels, but the run's examples have 3x2"):
        read_images([good, bad], how((2, 3)))


def test_damaged_files_are_all_named(tmp_path: Path) -> None:
    whole = save(tmp_path / "a.png", np.arange(400).reshape(20, 20) % 256)
    (tmp_path / "b.png").write_bytes(whole.read_bytes()[:60])
    (tmp_path / "c.jpg").write_text("no image")
    with pytest.raises(DataError, match=r"2 images are faulty, of 3:\n.*b\.png.*\n.*c\.jpg"):
        read_images(files_below(tmp_path), how((4, 4)))


def test_folders(tmp_path: Path) -> None:
    for name in ("b.png", "deep/a.JPG", ".hidden.png", "Thumbs.db"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_below(tmp_path) == [tmp_path / "b.png", tmp_path / "deep/a.JPG"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty holds no images"):
        files_below(tmp_path / "empty")


@pytest.mark.parametrize(
    ("shape", "dtype"), [((4, 4), "float32"), ((16,), "uint8"), ((4, 4, 2), "uint8")]
)
def test_examples_that_are_no_images(shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(DataError, match="no 8-bit images"):
        require_images(how(shape, dtype))
