"""Runs over several devices beside the same run on one: the same decisions, numbers to rounding.

Sums are added in another order on several devices; what that changes of a number grows with the
steps that follow. Rows of metrics agree to `CLOSE` of their size here, after all steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from senn_cli.engine.programs import KEPT, Program
from senn_cli.spec import parse_spec
from senn_cli.training.observer import Observer
from senn_cli.training.snapshot import Moment
from senn_cli.training.transfer import transfer_run
from tests.resuming import DIGITS, MOONS, check_same, go, resume, rows, steps
from tests.training.test_growing_densenet import SPEC as DORMANT
from tests.training.test_searched_channels import SPEC as CHANNELS

CLOSE = 1e-3
DECIDED = ("step", "edit", "accepted", "hidden", "capacities", "parameters", "layer", "neurons")


@pytest.fixture(autouse=True)
def _room_for_programs() -> Iterator[None]:
    """A test's programs go with it: all of them take too many places in the address space."""
    yield
    KEPT.clear()
    jax.clear_caches()


class Placed(Observer):
    """Asserts at every boundary that all that is learnt lies whole on every device."""

    def __init__(self, devices: int) -> None:
        self.devices, self.seen = devices, 0

    def boundary(self, moment: Moment) -> None:
        state = (moment.network.state, moment.network.widths, moment.progress)
        for array in jax.tree.leaves(state):
            assert len(array.sharding.device_set) == self.devices
            assert array.sharding.is_fully_replicated
        self.seen += 1


@contextmanager
def results() -> Iterator[dict[str, list[Any]]]:
    """What programs yield within, by their names."""
    found: dict[str, list[Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        call = Program.__call__

        def kept(self: Program, *args: Any) -> Any:
            result = call(self, *args)
            found.setdefault(self.name, []).append(result)
            return result

        patch.setattr(Program, "__call__", kept)
        yield found


def check_alike(path: Path, reference: Path) -> None:
    """The same events and compilations; metrics, weights and scores to `CLOSE`."""
    events, wanted = (rows(run / "history.jsonl") for run in (path, reference))
    assert len(events) == len(wanted)
    for event, other in zip(events, wanted, strict=True):
        for key in DECIDED:
            assert event.get(key) == other.get(key), (key, event["step"])
        for key in ("predicted_gain", "bound", "loss_before", "loss_after"):
            check_close(event.get(key), other.get(key))
    measured, wanted = (rows(run / "metrics.jsonl") for run in (path, reference))
    assert [row["step"] for row in measured] == [row["step"] for row in wanted]
    for row, other in zip(measured, wanted, strict=True):
        assert row.keys() == other.keys()
        # A reduction ratio is a quotient of differences, where rounding is large.
        for key in row.keys() - {"seconds", "reduction_ratio"}:
            check_close(row[key], other[key])


def check_close(found: Any, wanted: Any) -> None:
    if isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=CLOSE, abs=1e-6)
    else:
        assert found == wanted


def both(text: str, path: Path, devices: int, *overrides: str) -> None:
    """A run on one device and one on several; that they are alike, and compile alike."""
    # One device would be handed its rows by the host where data are to be divided.
    whole = [override for override in overrides if not override.startswith("device.data_memory")]
    one = go(text, path / "one", *whole)
    heard = Placed(devices)
    count = f"device.count={devices}"
    many = go(text, path / "many", *overrides, count, observers=[heard])
    assert heard.seen
    check_alike(path / "many", path / "one")
    several, single = (Counter(run.summary["compiled"]) for run in (many, one))
    # Images and few data are measured block by block on one CPU, whole parts on several.
    assert several.pop("evaluate") >= single.pop("evaluate")
    assert several == single


def test_a_search_on_two_devices_decides_as_on_one(tmp_path: Path) -> None:
    with results() as found:
        both(DIGITS, tmp_path, 2, "training.epochs=2")
    assert any(event["accepted"] for event in rows(tmp_path / "one" / "history.jsonl"))
    looks = found["observe"]
    assert isinstance(looks[0].reads[0].sharding, jax.sharding.SingleDeviceSharding)
    last = looks[-1]
    for array in (*last.reads, *last.yields, *last.a, *last.g):
        assert isinstance(array.sharding, NamedSharding)
        assert array.sharding.spec == PartitionSpec("data")
        assert {piece.data.shape[0] for piece in array.addressable_shards} == {len(array) // 2}
    assert all(array.sharding.is_fully_replicated for array in last.s)


HEAVY = {
    "layers": (MOONS, 4, ()),
    "uneven": (DIGITS, 3, ("optimizer={kind: adam, learning_rate: 1e-2}",)),
    "divided": (DIGITS, 4, ("device.data_memory=1e-6", "loss.class_weight=balanced")),
    "cg": (DIGITS, 2, ("optimizer.solver=cg", "training.epochs=2")),
    "dropout": (DIGITS, 2, ("network.dropout=0.2", "expansion=none", "data.augment=[flip]")),
    "dormant-two": (DORMANT, 2, ()),
    "dormant-four": (DORMANT, 4, ("device.data_memory=1e-6",)),
    "natural": (DORMANT, 2, ("optimizer={kind: natural_gradient}",)),
    # A of few vectors is singular, and what stands in for a channel that goes amplifies rounding.
    "rank-one": (DORMANT, 2, ("curvature.method=rank_one", "expansion.prune=false")),
    "channels": (CHANNELS, 2, ()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY)
def test_the_same_run_on_more_devices(name: str, tmp_path: Path) -> None:
    text, devices, overrides = HEAVY[name]
    both(text, tmp_path, devices, *overrides)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (2, 3)])
def test_a_checkpoint_goes_on_on_another_number_of_devices(
    before: int, after: int, tmp_path: Path
) -> None:
    go(DIGITS, tmp_path / "one")
    go(DIGITS, tmp_path / "parts", f"device.count={before}", until=steps(9))
    resume(tmp_path / "parts", f"device.count={after}", observers=[Placed(after)])
    check_alike(tmp_path / "parts", tmp_path / "one")


@pytest.mark.slow
def test_a_resumed_run_on_two_devices_is_the_same_to_the_bit(tmp_path: Path) -> None:
    go(DIGITS, tmp_path / "whole", "device.count=2")
    go(DIGITS, tmp_path / "parts", "device.count=2", until=steps(9))
    resume(tmp_path / "parts")
    check_same(tmp_path / "parts", tmp_path / "whole")


@pytest.mark.slow
def test_a_transfer_to_two_devices(tmp_path: Path) -> None:
    go(DIGITS, tmp_path / "origin", "training.epochs=1", "device.count=4")
    for name, count in (("one", 1), ("many", 2)):
        spec = parse_spec(DIGITS, overrides=["seed=1", f"device.count={count}"])
        transfer_run(spec, tmp_path / "origin", run_directory=tmp_path / name)
    check_alike(tmp_path / "many", tmp_path / "one")
