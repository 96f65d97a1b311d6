"""From image files, or stored pixels, to uint8 arrays: one conversion for every source.

A file is PNG or JPEG, of any mode: black and white, gray of 2 to 16 bits, palette, color of 8 or 16
bits a channel, each with or without transparency (an alpha channel, or one value or palette entries
that are transparent), CMYK. Of an animated PNG the first picture is taken; GIF, WebP, TIFF and
others are refused. Notes on color profiles and gamma are not applied. In this order:

1. the rotation that a camera noted (EXIF) is carried out; notes that can't be read turn nothing;
2. what has 2 or 4 bits is spread over 0 to 255; 16-bit gray becomes 8-bit (the nearest of v / 257).
   Pillow gives of 16-bit colors and of 16-bit gray with alpha the high bytes alone, so a color that
   is transparent is told by its high bytes there;
3. what is transparent is laid on white;
4. colors become RGB, or for one channel gray by 0.299 R + 0.587 G + 0.114 B; gray becomes RGB with
   three equal channels;
5. with a `size`, the shorter side is resized to it by Pillow's bilinear filter, which averages over
   all pixels where it shrinks, and the middle of the longer side is cut out.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.errors import DataError
from senn_cli.given import looks_like, require_file

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG")
_STEPS = {"1": 255, "L;2": 85, "L;4": 17}
_MOST_THREADS = 16


def decode(path: Path, size: int | None, channels: int) -> Array:
    """One image file as uint8 `(H, W, channels)`.

    Args:
      path: a PNG or JPEG.
      size: height and width of the result; None to keep the image's own.
      channels: 1 or 3.

    Raises:
      DataError: the file cannot be read, is no image or is damaged; names it.
    """
    from PIL import Image, UnidentifiedImageError

    require_file(path)
    try:
        with Image.open(path, formats=_FORMATS) as image:
            stored = str(image.tile[0][3]) if image.tile else ""
            image.load()
            _spread_transparency(image, stored)
            return _pixels(_sized(_converted(image, channels), size), channels)
    except UnidentifiedImageError:
        raise DataError(f"{path} {_no_image(looks_like(path))}") from None
    except MemoryError:
        raise
    except Exception as error:  # a damaged file can raise almost anything in Pillow
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DataError(f"{path} cannot be decoded: {reason}") from error


def decode_all(paths: Sequence[Path], size: int | None, channels: int) -> Array:
    """All image files as one array uint8 `(N, H, W, channels)`, decoded in several threads.

    Raises:
      DataError: names every file that is faulty, or what sizes there are if they differ and `size`
        is None.
    """
    faults: list[str] = []
    sizes: Counter[tuple[int, ...]] = Counter()
    examples: dict[tuple[int, ...], Path] = {}
    images = np.empty(0, np.uint8)

    def attempt(path: Path) -> Array | str:
        try:
            return decode(path, size, channels)
        except DataError as error:
            return error.message

    # Pillow warns of damaged side information (EXIF, text), which does not concern the pixels.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(_threads()) as pool:
            # Filled as they come: a list of all beside the array would take twice the memory.
            for row, (path, found) in enumerate(zip(paths, pool.map(attempt, paths), strict=True)):
                if isinstance(found, str):
                    faults.append(found)
                    continue
                if not sizes:
                    images = np.empty((len(paths), *found.shape), np.uint8)
                if found.shape == images.shape[1:]:
                    images[row] = found
                sizes[found.shape[:2]] += 1
                examples.setdefault(found.shape[:2], path)
    if faults:
        number = "one image is" if len(faults) == 1 else f"{len(faults)} images are"
        raise DataError(
            f"{number} faulty, of {len(paths)}:\n" + "\n".join(faults),
            hint="replace or remove what is listed",
        )
    if len(sizes) > 1:
        raise _several_sizes(sizes, examples)
    return images


def convert_all(images: Array, size: int | None, channels: int) -> Array:
    """Stored color images in another size or as gray, by the same filters as files.

    Args:
      images: uint8 `(N, H, W, 3)`.
      size: height and width of the result; None to keep them.
      channels: 1 or 3.

    Returns:
      uint8 `(N, H, W, channels)`; `images` itself where nothing changes.
    """
    if channels == 3 and (size is None or images.shape[1:3] == (size, size)):
        return images
    from PIL import Image

    def convert(pixels: Array) -> Array:
        image = _converted(Image.fromarray(pixels), channels)
        return _pixels(_sized(image, size), channels)

    side = images.shape[1:3] if size is None else (size, size)
    converted = np.empty((len(images), *side, channels), np.uint8)
    with ThreadPoolExecutor(_threads()) as pool:
        for row, found in enumerate(pool.map(convert, images)):
            converted[row] = found
    return converted


def upright(image: Image.Image) -> Array:
    """An image of Pillow as uint8, gray `(H, W)` if it is, else in color `(H, W, 3)`."""
    gray = image.mode in ("1", "L", "LA") or image.mode.startswith("I")
    pixels = _pixels(_converted(image, 1 if gray else 3), 1 if gray else 3)
    return pixels[..., 0] if gray else pixels


def _no_image(like: str | None) -> str:
    """What is wrong with a file that is no image here, from what it looks like."""
    if like is None:
        return "is neither a PNG nor a JPEG image, or damaged"
    if like == "an empty file":
        return "is empty"
    if like in ("a PNG image", "a JPEG image"):
        return f"looks like {like}, but is damaged"
    convert = "; convert it to PNG" if like.endswith("image") else ""
    return f"is neither a PNG nor a JPEG image; it looks like {like}{convert}"


def _threads() -> int:
    return min(_MOST_THREADS, (os.cpu_count() or 1) + 1)


def _spread_transparency(image: Image.Image, stored: str) -> None:
    """Brings the value that is transparent to the range that Pillow has brought the pixels to.

    Args:
      stored: how pixels lie in the file, in Pillow's words; at other depths both agree.
    """
    clear: Any = image.info.get("transparency")
    if isinstance(clear, int) and stored in _STEPS:
        # Pillow spreads both where there is one bit, in some versions.
        image.info["transparency"] = min(255, clear * _STEPS[stored])
    elif isinstance(clear, tuple) and stored == "RGB;16B":
        image.info["transparency"] = tuple(value >> 8 for value in clear)


def _eight_bit(image: Image.Image) -> Image.Image:
    """16-bit gray as 8-bit; with alpha where one of its values is transparent."""
    from PIL import Image

    values = np.clip(np.asarray(image).astype(np.int64), 0, 65535)
    gray = Image.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8))
    clear = image.info.get("transparency")
    if clear is not None:  # told before the values become fewer
        gray.putalpha(Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
    return gray


def _converted(image: Image.Image, channels: int) -> Image.Image:
    """The image upright, 8-bit, without transparency, in RGB or gray."""
    from PIL import Image, ImageOps

    # Damaged notes beside sound pixels: Pillow raises a SyntaxError and others.
    with contextlib.suppress(Exception):
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16-bit gray; "I" holds the same values in 32 bits
        image = _eight_bit(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image).convert("RGB")
    mode = "L" if channels == 1 else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _sized(image: Image.Image, size: int | None) -> Image.Image:
    from PIL import Image

    if size is None or image.size == (size, size):
        return image
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    box = (left, top, left + side, top + side)
    # Just what resizing the whole and cutting would give: the filter also reads beyond the box.
    return image.resize((size, size), Image.Resampling.BILINEAR, box=box)


def _pixels(image: Image.Image, channels: int) -> Array:
    return np.array(image, np.uint8).reshape(image.height, image.width, channels)


def _several_sizes(
    sizes: Counter[tuple[int, ...]], examples: dict[tuple[int, ...], Path]
) -> DataError:
    shown = [
        f"{size[1]}x{size[0]} pixels: {count}, such as {examples[size]}"
        for size, count in sizes.most_common(5)
    ]
    more = f"\nand {len(sizes) - 5} more sizes" if len(sizes) > 5 else ""
    return DataError(
        "the images differ in size:\n" + "\n".join(shown) + more,
        hint="set data.size, such as 64, to bring all of them to one size",
    )
