"""What lies behind a checkpoint is moved aside, and what lies before keeps its every byte."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from senn_cli.errors import RunError
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.jsonl import append_row, cut_at, read_rows


@given(
    notes=st.lists(st.text(), max_size=8),
    torn=st.sampled_from([b"", b'{"step": 1', b"\xc3"]),
    keep=st.integers(0, 8),
)
def test_the_beginning_stays_and_the_rest_is_set_aside(
    notes: list[str], torn: bytes, keep: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, aside = Path(folder, "metrics.jsonl"), Path(folder, "aside.jsonl")
        sizes = [0]
        for step, note in enumerate(notes):
            append_row(path, {"note": note, "step": step})
            sizes.append(path.stat().st_size)
        with path.open("ab") as file:
            file.write(torn)
        content = path.read_bytes()
        kept = min(keep, len(notes))
        assert cut_at(path, sizes[kept], aside) == len(content) - sizes[kept]
        rest = aside.read_bytes() if aside.exists() else b""
        assert path.read_bytes() + rest == content
        assert [row["note"] for row in read_rows(path)] == [
            row["note"] for row in read_rows(path) if row["step"] < kept
        ]
        assert len(read_rows(path)) == kept
        assert sorted(os.listdir(folder)) == ["aside.jsonl"] * bool(rest) + ["metrics.jsonl"]
        assert cut_at(path, sizes[kept], aside) == 0


def test_what_was_set_aside_before_stays_and_lines_are_not_joined(tmp_path: Path) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n{"st')
    assert cut_at(path, 12, aside) == 16
    append_row(path, {"step": 3})
    assert cut_at(path, 12, aside) == 12
    assert aside.read_bytes() == b'{"step": 2}\n{"st\n{"step": 3}\n'
    assert path.read_bytes() == b'{"step": 1}\n'


def test_where_nothing_is_to_be_cut_nothing_is_written(tmp_path: Path) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    assert cut_at(path, 0, aside) == 0
    assert os.listdir(tmp_path) == []
    append_row(path, {"step": 1})
    before = path.stat()
    assert cut_at(path, before.st_size, aside) == 0
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not aside.exists()


def test_a_file_that_is_too_short_is_named(tmp_path: Path) -> None:
    path, aside = tmp_path / "metrics.jsonl", tmp_path / "cut.jsonl"
    path.write_bytes(b'{"step": 1}\n')
    with pytest.raises(RunError, match="has 12 bytes, but 13 belong to the checkpoint") as caught:
        cut_at(path, 13, aside)
    assert caught.value.message.startswith(str(path))
    assert path.read_bytes() == b'{"step": 1}\n'
    with pytest.raises(RunError, match="has 0 bytes, but 1 belong"):
        cut_at(tmp_path / "none.jsonl", 1, aside)
    assert os.listdir(tmp_path) == ["metrics.jsonl"]


@pytest.mark.parametrize("failing", ["aside", "path"])
def test_a_full_disk_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    run = RunDirectory(tmp_path)
    content = b'{"step": 1}\n{"step": 2}\n'
    run.metrics_path.write_bytes(content)
    aside = tmp_path / "metrics.cut.jsonl"
    aside.write_bytes(b'{"step": 0}\n')
    calls: list[int] = []
    fsync = os.fsync

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == ["aside", "path"].index(failing) + 1:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"metrics\.jsonl cannot be cut: No space left"):
        run.cut(12, 0)
    assert run.metrics_path.read_bytes() == content
    assert aside.read_bytes() == b'{"step": 0}\n' + b'{"step": 2}\n' * (failing == "path")
    assert sorted(os.listdir(tmp_path)) == ["metrics.cut.jsonl", "metrics.jsonl"]


def test_sizes_of_a_run_and_back_to_them(tmp_path: Path) -> None:
    run = RunDirectory.at(tmp_path / "run")
    assert run.sizes() == {"metrics": 0, "history": 0}
    run.append_metrics({"step": 1})
    run.append_history({"step": 1, "edit": "größer"})
    sizes = run.sizes()
    assert sizes == {
        "metrics": len('{"step": 1}\n'),
        "history": 1 + len('{"step": 1, "edit": "größer"}'.encode()),
    }
    before = run.metrics_path.read_bytes(), run.history_path.read_bytes()
    run.append_metrics({"step": 2})
    run.append_metrics({"step": 3})
    run.append_history({"step": 3})
    run.cut(sizes["metrics"], sizes["history"])
    assert (run.metrics_path.read_bytes(), run.history_path.read_bytes()) == before
    assert run.sizes() == sizes
    aside = run.path / "metrics.cut.jsonl", run.path / "history.cut.jsonl"
    assert [len(read_rows(path)) for path in aside] == [2, 1]


def test_sizes_that_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory.at(tmp_path / "run")

    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(RunError, match=r"metrics\.jsonl cannot be .*: Input/output error"):
        run.sizes()


def test_resumptions_specs_and_summaries(tmp_path: Path) -> None:
    run = RunDirectory.at(tmp_path / "run")
    for number in (1, 2, 3):
        run.write_spec(f"seed: {number}\n")
        run.keep_spec()
    kept = sorted(path.name for path in run.path.glob("spec-*.yaml"))
    assert kept == ["spec-1.yaml", "spec-2.yaml", "spec-3.yaml"]
    assert (run.path / "spec-2.yaml").read_text() == "seed: 2\n"
    run.append_resumed({"step": 4})
    run.append_resumed({"step": 8})
    assert [row["step"] for row in read_rows(run.resumed_path)] == [4, 8]
    run.remove_summary()  # there is none
    run.write_summary({"status": "finished"})
    run.remove_summary()
    assert run.summary() is None
