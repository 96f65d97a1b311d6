"""The one conversion of image files, against pixel values known from how the files were made."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from senn_cli.data.images import convert_all, decode, decode_all
from senn_cli.errors import DataError

RGB = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [10, 20, 30]]], np.uint8)


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)
    return path


def png(tmp_path: Path, image: Image.Image, **options: object) -> Path:
    return saved(tmp_path / "a.png", image, **options)


def test_a_color_png_is_kept_bit_for_bit(tmp_path: Path) -> None:
    image = decode(png(tmp_path, Image.fromarray(RGB)), None, 3)
    assert image.dtype == np.uint8
    assert np.array_equal(image, RGB)


def test_gray_becomes_three_equal_channels(tmp_path: Path) -> None:
    gray = np.array([[0, 128], [255, 7]], np.uint8)
    file = png(tmp_path, Image.fromarray(gray))
    assert np.array_equal(decode(file, None, 3), np.repeat(gray[..., None], 3, axis=2))
    assert np.array_equal(decode(file, None, 1), gray[..., None])


def test_color_becomes_gray_by_the_luma_of_its_channels(tmp_path: Path) -> None:
    gray = decode(png(tmp_path, Image.fromarray(RGB)), None, 1)
    assert gray.shape == (2, 2, 1)
    expected = RGB @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(gray[..., 0], expected, atol=1)


def test_transparency_is_laid_on_white(tmp_path: Path) -> None:
    pixels = np.array([[[0, 0, 0, 0], [200, 100, 50, 255], [0, 0, 0, 51]]], np.uint8)
    image = decode(png(tmp_path, Image.fromarray(pixels)), None, 3)
    # 51 of 255 is a fifth of black on white: 0.8 * 255 = 204.
    assert image.tolist() == [[[255] * 3, [200, 100, 50], [204] * 3]]
    gray = Image.fromarray(np.array([[[0, 0], [90, 255]]], np.uint8))
    assert gray.mode == "LA"
    assert decode(png(tmp_path, gray), None, 1).tolist() == [[[255], [90]]]


def test_palettes_with_and_without_transparency(tmp_path: Path) -> None:
    image = Image.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 0, 255, 9, 9, 9])
    image.putdata([0, 1, 2])
    assert decode(png(tmp_path, image), None, 3).tolist() == [[[255, 0, 0], [0, 0, 255], [9] * 3]]
    with_hole = png(tmp_path, image, transparency=1)
    assert decode(with_hole, None, 3).tolist() == [[[255, 0, 0], [255] * 3, [9] * 3]]
    by_bytes = png(tmp_path, image, transparency=bytes([255, 255, 0]))
    assert decode(by_bytes, None, 3).tolist() == [[[255, 0, 0], [0, 0, 255], [255] * 3]]


def test_a_color_key_is_transparent(tmp_path: Path) -> None:
    file = png(tmp_path, Image.fromarray(RGB), transparency=(10, 20, 30))
    assert decode(file, None, 3)[1, 1].tolist() == [255, 255, 255]


def test_sixteen_bits_become_eight_by_the_nearest_value(tmp_path: Path) -> None:
    values = np.array([[0, 257, 65535, 128, 129, 32896]], np.uint16)
    image = decode(png(tmp_path, Image.fromarray(values)), None, 1)
    assert image[0, :, 0].tolist() == [0, 1, 255, 0, 1, 128]
    assert decode(tmp_path / "a.png", None, 3)[0, 2].tolist() == [255] * 3


def made(
    path: Path, depth: int, color: int, row: bytes, clear: bytes = b"", palette: bytes = b""
) -> Path:
    """A PNG of one row of four pixels, written by the format's definition."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    content = b"\x89PNG\r\n\x1a\n"
    content += chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 1, depth, color, 0, 0, 0))
    content += chunk(b"PLTE", palette) if palette else b""
    content += chunk(b"tRNS", clear) if clear else b""
    content += chunk(b"IDAT", zlib.compress(b"\0" + row)) + chunk(b"IEND", b"")
    path.write_bytes(content)
    return path


def words(*values: int) -> bytes:
    return struct.pack(f">{len(values)}H", *values)


GRAY, COLOR, PALETTE, GRAY_ALPHA, COLOR_ALPHA = 0, 2, 3, 4, 6


@pytest.mark.parametrize(
    ("depth", "row", "clear", "without", "with_clear"),
    [
        (1, b"\x40", 1, [0, 255, 0, 0], [0, 255, 0, 0]),
        (1, b"\x40", 0, [0, 255, 0, 0], [255, 255, 255, 255]),
        (2, b"\x1b", 2, [0, 85, 170, 255], [0, 85, 255, 255]),
        (4, b"\x07\xf1", 7, [0, 119, 255, 17], [0, 255, 255, 17]),
        (8, bytes([1, 2, 3, 4]), 3, [1, 2, 3, 4], [1, 2, 255, 4]),
        # 300 and 301 both become 1, of which 300 alone is transparent.
        (16, words(0, 300, 301, 65535), 300, [0, 1, 1, 255], [0, 255, 1, 255]),
    ],
)
def test_one_transparent_gray_at_every_depth(
    tmp_path: Path, depth: int, row: bytes, clear: int, without: list[int], with_clear: list[int]
) -> None:
    for key, expected in ((b"", without), (words(clear), with_clear)):
        file = made(tmp_path / "a.png", depth, GRAY, row, key)
        assert decode(file, None, 1)[0, :, 0].tolist() == expected
        assert decode(file, None, 3)[0].tolist() == [[value] * 3 for value in expected]


def test_one_transparent_color_at_both_depths(tmp_path: Path) -> None:
    row = bytes([9, 8, 7, 3, 4, 5, 3, 4, 6, 0, 0, 0])
    expected = [[9, 8, 7], [255] * 3, [3, 4, 6], [0] * 3]
    file = made(tmp_path / "a.png", 8, COLOR, row, words(3, 4, 5))
    assert decode(file, None, 3)[0].tolist() == expected
    wide = words(*(257 * value for value in row))
    file = made(tmp_path / "a.png", 16, COLOR, wide, words(3 * 257, 4 * 257, 5 * 257))
    assert decode(file, None, 3)[0].tolist() == expected


def test_alpha_of_sixteen_bits_and_of_palettes(tmp_path: Path) -> None:
    gray = words(257, 65535, 257 * 200, 0, 0, 257 * 51, 257 * 7, 65535)
    file = made(tmp_path / "a.png", 16, GRAY_ALPHA, gray)
    assert decode(file, None, 1)[0, :, 0].tolist() == [1, 255, 204, 7]
    color = words(*(257 * v for v in (1, 2, 3, 255, 9, 9, 9, 0, 0, 0, 0, 51, 4, 5, 6, 255)))
    file = made(tmp_path / "a.png", 16, COLOR_ALPHA, color)
    assert decode(file, None, 3)[0].tolist() == [[1, 2, 3], [255] * 3, [204] * 3, [4, 5, 6]]
    colors = bytes([10, 20, 30, 0, 0, 0, 40, 50, 60, 70, 80, 90])
    file = made(tmp_path / "a.png", 2, PALETTE, b"\x1b", bytes([255, 51, 0]), colors)
    assert decode(file, None, 3)[0].tolist() == [[10, 20, 30], [204] * 3, [255] * 3, [70, 80, 90]]


def test_an_animated_png_gives_its_first_picture(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (2, 2), (value, 0, 0)) for value in (50, 100)]
    file = tmp_path / "a.png"
    frames[0].save(file, save_all=True, append_images=frames[1:])
    with Image.open(file) as image:
        assert getattr(image, "n_frames", 1) == 2
    assert decode(file, None, 3)[0, 0].tolist() == [50, 0, 0]


def test_black_and_white_bits(tmp_path: Path) -> None:
    bits = Image.fromarray(np.array([[0, 255]], np.uint8)).convert("1")
    assert decode(png(tmp_path, bits), None, 3).tolist() == [[[0] * 3, [255] * 3]]


def test_a_jpeg_in_cmyk_and_one_in_gray(tmp_path: Path) -> None:
    red = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    image = decode(saved(tmp_path / "a.jpg", red, quality=95), None, 3)
    assert image[..., 0].min() > 240
    assert image[..., 1:].max() < 30
    gray = saved(tmp_path / "b.jpeg", Image.new("L", (8, 8), 100))
    assert np.ptp(decode(gray, None, 3), axis=2).max() == 0


def test_the_camera_s_rotation_is_carried_out(tmp_path: Path) -> None:
    upright = Image.new("RGB", (16, 8), "white")
    upright.paste("red", (0, 0, 8, 8))  # the left half
    exif = Image.Exif()
    exif[0x0112] = 6  # stored turned: it must be turned by 90 degrees clockwise to be seen upright
    stored = upright.transpose(Image.Transpose.ROTATE_90)
    image = decode(saved(tmp_path / "a.jpg", stored, exif=exif, quality=95), None, 3)
    assert image.shape == (8, 16, 3)
    assert image[:, :4, 1].max() < 40
    assert image[:, 12:, 1].min() > 215


def test_a_size_takes_the_centre_square(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (10, 30, 3), dtype=np.uint8)
    wide, tall = Image.fromarray(pixels), Image.fromarray(pixels.transpose(1, 0, 2).copy())
    assert np.array_equal(decode(png(tmp_path, wide), 10, 3), pixels[:, 10:20])
    for size in (5, 20):
        whole = np.asarray(wide.resize((3 * size, size), Image.Resampling.BILINEAR)).astype(int)
        middle = whole[:, size : 2 * size]
        assert abs(decode(png(tmp_path, wide), size, 3) - middle).max() <= 1
        middle = middle.transpose(1, 0, 2)
        assert abs(decode(png(tmp_path, tall), size, 3) - middle).max() <= 1
    assert decode(png(tmp_path, Image.new("L", (1, 300))), 7, 1).shape == (7, 7, 1)


def test_shrinking_averages(tmp_path: Path) -> None:
    board = (np.indices((64, 64)).sum(axis=0) % 2 * 255).astype(np.uint8)
    small = decode(png(tmp_path, Image.fromarray(board)), 8, 1)
    assert abs(small.astype(int) - 127).max() <= 2  # a filter that skips pixels gives 0 or 255


def test_every_faulty_file_is_named(tmp_path: Path) -> None:
    good = png(tmp_path, Image.fromarray(RGB))
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8))
    content = io.BytesIO()
    noise.save(content, "JPEG")
    (tmp_path / "cut.jpg").write_bytes(content.getvalue()[: len(content.getvalue()) // 2])
    content = io.BytesIO()
    noise.save(content, "PNG")
    (tmp_path / "cut.png").write_bytes(content.getvalue()[: len(content.getvalue()) // 2])
    (tmp_path / "head.png").write_bytes(content.getvalue()[:20])
    (tmp_path / "page.jpg").write_text("<html>not found</html>")
    (tmp_path / "empty.png").touch()
    noise.save(tmp_path / "other.png", "GIF")
    bad = ["cut.jpg", "cut.png", "empty.png", "head.png", "other.png", "page.jpg", "absent.png"]
    with pytest.raises(DataError) as caught:
        decode_all([good, *(tmp_path / name for name in bad)], 8, 3)
    lines = caught.value.message.splitlines()
    assert lines[0] == "7 images are faulty, of 8:"
    assert [line.split()[0] for line in lines[1:]] == [str(tmp_path / name) for name in bad]
    assert caught.value.exit_code == 2
    assert lines[3].endswith("empty.png is empty")
    assert lines[5].endswith("; it looks like a GIF image; convert it to PNG")
    assert lines[6].endswith("page.jpg is neither a PNG nor a JPEG image; it looks like a web page")
    assert lines[7].endswith("absent.png cannot be decoded: No such file or directory")


def test_any_cut_of_a_file_is_a_fault_or_an_image(tmp_path: Path) -> None:
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (12, 12), np.uint8))
    for kind in ("PNG", "JPEG"):
        content = io.BytesIO()
        image.save(content, kind)
        whole = content.getvalue()
        for stop in range(0, len(whole), 7):
            (tmp_path / "cut").write_bytes(whole[:stop])
            try:
                assert decode(tmp_path / "cut", None, 1).shape == (12, 12, 1)
            except DataError as error:
                assert str(tmp_path / "cut") in error.message


def test_order_is_kept_and_damaged_side_information_is_no_warning(tmp_path: Path) -> None:
    paths = [
        saved(tmp_path / f"{i}.png", Image.new("L", (3, 2), i), exif=b"Exif\0\0broken" + bytes(9))
        for i in range(50)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images = decode_all(paths, None, 1)
    assert images.shape == (50, 2, 3, 1)
    assert images[:, 0, 0, 0].tolist() == list(range(50))


def test_images_of_several_sizes_need_a_size(tmp_path: Path) -> None:
    paths = [
        saved(tmp_path / f"{i}.png", Image.new("RGB", size))
        for i, size in enumerate([(8, 6), (8, 6), (5, 5)])
    ]
    with pytest.raises(DataError, match="the images differ in size") as caught:
        decode_all(paths, None, 3)
    assert caught.value.message.splitlines()[1:] == [
        f"8x6 pixels: 2, such as {paths[0]}",
        f"5x5 pixels: 1, such as {paths[2]}",
    ]
    assert "data.size" in str(caught.value.hint)
    assert decode_all(paths, 4, 3).shape == (3, 4, 4, 3)


def test_stored_pixels_are_converted_like_files(tmp_path: Path) -> None:
    images = np.random.default_rng(2).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)
    assert convert_all(images, None, 3) is images
    assert convert_all(images, 8, 3) is images
    for size, channels in ((None, 1), (4, 3), (16, 1)):
        converted = convert_all(images, size, channels)
        for pixels, result in zip(images, converted, strict=True):
            assert np.array_equal(
                result, decode(png(tmp_path, Image.fromarray(pixels)), size, channels)
            )
