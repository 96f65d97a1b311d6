"""Downloads of single files: checked by a hash, from several mirrors, all or nothing."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from senn_cli.cache import data_cache
from senn_cli.errors import DataError

Say = Callable[[str], None]
Algorithm = Literal["sha256", "md5"]

_TIMEOUT_SECONDS = 30


def say_on_stderr(text: str) -> None:
    """Tells the user on stderr, where it mixes with no command's output."""
    print(text, file=sys.stderr, flush=True)


def cache_directory(name: str) -> Path:
    """Where downloads of a data set are kept, below `senn_cli.cache.data_cache()`."""
    return data_cache() / name


def file_hash(path: Path, algorithm: Algorithm) -> str:
    """The hash of a file in hexadecimal digits."""
    import pooch

    return str(pooch.file_hash(str(path), alg=algorithm))


def download(
    name: str,
    expected: str,
    mirrors: Sequence[str],
    directory: Path,
    *,
    algorithm: Algorithm = "sha256",
    replace: bool = True,
    say: Say = say_on_stderr,
) -> Path:
    """Brings one file into `directory`, unless it is there already.

    A file appears under its name only when it is complete and its hash is right. After a failure
    neither a partial file nor a damaged older one is left.

    Args:
      name: the file's name, on the mirrors and in the directory.
      expected: the hash it must have.
      mirrors: addresses of folders that hold the file, each ending in a slash; tried in order.
      directory: where to put it; made if missing.
      algorithm: of the hash; MD5 only where the authors published nothing better.
      replace: whether an existing file of that name with another hash may be replaced (a cache), or
        is the user's and must be left alone.
      say: is told of every attempt.

    Raises:
      DataError: no mirror delivered it; names every mirror with its fault, and both hashes where
        the content was wrong. Also when the directory cannot be written.
    """
    target = directory / name
    found = file_hash(target, algorithm) if target.is_file() else None
    if found == expected:
        return target
    if found is not None and not replace:
        raise DataError(
            f"{target} exists, but is not the published file: "
            f"its {algorithm} is {found}, expected {expected}",
            hint="move it away, or choose another directory",
        )
    faults = []
    for mirror in mirrors:
        say(f"downloading {mirror}{name}")
        fault = _attempt(mirror + name, name, expected, directory, algorithm)
        if fault is None:
            return target
        say(f"  failed: {fault}")
        faults.append(f"{mirror}{name}: {fault}")
    if found is not None:
        target.unlink(missing_ok=True)
    raise DataError(
        f"{name} could not be downloaded (expected {algorithm} {expected}):\n" + "\n".join(faults)
    )


def _attempt(
    url: str, name: str, expected: str, directory: Path, algorithm: Algorithm
) -> str | None:
    """One download from one mirror; the fault in words, None when the file is in place."""
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)  # `say` speaks for it
    # Without `identity` a server may unpack the .gz on the way, which then has another hash.
    http = pooch.HTTPDownloader(timeout=_TIMEOUT_SECONDS, headers={"Accept-Encoding": "identity"})
    received: list[str] = []

    def downloader(url: str, output: str, pooch_: object) -> None:
        http(url, output, pooch_)
        received.append(_describe(Path(output), algorithm))

    try:
        pooch.retrieve(
            url,
            known_hash=f"{algorithm}:{expected}",
            fname=name,
            path=str(directory),
            downloader=downloader,
        )
    except requests.exceptions.RequestException as error:  # is an OSError too: comes first
        # A plain ConnectionError repeats the address three times around "no such host".
        if type(error) is requests.exceptions.ConnectionError:
            return f"no connection to {urlsplit(url).netloc}"
        return f"{type(error).__name__}: {error}"
    except ValueError:  # pooch's word for a wrong hash; it has deleted the file
        return f"{received[-1]}, expected {algorithm} {expected}"
    except OSError as error:
        raise DataError(f"{directory / name} cannot be written: {error}") from error
    return None


def _describe(path: Path, algorithm: Algorithm) -> str:
    """What arrived, for an error: its size and hash, and whether it is a web page."""
    with path.open("rb") as file:
        head = file.read(512).lstrip().lower()
    page = "a web page of " if head.startswith((b"<!doctype", b"<html", b"<?xml")) else ""
    return (
        f"received {page}{path.stat().st_size} bytes with {algorithm} {file_hash(path, algorithm)}"
    )
