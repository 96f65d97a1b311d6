"""Origins that are out of the ordinary: pruned, imported, of other forms, damaged; and buds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import senn_cli
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.errors import RunError, SennError, UsageError
from senn_cli.growth.edits import RemoveUnit
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import initial_parameters
from senn_cli.runs.weights import load_weights, save_weights
from senn_cli.spec import parse_spec
from senn_cli.training.destination import adopted, frozen_entries
from senn_cli.training.network import apply_edits, new_network
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.origin import origins, read_origin
from senn_cli.training.run import Run, train_run
from senn_cli.training.snapshot import Moment, arrays_of
from senn_cli.training.transfer import Fate, compose, transfer_run
from senn_cli.use.exports import export_model
from senn_cli.use.imports import import_weights
from tests.resuming import Executables, rows, shared_programs, steps
from tests.training.test_transfer import Told, drawn, pictures, same_bits, saved
from tests.use.made import made_run

TINY = """
name: tiny
data: {source: digits, subset: 200}
network: {kind: mlp, hidden: [4, 3], capacity: {initial: [6, 5]}}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion: {policy: none}
training: {epochs: 2, batch_size: 60}
"""
ADAM: Any = parse_spec(TINY).optimizer


@dataclass(frozen=True)
class Made:
    """A trained run, and the compiled programs for runs like it."""

    run: Run
    executables: Executables


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    executables: Executables = {}
    with shared_programs(executables):
        run = train_run(parse_spec(TINY), run_directory=tmp_path_factory.mktemp("tiny") / "run")
    return Made(run, executables)


@pytest.fixture
def tiny(made: Made) -> Iterator[Run]:
    with shared_programs(made.executables):
        yield made.run


def go(origin: Path, path: Path, *overrides: str, text: str = TINY) -> Told:
    """The first step after a transfer; what was told."""
    told = Told()
    transfer_run(
        parse_spec(text, overrides=overrides),
        origin,
        run_directory=path,
        until=steps(1),
        observers=[told],
        told=told.told,
    )
    return told


def pruned(run: Run, path: Path, neuron: int) -> Path:
    """The weights of the run without a neuron of its layer 0, written to `path`."""
    optimizer = make_optimizer(ADAM, CLASSIFICATION, 10, 5)
    network = new_network(run.architecture, run.params, optimizer)
    after = apply_edits(network, [RemoveUnit(0, neuron)], optimizer)
    save_weights(path, after.architecture, jax.device_get(after.state.params))
    return path


@pytest.mark.parametrize("neuron", [0, 3])
def test_from_a_network_that_was_pruned(tiny: Run, tmp_path: Path, neuron: int) -> None:
    weights = pruned(tiny, tmp_path / "weights", neuron)
    told = go(weights, tmp_path / "run", "transfer.head=keep")
    start = saved(tmp_path / "run", 0)
    (first,) = rows(tmp_path / "run" / "history.jsonl")
    assert first["hidden"] == [3, 3] and first["capacities"] == [6, 5]
    # Neurons may change places; all arrays must agree on who is where.
    kernel, old = start["params/map_0/kernel"], tiny.params["map_0"]["kernel"]
    rest = [next(n for n in range(4) if same_bits(kernel[:, i], old[:, n])) for i in range(3)]
    assert sorted([*rest, neuron]) == [0, 1, 2, 3]
    for name, axis in (("map_0/kernel", 1), ("map_0/bias", 0), ("map_1/kernel", 0)):
        part, leaf = name.split("/")
        wanted = np.take(tiny.params[part][leaf], rest, axis=axis)
        found = start[f"params/{name}"]
        assert same_bits(np.take(found, range(3), axis=axis), wanted)
        assert not np.any(np.take(found, range(3, 6), axis=axis))  # nothing of it is left
        assert told.fates[f"params/{name}"].outcome == "loaded"
    spec = parse_spec((tmp_path / "run" / "spec.yaml").read_text())
    assert spec.network.model_dump()["hidden"] == (3, 3)


def test_from_an_export_that_was_imported(tiny: Run, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    model = senn_cli.load(tiny.path)
    export_model(model, "tiny", "safetensors", tmp_path / "net.safetensors")
    import_weights(tmp_path / "net.safetensors", None, tmp_path / "net")
    go(tmp_path / "net", tmp_path / "run", "transfer.head=keep")
    start = saved(tmp_path / "run", 0)
    for index, (n_in, n_out) in enumerate([(64, 4), (4, 3), (3, 10)]):
        kernel = tiny.params[f"map_{index}"]["kernel"][:n_in, :n_out]
        assert same_bits(start[f"params/map_{index}/kernel"], kernel)
    # The same function on the same data: what the origin's last row says.
    (first,) = rows(tmp_path / "run" / "history.jsonl")
    last = rows(tiny.path / "metrics.jsonl")[-1]
    assert first["origin"]["validation_accuracy"] == last["validation_accuracy"]
    assert first["origin"]["validation_loss"] == pytest.approx(last["validation_loss"], rel=1e-6)
    assert [link["name"] for link in origins(tmp_path / "run")] == ["net.safetensors", "net"]
    # From a checkpoint and from the weights of a run, its origins are known, too.
    for inside in ("checkpoints/0", "weights"):
        if (tmp_path / "run" / inside).exists():
            found = read_origin(tmp_path / "run" / inside, "mlp")
            assert [link["name"] for link in found.chain] == ["net.safetensors", "net"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["transfer.head=keep", "data={source: moons, train: 90, test: 20}"], "10 outputs"),
        (["data={source: moons, train: 90, test: 20}"], "reads 64 inputs"),
        (["network={kind: densenet, blocks: [[4]]}"], "network.kind of the spec is densenet"),
        (["transfer.optimizer=keep"], "holds no state of an optimizer"),
    ],
)
def test_weights_that_do_not_go_with_a_spec(
    tiny: Run, tmp_path: Path, overrides: Sequence[str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        go(tiny.path / "weights", tmp_path / "run", *overrides)
    assert message in caught.value.message
    assert not (tmp_path / "run").exists()


def test_weights_in_double_precision(tiny: Run, tmp_path: Path) -> None:
    params = {n: dict(leaves) for n, leaves in tiny.params.items()}
    params["map_1"]["kernel"] = params["map_1"]["kernel"].astype(np.float64)
    with jax.enable_x64(True):
        save_weights(tmp_path / "weights", tiny.architecture, params)
    with pytest.raises(RunError) as caught:
        go(tmp_path / "weights", tmp_path / "run")
    assert "float64(6, 5), expected float32(6, 5)" in caught.value.message
    assert "map_1" in caught.value.message and "kernel" in caught.value.message


def test_weights_of_another_shape_than_is_written_beside_them(tiny: Run, tmp_path: Path) -> None:
    assert isinstance(tiny.architecture, MlpArchitecture)
    other = tiny.architecture.with_layer(0, capacity=7)
    save_weights(tmp_path / "weights", other, initial_parameters(other, 0))
    shutil.copy(tiny.path / "weights" / "architecture.json", tmp_path / "weights")
    with pytest.raises(RunError, match=r"float32\(64, 7\), expected float32\(64, 6\)"):
        go(tmp_path / "weights", tmp_path / "run")


def imported(tmp_path: Path) -> Path:
    """A small import without preprocessing."""
    rng = np.random.default_rng(0)
    arrays = {"a": rng.standard_normal((64, 3)), "b": rng.standard_normal((3, 10))}
    np.savez(tmp_path / "net.npz", **arrays)  # type: ignore[arg-type]
    text = "kind: mlp\nactivation: tanh\nmaps: [{kernel: a}, {kernel: b}]\n"
    (tmp_path / "map.yaml").write_text(text)
    return import_weights(tmp_path / "net.npz", tmp_path / "map.yaml", tmp_path / "net").path


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("transfer.json", "transfer.json is damaged"),
        ("weights/architecture.json", "architecture.json is damaged"),
        ("weights/arrays", "arrays"),
    ],
)
def test_an_import_that_is_damaged(tmp_path: Path, file: str, message: str) -> None:
    origin = imported(tmp_path)
    damaged = [p for p in (origin / file, *(origin / file).rglob("*")) if p.is_file()]
    for path in damaged:
        os.truncate(path, path.stat().st_size // 2)
    assert damaged
    with pytest.raises(SennError) as caught:
        go(origin, tmp_path / "run")
    assert isinstance(caught.value, RunError)
    assert message in caught.value.message
    assert not (tmp_path / "run").exists()


DENSE = """
name: images
data: {source: npz, path: %s, normalize: none}
network: {kind: densenet, blocks: [[9]], bud: 3}
optimizer: {kind: natural_gradient}
training: {steps: 2, batch_size: 10}
"""


def image_file(path: Path, shape: tuple[int, ...], classes: int) -> Path:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, *shape)).astype(np.float32)
    np.savez(path, x=x, y=np.arange(60) % classes)
    return path


def test_a_densenet_with_buds_moves_to_other_images(tmp_path: Path) -> None:
    run = made_run(tmp_path / "origin", "digits", blocks=((3,), (2, 2)), activation="silu")
    text = DENSE % image_file(tmp_path / "data.npz", (9, 7), 4)
    go(run / "weights", tmp_path / "run", text=text)
    start, (before, params) = saved(tmp_path / "run", 0), load_weights(run / "weights")
    assert isinstance(before, DenseArchitecture)
    found = read_origin(tmp_path / "run", "densenet")
    assert found.architecture == replace(before, image=(9, 7, 1), outputs=4, bud=3)
    for part, leaves in params.items():
        for leaf, array in leaves.items():
            if part != "head" and "bud" not in f"{part}/{leaf}":
                assert same_bits(start[f"params/{part}/{leaf}"], array)
    assert start["params/block_0/bud_0/input"].shape == (3, 3, 1, 3)
    colors = DENSE % image_file(tmp_path / "colors.npz", (8, 8, 3), 10)
    with pytest.raises(UsageError) as caught:
        go(run / "weights", tmp_path / "other", text=colors)
    assert "reads 1 channel," in caught.value.message and "3 channels" in caught.value.message
    assert "transfer.inputs=fresh" in str(caught.value.hint)
    assert not (tmp_path / "other").exists()


LAYERS = ((Layer(2, 4, "silu"), Layer(3, 3, "silu")), (Layer(2, 2, "silu"),))
GROWS = """
data: cifar10
network: {kind: densenet, blocks: [[8]]}
optimizer: {kind: natural_gradient}
"""


def moved(
    bud: int, *overrides: str, channels: int = 1
) -> tuple[DenseArchitecture, dict[str, np.ndarray], dict[str, Fate], dict[str, np.ndarray]]:
    """A DenseNet with buds of `bud` channels under a spec: all arrays, fates, the origin's."""
    spec = parse_spec(GROWS, overrides=overrides)
    optimizer = make_optimizer(spec.optimizer, CLASSIFICATION, 10, 5)
    if spec.grows or "transfer.curvature=keep" in overrides:
        from senn_cli.training.assemble import with_tracking

        optimizer = with_tracking(spec, optimizer, 4, 1)
    else:
        optimizer = replace(optimizer, solver=None)
    architecture = DenseArchitecture((8, 8, channels), 5, LAYERS, bud)
    origin = drawn(architecture, spec.optimizer)
    if optimizer.tracking is not None:
        network = new_network(architecture, initial_parameters(architecture, 0), optimizer)
        blank = Moment(network, *_blank())
        arrays = {
            name: np.random.default_rng(0).integers(1, 99, a.shape).astype(a.dtype)
            for name, a in arrays_of(blank).items()
        }
        origin = replace(origin, arrays=arrays)
    spec, _ = adopted(spec, origin)
    network, fates = compose(origin, pictures(8, channels, 5), spec, optimizer)
    found = arrays_of(Moment(network, *_blank()))
    assert isinstance(network.architecture, DenseArchitecture)
    return (
        network.architecture,
        {n: np.asarray(a) for n, a in found.items()},
        {fate.array: fate for fate in fates},
        dict(origin.arrays),
    )


def _blank() -> Any:
    from senn_cli.training.snapshot import GrowthMemory
    from senn_cli.training.step import no_progress

    return no_progress(), GrowthMemory()


@pytest.mark.parametrize(
    ("before", "overrides", "after"),
    [
        (3, [], 3),  # the origin's
        (3, ["network.bud=3"], 3),
        (3, ["network.bud=5"], 5),
        (3, ["network.bud=0"], 0),
        (3, ["expansion.depth=false"], 0),
        (3, ["expansion.policy=none"], 0),
        (0, ["network.bud=2"], 2),
        (0, [], 4),  # half of the channels that a first layer of 2 gets, 4 x 2
        (0, ["expansion.policy=none"], 0),
    ],
)
def test_buds_are_as_the_spec_says(before: int, overrides: list[str], after: int) -> None:
    architecture, arrays, fates, origin = moved(before, *overrides)
    assert architecture.bud == after
    assert architecture.blocks == LAYERS  # widths and capacities
    for name, array in arrays.items():
        if not name.startswith("params/block"):
            continue
        of_bud = "/bud" in name
        if not of_bud or before == after:
            assert same_bits(array, origin[name]), name
            assert fates[name].outcome == "loaded"
        else:
            reason = f"new buds of {after} channels, the origin has {before or 'none'}"
            assert (fates[name].outcome, fates[name].reason) == ("re-initialised", reason)
            # Nothing reads a bud yet, and a bud reads what is in use: two of four channels.
            assert bool(np.any(array)) == ("/bud_" in name)
    if before and not after:
        gone = {n for n, f in fates.items() if f.outcome == "left out"}
        assert gone >= {n for n in origin if n.startswith("params/") and "/bud" in n}
    bud = arrays.get("params/block_0/bud_1/layer_0")
    if after and before != after:
        assert bud is not None
        assert bud.shape == (3, 3, 4, after)
        assert np.all(bud[:, :, :2] != 0) and not np.any(bud[:, :, 2:])


def test_the_spec_tells_the_buds_that_are_used() -> None:
    origin = drawn(DenseArchitecture((8, 8, 3), 10, LAYERS, 3), ADAM)
    for override, used in (("network.bud=5", 5), ("network.bud=null", 3)):
        spec, notes = adopted(parse_spec(GROWS, overrides=[override]), origin)
        assert spec.network.model_dump()["bud"] == used
        assert notes == (
            "network.blocks is [[8]] in the spec; the origin's [[2, 3], [2]] is used.",
        )
    spec, notes = adopted(parse_spec(GROWS, overrides=["network.capacity.initial=16"]), origin)
    assert notes[1:] == (
        "network.capacity.initial is 16 in the spec; the origin's [4, 3, 2] are used.",
    )


def test_a_curvature_of_maps_that_read_other_channels() -> None:
    keep = "transfer.curvature=keep"
    _, arrays, fates, origin = moved(3, keep, "network.bud=3", "transfer.head=keep")
    kept = [n for n in arrays if n.startswith("curvature/factors/maps/")]
    assert kept
    for name in kept:
        assert same_bits(arrays[name], origin[name])
    _, arrays, fates, origin = moved(3, keep, "network.bud=5", "transfer.head=keep")
    for name in kept:
        if "/head/" in name:
            assert same_bits(arrays[name], origin[name])
        else:
            assert not np.any(arrays[name])
            assert fates[name].reason == "the map reads other channels"


def test_frozen_entries_with_buds() -> None:
    architecture = DenseArchitecture((8, 8, 1), 5, LAYERS, 3)
    params = initial_parameters(architecture, 0)
    masks = frozen_entries(architecture, ("block 0 layer 1",), params, {})
    assert masks["block_0/layer_1/input"].min() == 1
    assert masks["block_0/layer_1/layer_0"][:, :, :2].min() == 1
    assert masks["block_0/layer_1/layer_0"][:, :, 2:].max() == 0
    assert masks["block_0/layer_1/bud"].max() == 0  # growth may take it for a layer


def test_fresh_inputs_beside_buds_that_are_kept() -> None:
    overrides = ["network.bud=3", "transfer.inputs=fresh", "transfer.head=keep"]
    _, arrays, fates, origin = moved(3, *overrides, "transfer.curvature=keep", channels=3)
    anew = {n for n, f in fates.items() if n.startswith("params/") and f.outcome != "loaded"}
    readers = ("bud_0", "layer_0", "bud_1", "layer_1")
    assert anew == {f"params/block_0/{name}/input" for name in readers}
    name = "curvature/factors/maps/block_0/layer_1/a/moment"
    assert not np.any(arrays[name]) and fates[name].reason == "the map reads other channels"
    name = "curvature/factors/maps/block_1/layer_0/a/moment"
    assert same_bits(arrays[name], origin[name])
