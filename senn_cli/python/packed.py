"""The files of a run as bytes, so that an estimator can be pickled and used on another machine.

Checkpoints and the training data stay where they are: the one is large, and the other not what
somebody means to hand on with a model. What is left is enough to predict, to look at the run, to
export it and to transfer it; it cannot be resumed.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
import weakref
from pathlib import Path

from senn_cli.runs.lock import LOCK

_LEFT_OUT = frozenset({"checkpoints", "tensorboard", "export", LOCK})


class Temporary:
    """A directory that goes when nothing refers to this any more, or when the process ends.

    Attributes:
      path: of the directory.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="senn-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def pack(run: Path, data: Path | None) -> bytes:
    """The files of a run as an archive.

    Args:
      run: its directory.
      data: the file with its training data, which is left out.
    """

    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        name = entry.name.removeprefix("./")
        if name.split("/")[0] in _LEFT_OUT or (data is not None and run / name == data):
            return None
        return entry

    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.add(run, arcname=".", filter=wanted)
    return content.getvalue()


def unpack(content: bytes, run: Path) -> None:
    """Puts the files of an archive into a directory; none gets out of it."""
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        archive.extractall(run, filter="data")
