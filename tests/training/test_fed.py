"""Runs whose data stay with the host: what they are with all data on the device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.data import numpy_files
from senn_cli.data.dataset import Part
from senn_cli.data.registry import load
from senn_cli.data.rows import Rows
from senn_cli.engine import feed
from senn_cli.engine.feed import Feed, placed
from senn_cli.engine.mesh import Placement
from senn_cli.spec import Duration
from senn_cli.spec.load import from_values
from senn_cli.training.resume import resume_run
from senn_cli.training.run import train_run
from senn_cli.use.evaluation import evaluate_run

MLP: dict[str, Any] = {
    "network": {"kind": "mlp", "hidden": [4], "capacity": {"initial": [8]}},
    "expansion": {"every": "20 steps", "price": 0, "max_hidden": 6, "depth": False},
    "training": {"batch_size": 32, "steps": 50, "evaluate": "10 steps"},
}
DENSENET: dict[str, Any] = {
    "network": {"kind": "densenet", "blocks": [[3], [3]]},
    "training": {"batch_size": 32, "steps": 30, "evaluate": "10 steps"},
}


def spec_of(data: dict[str, Any], rest: dict[str, Any], gigabytes: float | None) -> Any:
    """A spec, whose data a device of so many gigabytes for them takes whole or not."""
    device = {"kind": "cpu", "data_memory": gigabytes}
    return from_values({"name": "fed", "data": data, "device": device, **rest}, Path.cwd(), ())


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of some 70 digits, so that there are several."""
    monkeypatch.setattr(Feed, "piece", 70 * 64 * 4)
    monkeypatch.setattr(feed.Feed.__init__, "__defaults__", (70 * 64 * 4,))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The metrics of a run without seconds."""
    lines = (path / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def require_equal_weights(one: Any, other: Any) -> None:
    """The same architecture and weights, bit for bit."""
    assert one.architecture == other.architecture
    for name, leaves in one.params.items():
        for leaf, value in leaves.items():
            np.testing.assert_array_equal(value, other.params[name][leaf], f"{name}/{leaf}")


def require_equal(one: Any, other: Any) -> None:
    """The same weights, bit for bit, and the same metrics."""
    require_equal_weights(one, other)
    assert rows_of(one.path) == rows_of(other.path)


def require_alike(one: Any, other: Any) -> None:
    """The same weights and decisions in all but rounding."""
    assert one.architecture == other.architecture
    for name, leaves in one.params.items():
        for leaf, value in leaves.items():
            theirs = other.params[name][leaf]
            np.testing.assert_allclose(value, theirs, 1e-3, 1e-4, err_msg=f"{name}/{leaf}")
    decided = [[(e["step"], e["edit"]) for e in history(run.path)] for run in (one, other)]
    assert decided[0] == decided[1]


def history(path: Path) -> list[dict[str, Any]]:
    """The events of a run."""
    lines = (path / "history.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if "end" not in event]


def test_plain_gradients_of_a_fed_run_have_the_bits_of_one_with_all_data(
    tmp_path: Path, small_pieces: None
) -> None:
    data = {"source": "digits", "subset": 300, "validation": 100}
    plain = {**MLP, "expansion": "none", "optimizer": "sgd"}
    whole = train_run(spec_of(data, plain, None), run_directory=tmp_path / "whole")
    fed = train_run(spec_of(data, plain, 1e-6), run_directory=tmp_path / "fed")
    require_equal_weights(whole, fed)
    losses = [[row["train_loss"] for row in rows_of(run.path)] for run in (whole, fed)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("rest", [MLP, pytest.param(DENSENET, marks=pytest.mark.slow)])
def test_a_fed_run_grows_as_one_with_all_data(
    rest: dict[str, Any], tmp_path: Path, small_pieces: None
) -> None:
    data = {"source": "digits", "subset": 300, "validation": 100}
    if rest is DENSENET:
        data["augment"] = ["pad", "crop"]
    whole = train_run(spec_of(data, rest, None), run_directory=tmp_path / "whole")
    fed = train_run(spec_of(data, rest, 1e-6), run_directory=tmp_path / "fed")
    require_alike(whole, fed)
    assert fed.architecture.widths != (4,)


def test_a_fed_run_goes_on_where_it_was(tmp_path: Path, small_pieces: None) -> None:
    data = {"source": "digits", "subset": 300, "validation": 100}
    spec = spec_of(data, MLP, 1e-6)
    whole = train_run(spec, run_directory=tmp_path / "whole")
    train_run(spec, run_directory=tmp_path / "parts", until=Duration(steps=23))
    require_equal(whole, resume_run(tmp_path / "parts"))


def test_what_does_not_fit_stays_with_the_host() -> None:
    dataset = load(spec_of({"source": "digits"}, MLP, None))
    size = dataset.train.x.size  # of uint8
    assert isinstance(placed(dataset, dataset.train, Placement(None, size - 1)), Feed)
    assert not isinstance(placed(dataset, dataset.train, Placement(None, size)), Feed)


def test_pieces_have_every_row_once(small_pieces: None) -> None:
    dataset = load(spec_of({"source": "digits", "subset": 150}, MLP, None))
    held = Feed(dataset, dataset.train)
    pieces = list(held.pieces(32))
    assert [(len(piece.y), count) for piece, count in pieces] == [(64, 64), (64, 64), (64, 22)]
    y = np.concatenate([np.asarray(piece.y)[:count] for piece, count in pieces])
    np.testing.assert_array_equal(y, dataset.train.y)


def test_a_large_npz_is_mapped_and_never_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_pieces: None
) -> None:
    monkeypatch.setattr(numpy_files, "MAPPED", 1)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 64)).astype(np.float32)
    np.savez(tmp_path / "d.npz", x=x, y=(x[:, 0] > 0).astype(int))
    data = {"source": "npz", "path": str(tmp_path / "d.npz"), "validation": 50, "test": 50}
    dataset = load(spec_of(data, MLP, None))
    assert isinstance(dataset.train.x, Rows)
    np.testing.assert_array_equal(dataset.train.x[3:9], x[dataset.train.ids[3:9]])
    np.testing.assert_allclose(dataset.shift, x[dataset.train.ids].mean(axis=0), atol=1e-6)
    most = 0
    read = Rows.__getitem__

    def counted(self: Rows, key: Any) -> Any:
        nonlocal most
        found = read(self, key)
        most = max(most, len(found))
        return found

    # On noise, longer steps make more of rounding than is asked for below.
    rest = {**MLP, "optimizer": {"kind": "natural_gradient", "kl_clip": 0.01}}
    fed = spec_of(data, rest, 1e-6)
    whole = train_run(spec_of(data, rest, None), run_directory=tmp_path / "whole")
    monkeypatch.setattr("senn_cli.data.rows.BLOCK_BYTES", 70 * 64 * 8)
    monkeypatch.setattr("senn_cli.data.normalize._BLOCK_BYTES", 70 * 64 * 8)
    monkeypatch.setattr(Rows, "__getitem__", counted)
    require_alike(whole, train_run(fed, run_directory=tmp_path / "fed"))
    assert 0 < most < 300  # the training part has 300; a round's sample is half of it
    summary = json.loads((tmp_path / "fed" / "summary.json").read_text())
    loss = evaluate_run(tmp_path / "fed").measures.loss
    np.testing.assert_allclose(loss, summary["test_loss"], rtol=1e-5)


def test_images_that_are_mapped_are_scaled_as_in_memory() -> None:
    images = np.random.default_rng(1).integers(0, 256, (90, 5, 5, 3)).astype(np.uint8)
    from senn_cli.data.normalize import fit

    for method in ("global", "per_channel"):
        for mine, theirs in zip(fit(method, Rows.of(images)), fit(method, images), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)
            assert mine.shape == theirs.shape


def test_a_part_of_what_is_mapped_reads_nothing(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(20.0, dtype=np.float32).reshape(10, 2))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    part = Part(mapped, np.arange(10), np.arange(10)).take(np.array([7, 1, 1]))
    again = part.take(np.array([2, 0]))
    assert isinstance(again.x, Rows)
    np.testing.assert_array_equal(again.x[:], [[2, 3], [14, 15]])
