"""Data sets that are published as one archive: found on this machine, or downloaded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from senn_cli.data.archive import unpack
from senn_cli.data.download import Say, cache_directory, download, say_on_stderr
from senn_cli.data.published import Archive
from senn_cli.errors import DataError


def locate(archive: Archive, root: Path | None, *, say: Say = say_on_stderr) -> Path:
    """The unpacked folder: below `root`, or `$SENN_DATA`, or the user's cache, or downloaded there.

    Raises:
      DataError: `root` has no such folder, or files are missing, or the download failed.
    """
    found = find(archive, root)
    return found if found is not None else fetch(archive, cache_directory(archive.name), say=say)


def find(archive: Archive, root: Path | None) -> Path | None:
    """The unpacked folder below `root`, or else below `$SENN_DATA`.

    Under the archive's own folder name, in a folder named like the source, or the directory itself.

    Returns:
      the folder, or None where `root` is None and `$SENN_DATA` is unset or has none.

    Raises:
      DataError: `root` has none, or a folder of that name lacks files.
    """
    directory = root
    if directory is None:
        set_by_user = os.environ.get("SENN_DATA")
        if not set_by_user:
            return None
        directory = Path(set_by_user).expanduser()
    own = [
        directory / archive.folder,
        directory / archive.name / archive.folder,
        directory / archive.name,
    ]
    for place in (*own, directory):
        missing = _missing(archive, place)
        if not missing:
            return place
        # `train` and the like may be anything in a directory that is not named after the data set.
        if len(missing) < len(archive.needed) and (place in own or root is not None):
            raise DataError(f"{place} lacks {', '.join(missing)}")
    if root is None:
        return None
    looked = ", ".join(str(place) for place in (*own, directory))
    raise DataError(
        f"data.root has no {archive.name} files; looked for {archive.needed[0]} and so on in "
        f"{looked}",
        hint=f"download them with: senn data fetch {archive.name}",
    )


def fetch(
    archive: Archive, directory: Path, *, replace: bool = True, say: Say = say_on_stderr
) -> Path:
    """Downloads the archive into `directory`, checksum checked, and unpacks it there.

    The archive itself is removed again, unless it was there before.

    Args:
      archive: which data set.
      directory: where the unpacked folder goes; made if missing.
      replace: whether damaged files there may be replaced.
      say: is told of downloads.

    Returns:
      the unpacked folder.

    Raises:
      DataError: see `senn_cli.data.download.download` and `senn_cli.data.archive.unpack`; or an
        incomplete folder that must not be replaced.
    """
    target = directory / archive.folder
    if target.exists():
        missing = _missing(archive, target)
        if not missing:
            return target
        if not replace:
            raise DataError(
                f"{target} exists, but lacks {', '.join(missing)}",
                hint="move it away, or choose another directory",
            )
        shutil.rmtree(target)
    kept = (directory / archive.file).exists()
    try:
        file = download(
            archive.file,
            archive.md5,
            archive.mirrors,
            directory,
            algorithm="md5",
            replace=replace,
            say=say,
        )
    except DataError as error:
        hint = error.hint or (
            f"without a connection, put the folder {archive.folder} of {archive.file} into a "
            "directory and name it by data.root or the environment variable SENN_DATA"
        )
        raise DataError(error.message, title="Download", hint=hint) from error
    say(f"unpacking {file}")
    unpack(file, directory, archive.folder)
    if not kept:
        file.unlink()
    missing = _missing(archive, target)
    if missing:
        raise DataError(f"{archive.file} lacks {', '.join(missing)}")
    return target


def cached(archive: Archive) -> bool:
    """Whether it has been downloaded and unpacked before."""
    return not _missing(archive, cache_directory(archive.name) / archive.folder)


def _missing(archive: Archive, place: Path) -> list[str]:
    return [name for name in archive.needed if not (place / name).exists()]
