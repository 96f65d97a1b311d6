"""What is no regular file is refused before it is opened; what a file looks like."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.data import npz, tabular
from senn_cli.data.idx import read_idx
from senn_cli.data.images import decode
from senn_cli.errors import DataError, SennError, UsageError
from senn_cli.given import looks_like, require_file
from senn_cli.spec.tables import CsvSpec
from senn_cli.use.array_files import read_array
from senn_cli.use.mapping_file import read_mapping
from senn_cli.use.weights_files import open_weights


def test_what_exists_and_is_no_regular_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path may have some hundred characters only
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    (tmp_path / "link").symlink_to("pipe")
    for path, kind in (
        (tmp_path, "a directory"),
        (tmp_path / "pipe", "a pipe"),
        (tmp_path / "link", "a pipe"),
        (tmp_path / "socket", "a socket"),
        (Path("/dev/null"), "a device"),
    ):
        with pytest.raises(UsageError, match=f"{path} is {kind}, not a regular file"):
            require_file(path, UsageError)
    (tmp_path / "file").touch()
    require_file(tmp_path / "file")
    require_file(tmp_path / "absent")  # its reader says so


@pytest.mark.parametrize(
    "read",
    [
        lambda path: npz.load(path, None, "x", "y", "classification"),
        lambda path: tabular.load(CsvSpec(source="csv", path=path, target="y")),
        lambda path: read_array(path, None),
        lambda path: decode(path, None, 3),
        read_idx,
        open_weights,
        read_mapping,
    ],
    ids=["npz", "csv", "array", "image", "idx", "weights", "mapping"],
)
def test_no_reader_waits_for_a_pipe(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(SennError, match="is a pipe") as caught:
        read(tmp_path / "pipe.npz")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an empty file"),
        (b"a,b\n1,2\n", "a table of text"),
        ("\ufeffgröße;b\n".encode(), "a table of text"),
        (("ä," * 3000).encode()[:-1], "a table of text"),
        (b"hello\n", "a text"),
        (b'{"a": 1}', "a text of JSON"),
        (b"<!DOCTYPE html><p>", "a web page"),
        (gzip.compress(b"a"), "a gzip file"),
        (pickle.dumps([1]), "a Python pickle"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "a WebP image"),
        ("a,b".encode("utf-16"), "a text in UTF-16"),
        (bytes(range(64, 256)), None),
    ],
)
def test_what_a_file_looks_like(content: bytes, words: str | None, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert looks_like(tmp_path / "file") == words


def test_numpy_s_own_files_look_like_themselves(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros(2))
    np.save(tmp_path / "a.npy", np.zeros(2))
    assert looks_like(tmp_path / "a.npz") == "a zip archive"
    assert looks_like(tmp_path / "a.npy") == "a single NumPy array (.npy)"


def test_control_characters_in_names_and_cells_never_reach_a_message(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[31m.csv"
    path.write_text("x,y\n1,\x1b[2J\n2,3\n")
    with pytest.raises(DataError) as caught:
        tabular.load(CsvSpec(source="csv", path=path, target="y", task="regression"))
    for text in (caught.value.message, str(caught.value)):
        assert "\x1b" not in text
        assert r"a\x1b[31m.csv" in text
    error = SennError("two\nlines\t\x07", hint="\x9b1m")
    assert (error.message, error.hint) == ("two\nlines\\t\\x07", "\\x9b1m")


def test_labels_and_columns_with_control_characters_never_steer_a_terminal(tmp_path: Path) -> None:
    labels = ("cat\x1b[31m", "dog\x07")
    rows = "".join(f"{i % 7},{i % 5},{labels[i % 2]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text(f"a\x1b[5m,b,label\n{rows}")
    (tmp_path / "s.yaml").write_text(
        "data: {source: csv, path: t.csv, target: label}\nnetwork: mlp\n"
    )
    result = CliRunner().invoke(app, ["data", "check", str(tmp_path / "s.yaml")])
    assert result.exit_code == 0, result.output
    assert "cat" in result.output
    assert not {"\x1b", "\x07"} & set(result.output)
