"""Fixtures for data tests: a file server on this machine, small idx files, the real MNIST."""

from __future__ import annotations

import gzip
import http.server
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest


class Server:
    """Serves what a test puts into `content` and counts the requests by path."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.cut: set[str] = set()
        self.requests: list[str] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(self.path)
                body = outer.content.get(self.path)
                self.send_response(200 if body is not None else 404)
                body = b"" if body is None else body
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if self.path in outer.cut else body)

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def mirror(self, folder: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{folder}/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    started = Server()
    yield started
    started.close()


def idx_bytes(values: np.ndarray) -> bytes:
    """The idx format by its definition, written independently of the reader."""
    header = struct.pack(">BBBB", 0, 0, 8, values.ndim)
    return header + struct.pack(f">{values.ndim}I", *values.shape) + values.astype("u1").tobytes()


@pytest.fixture
def small_idx() -> dict[str, bytes]:
    """Four gzipped idx files: 30 training and 10 test images of 3x2 pixels, labels 0 to 9."""
    rng = np.random.default_rng(5)
    arrays = {
        "train-images-idx3-ubyte": rng.integers(0, 256, (30, 3, 2)),
        "train-labels-idx1-ubyte": np.arange(30) % 10,
        "t10k-images-idx3-ubyte": rng.integers(0, 256, (10, 3, 2)),
        "t10k-labels-idx1-ubyte": np.arange(10),
    }
    return {name: gzip.compress(idx_bytes(array), mtime=0) for name, array in arrays.items()}


@pytest.fixture
def write_idx(small_idx: dict[str, bytes]) -> Callable[..., Path]:
    """Writes the small files into a directory, gzipped or not, with dashes or dots."""

    def write(directory: Path, *, packed: bool = True, dotted: bool = False) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in small_idx.items():
            name = name.replace("-idx", ".idx") if dotted else name
            path = directory / (f"{name}.gz" if packed else name)
            path.write_bytes(content if packed else gzip.decompress(content))
        return directory

    return write


@pytest.fixture
def senn_data(data_root: Path) -> Path:
    """The directory that SENN_DATA names; skips unless it holds the MNIST files."""
    from senn_cli.data.mnist import find
    from senn_cli.data.published import MNIST
    from senn_cli.errors import DataError

    try:
        find(MNIST, data_root)
    except DataError as error:
        pytest.skip(f"SENN_DATA: {error.message}")
    return data_root


@pytest.fixture
def no_senn_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No SENN_DATA, and a cache of the test's own; returns the cache's root."""
    monkeypatch.delenv("SENN_DATA", raising=False)
    monkeypatch.setenv("SENN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"
