from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from senn_cli.errors import DataError
from senn_cli.use.array_files import read_array

X = np.arange(12.0).reshape(4, 3)


def test_one_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    found, what = read_array(tmp_path / "a.npy", None)
    np.testing.assert_array_equal(found, X)
    assert what == str(tmp_path / "a.npy")


def test_an_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", only=X)
    np.testing.assert_array_equal(read_array(tmp_path / "a.npz", None)[0], X)
    np.savez(tmp_path / "b.npz", inputs=X, other=X + 1)
    found, what = read_array(tmp_path / "b.npz", "other")
    np.testing.assert_array_equal(found, X + 1)
    assert what.endswith("b.npz, array 'other'")
    with pytest.raises(DataError, match="2 arrays: 'inputs', 'other'"):
        read_array(tmp_path / "b.npz", None)
    with pytest.raises(DataError, match="no array 'input'") as caught:
        read_array(tmp_path / "b.npz", "input")
    assert caught.value.hint == "Did you mean --array inputs?"


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=np.array([None]))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(DataError, match="Python objects"):
            read_array(tmp_path / name, None)


def test_every_damaged_file_is_one_error(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=X)
    np.save(tmp_path / "a.npy", X)
    for name in ("a.npz", "a.npy"):
        content = (tmp_path / name).read_bytes()
        for cut in range(0, len(content), 7):
            (tmp_path / f"cut-{name}").write_bytes(content[:cut])
            with pytest.raises(DataError, match=f"cut-{name}"):
                read_array(tmp_path / f"cut-{name}", None)
    with pytest.raises(DataError, match="No such file"):
        read_array(tmp_path / "none.npy", None)


def test_changed_bytes_are_an_error_or_harmless(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=X)
    content = (tmp_path / "a.npz").read_bytes()
    for place in range(len(content)):
        (tmp_path / "b.npz").write_bytes(
            content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]
        )
        try:
            found, _ = read_array(tmp_path / "b.npz", None)
        except DataError:
            continue
        np.testing.assert_array_equal(found, X)
