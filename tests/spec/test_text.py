"""Files that are no specs are refused before anything of them is parsed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from senn_cli.errors import SpecError, UsageError
from senn_cli.spec import load as loading
from senn_cli.spec import load_spec
from senn_cli.use.mapping_file import read_mapping


def fault(path: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load_spec(path)
    return caught.value.message


def test_a_very_large_spec_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"data: digits\n" + b"#" * 10_000_000)
    monkeypatch.setattr(loading, "read_yaml", lambda *args, **kwargs: pytest.fail("was parsed"))
    assert fault(file) == (
        f"{file}: more than 250,000 bytes, which no spec needs; is this the file that was meant?"
    )


def test_a_named_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fault(tmp_path / "pipe").endswith("pipe is a pipe, not a regular file")
    with pytest.raises(UsageError, match="pipe is a pipe, not a regular file"):
        read_mapping(tmp_path / "pipe")


def test_a_directory_is_named_as_such(tmp_path: Path) -> None:
    assert fault(tmp_path) == f"{tmp_path} is a directory, not a regular file"
    with pytest.raises(UsageError, match="is a directory, not a regular file"):
        read_mapping(tmp_path)


def test_text_in_another_encoding_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("data: digits\n# größe\nname: maß\n".encode("latin-1"))
    assert fault(file) == f"{file}:2: not UTF-8 text: the byte 0xf6 in column 5"
    file.write_bytes("name: größe ".encode() + b"\xff")
    assert fault(file) == f"{file}:1: not UTF-8 text: the byte 0xff in column 13"


def test_of_very_many_faults_the_first_are_told(tmp_path: Path) -> None:
    file = tmp_path / "odd.yaml"
    lines = ["data: digits", "network: mlp", *(f"x{i}: {i}" for i in range(1000))]
    file.write_text("\n".join(lines))
    told = fault(file).splitlines()
    assert len(told) == 101
    assert told[0].startswith(f"{file}:3: x0 is unknown")
    assert told[-1] == f"{file}: and 900 more faults"
