"""A run that starts from another run's network: what is loaded, what is not, and how it goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from sklearn.datasets import load_digits

from senn_cli.data.dataset import Dataset, Part
from senn_cli.engine.objective import CLASSIFICATION, REGRESSION
from senn_cli.errors import RunError, SpecError, UsageError
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import Architecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import initial_parameters
from senn_cli.runs.checkpoints import CheckpointStore
from senn_cli.runs.keep import KeepRules
from senn_cli.runs.weights import load_weights, save_weights
from senn_cli.spec import Duration, parse_spec
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, SgdSpec
from senn_cli.training.destination import adopted, destination, frozen_entries, frozen_parts
from senn_cli.training.network import new_network
from senn_cli.training.observer import Observer
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.origin import Origin, digest_of, origins, read_origin, read_transfer
from senn_cli.training.run import Run, train_run
from senn_cli.training.snapshot import GrowthMemory, Moment, arrays_of
from senn_cli.training.step import no_progress
from senn_cli.training.transfer import Fate, compose, transfer_run
from tests.resuming import (
    Executables,
    Heard,
    check_same,
    document,
    resume,
    rows,
    shared_programs,
    steps,
)

# Constant rates: one compiled program then does for runs of any length.
ORIGIN = """
name: ten
data: {source: digits, subset: 320}
network: {kind: mlp, hidden: [6, 5], capacity: {initial: [8, 10]}}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion: {policy: none}
training: {epochs: 2, batch_size: 64}
checkpoints: {every: {steps: 3}, keep: 9}
"""
# Neurons alone, two a round, so that few programs are compiled.
GROWING = """
name: three
data: {source: npz, path: %s}
network: mlp
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant, weight_decay: 0.1}
expansion:
  samples: 160
  every: {epochs: 1}
  threshold: 1e-6
  stop: 1e-6
  price: 0
  noise: 0
  width: {proposals: 32, polished: 4, steps: 5, per_round: 2}
  depth: false
training: {epochs: 3, batch_size: 64}
checkpoints: {growth: true, keep: 99}
transfer: {freeze: [layer 0]}
"""


@dataclass(frozen=True)
class Source:
    """A trained run, the compiled programs for runs like it, and a file of three classes."""

    run: Run
    executables: Executables
    three: Path

    @property
    def path(self) -> Path:
        return self.run.path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Source:
    place = tmp_path_factory.mktemp("transfer")
    digits = load_digits()
    few = digits.target < 3
    np.savez(place / "three.npz", x=digits.images[few].astype(np.float32), y=digits.target[few])
    executables: Executables = {}
    with shared_programs(executables):
        run = train_run(parse_spec(ORIGIN), run_directory=place / "ten")
    return Source(run, executables, place / "three.npz")


@pytest.fixture
def source(made: Source) -> Iterator[Source]:
    with shared_programs(made.executables):
        yield made


@dataclass
class Told(Observer):
    """Keeps the notes, and the fates that a transfer tells."""

    notes: list[str] = field(default_factory=list)
    fates: dict[str, Fate] = field(default_factory=dict)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def told(self, origin: Origin, fates: tuple[Fate, ...]) -> None:
        self.fates = {fate.array: fate for fate in fates}


def go(
    origin: Path,
    path: Path,
    *overrides: str,
    text: str = ORIGIN,
    told: Told | None = None,
    until: Duration | None = None,
    observer: Observer | None = None,
) -> Run:
    """A transfer under a spec like the origin's."""
    told = told if told is not None else Told()
    return transfer_run(
        parse_spec(text, overrides=overrides),
        origin,
        run_directory=path,
        until=until,
        observers=[observer if observer is not None else told],
        told=told.told,
    )


def on_three(source: Source) -> str:
    return f"data={{source: npz, path: '{source.three}'}}"


def saved(run: Path, step: int) -> dict[str, np.ndarray]:
    """All arrays of a checkpoint."""
    table = document(run, step)["arrays"]
    expected = {n: (tuple(e["shape"]), np.dtype(e["dtype"])) for n, e in table.items()}
    return CheckpointStore(run / "checkpoints", KeepRules()).restore(step, expected)


def same_bits(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return (a.shape, a.dtype) == (b.shape, b.dtype) and a.tobytes() == b.tobytes()


def test_to_another_number_of_classes(source: Source, tmp_path: Path) -> None:
    told = Told()
    path = tmp_path / "run"
    run = go(source.path, path, "name=three", on_three(source), told=told, until=steps(1))
    assert run.architecture == MlpArchitecture(
        64, 3, (Layer(6, 8, "rational"), Layer(5, 10, "rational"))
    )
    start, (_, params) = saved(path, 0), load_weights(source.path / "weights")
    for part in ("map_0", "map_1", "activation_0", "activation_1"):
        for leaf, array in params[part].items():
            assert same_bits(start[f"params/{part}/{leaf}"], array)
            assert told.fates[f"params/{part}/{leaf}"].outcome == "loaded"
    assert same_bits(start["params/map_2/kernel"], np.zeros((10, 3), np.float32))
    assert same_bits(start["params/map_2/bias"], np.zeros(3, np.float32))
    head = told.fates["params/map_2/kernel"]
    assert (head.outcome, head.shape) == ("re-initialised", (10, 3))
    assert head.reason == "a new head of zero for 3 outputs"
    # Every array of the new run has a fate, and so has everything that is kept of them.
    assert told.fates.keys() >= start.keys()
    kept = json.loads((path / "transfer.json").read_text())
    assert [one["array"] for one in kept["arrays"]] == [*told.fates]
    assert kept["origin"]["digest"] == digest_of(
        {f"params/{p}/{k}": a for p, leaves in params.items() for k, a in leaves.items()}
    )
    # Logits of zero: every class has the probability 1/3.
    (first,) = rows(path / "history.jsonl")
    assert first["origin"]["validation_loss"] == pytest.approx(np.log(3), abs=1e-6)
    assert first["reason"] == f"transferred from ten at step 10 ({kept['origin']['digest'][:12]})"
    assert (first["step"], first["accepted"], first["edit"]) == (0, False, None)
    assert (first["hidden"], first["capacities"]) == ([6, 5], [8, 10])
    # 64 x 6 + 6 + 18, 6 x 5 + 5 + 15, 5 x 3 + 3
    assert first["parameters"] == 408 + 50 + 18
    assert read_transfer(source.path) is None


def test_the_same_task_begins_where_the_origin_ended(source: Source, tmp_path: Path) -> None:
    go(source.path, tmp_path / "run", "transfer.head=keep", until=steps(1))
    (first,) = rows(tmp_path / "run" / "history.jsonl")
    last = rows(source.path / "metrics.jsonl")[-1]
    for key in ("validation_accuracy", "validation_loss"):
        assert first["origin"][key] == last[key]
    assert last["validation_accuracy"] > 0.2


def test_a_fresh_head_is_drawn_from_the_seed(source: Source, tmp_path: Path) -> None:
    found = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        overrides = ("transfer.head=fresh", f"seed={seed}", on_three(source))
        go(source.path, tmp_path / name, *overrides, until=steps(1))
        found.append(saved(tmp_path / name, 0)["params/map_2/kernel"])
    assert same_bits(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert np.count_nonzero(found[0]) == 5 * 3  # the neurons in use alone
    assert 0.1 < np.std(found[0][:5]) < 1.5  # about 1 / sqrt(5)


def test_the_spec_of_the_run_has_the_origins_layers(source: Source, tmp_path: Path) -> None:
    told = Told()
    overrides = ("network={kind: mlp, hidden: [50], activation: tanh}", on_three(source))
    go(source.path, tmp_path / "run", *overrides, told=told, until=steps(1))
    spec = parse_spec((tmp_path / "run" / "spec.yaml").read_text())
    section = spec.network.model_dump()
    assert section["hidden"] == (6, 5)
    assert section["activation"] == "rational"
    assert section["capacity"]["initial"] == (8, 10)
    assert sorted(told.notes) == [
        "network.activation is tanh in the spec; the origin's rational is used.",
        "network.hidden is [50] in the spec; the origin's [6, 5] is used.",
    ]
    quiet = Told()
    go(source.path, tmp_path / "other", on_three(source), told=quiet, until=steps(1))
    assert quiet.notes == []


def test_limits_below_the_origins_layers(source: Source, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        go(source.path, tmp_path / "run", "expansion={max_hidden: 10}", "network.hidden=[2]",
           "network.capacity.initial=null")  # fmt: skip
    assert "max_hidden should be at least 11" in caught.value.message
    assert not (tmp_path / "run").exists()


def test_another_number_of_inputs(source: Source, tmp_path: Path) -> None:
    moons = "data={source: moons, train: 200, test: 50}"
    with pytest.raises(UsageError) as caught:
        go(source.path, tmp_path / "run", moons)
    assert "reads 64 inputs" in caught.value.message and "2 inputs" in caught.value.message
    assert "transfer.inputs=fresh" in str(caught.value.hint)
    assert not (tmp_path / "run").exists()
    adam = AdamSpec(kind="adam")
    origin = read_origin(source.path, "mlp")
    arrays, fates = composed(origin, adam, blank(2, 10), "transfer.inputs=fresh")
    assert fates["params/map_0/kernel"] == Fate(
        "params/map_0/kernel",
        "re-initialised",
        "transfer.inputs is fresh; 2 inputs, the origin 64 inputs",
        (2, 8),
    )
    assert np.count_nonzero(arrays["params/map_0/kernel"]) == 2 * 6
    for name in ("params/map_1/kernel", "params/activation_0/coefficients"):
        assert fates[name].outcome == "loaded"
        assert same_bits(arrays[name], origin.arrays[name])


def test_keeping_a_head_of_another_size(source: Source, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        go(source.path, tmp_path / "run", "transfer.head=keep", on_three(source))
    assert "10 outputs" in caught.value.message and "need 3" in caught.value.message


def test_from_a_checkpoint_the_weights_and_a_run_that_has_not_ended(
    source: Source, tmp_path: Path
) -> None:
    weights = read_origin(source.path / "weights", "mlp")
    run = read_origin(source.path, "mlp")
    last = read_origin(source.path / "checkpoints" / "10", "mlp")
    assert (run.source, weights.source, last.source) == ("weights", "weights", "checkpoint")
    assert (run.step, weights.step, last.step) == (10, 10, 10)
    assert run.digest == weights.digest == last.digest
    early = read_origin(source.path / "checkpoints" / "3", "mlp")
    assert early.step == 3 and early.digest != last.digest
    go(source.path / "checkpoints" / "3", tmp_path / "run", "transfer.head=keep", until=steps(1))
    (first,) = rows(tmp_path / "run" / "history.jsonl")
    assert first["reason"].startswith("transferred from ten at step 3 (")
    # The weights of an earlier end do not count once a run goes on.
    unended = tmp_path / "unended"
    shutil.copytree(source.path, unended)
    (unended / "summary.json").unlink()
    shutil.rmtree(unended / "checkpoints" / "10")
    assert read_origin(unended, "mlp").step == 9
    shutil.rmtree(unended / "checkpoints")
    with pytest.raises(RunError, match="has saved nothing yet"):
        read_origin(unended, "mlp")


@pytest.mark.parametrize("path", ["nothing", ".", "weights"])
def test_where_there_is_no_network(tmp_path: Path, path: str) -> None:
    with pytest.raises((RunError, UsageError), match=r"does not exist|holds neither|weights"):
        read_origin(tmp_path / path, "mlp")


def test_nothing_is_cast(source: Source, tmp_path: Path) -> None:
    arrays = saved(source.path, 10)
    arrays["params/map_0/kernel"] = arrays["params/map_0/kernel"].astype(np.float64)
    run = tmp_path / "run"
    shutil.copytree(source.path, run)
    shutil.rmtree(run / "checkpoints")
    with CheckpointStore(run / "checkpoints", KeepRules()) as store:
        store.save(10, arrays, document(source.path, 10)["meta"])
    with pytest.raises(RunError) as caught:
        read_origin(run / "checkpoints" / "10", "mlp")
    assert "params/map_0/kernel is float64(64, 8), expected float32(64, 8)" in caught.value.message
    architecture, params = load_weights(source.path / "weights")
    params["map_1"]["bias"] = np.asarray(params["map_1"]["bias"], np.float16)
    save_weights(tmp_path / "weights", architecture, params)
    with pytest.raises(RunError) as caught:
        read_origin(tmp_path / "weights", "mlp")
    for text in ("map_1", "bias", "float16(10,)", "expected float32(10,)"):
        assert text in caught.value.message


def test_damaged_files(source: Source, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(source.path, run)
    largest = max(
        (run / "checkpoints" / "10" / "arrays" / "d").iterdir(), key=lambda p: p.stat().st_size
    )
    content = bytearray(largest.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    largest.write_bytes(content)
    with pytest.raises(RunError, match="damaged"):
        read_origin(run / "checkpoints" / "10", "mlp")
    (run / "summary.json").unlink()
    told = Told()
    go(run, tmp_path / "new", "transfer.head=keep", told=told, until=steps(1))
    assert len(told.notes) == 1
    assert told.notes[0].startswith("The checkpoint of step 10 is left out: ")
    assert origins(tmp_path / "new")[-1]["step"] == 9
    os.truncate(run / "checkpoints" / "9" / "meta.json", 20)
    with pytest.raises(RunError, match=r"meta\.json is damaged"):
        read_origin(run / "checkpoints" / "9", "mlp")
    os.truncate(run / "weights" / "architecture.json", 20)
    with pytest.raises(RunError, match=r"architecture\.json is damaged"):
        read_origin(run / "weights", "mlp")


def test_damaged_weights(source: Source, tmp_path: Path) -> None:
    weights = tmp_path / "weights"
    shutil.copytree(source.path / "weights", weights)
    for file in (weights / "arrays").rglob("*"):
        if file.is_file():
            os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(RunError):
        read_origin(weights, "mlp")


def test_another_kind_of_network(source: Source, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        go(source.path, tmp_path / "run", "network={kind: densenet, blocks: [[4]]}")
    assert "kind mlp" in caught.value.message
    assert "network.kind of the spec is densenet" in caught.value.message
    assert not (tmp_path / "run").exists()


def test_a_chain_of_transfers(source: Source, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    go(source.path, first, "name=three", on_three(source), until=steps(2))
    go(first, second, "name=again", on_three(source), "transfer.head=keep", until=steps(1))
    assert [one["name"] for one in origins(second)] == ["ten", "three"]
    assert [one["step"] for one in origins(second)] == [10, 2]
    assert origins(second)[0] == origins(first)[0]
    assert origins(second)[1]["run"] == str(first)
    code = "import sys, senn_cli.training.origin; assert not {'jax', 'orbax'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_that_lost_its_start_is_not_resumed_from_scratch(
    source: Source, tmp_path: Path
) -> None:
    go(source.path, tmp_path / "run", on_three(source), until=steps(1))
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(RunError) as caught:
        resume(tmp_path / "run")
    assert "was transferred from ten" in caught.value.message
    assert f"--from {source.path / 'weights'}" in str(caught.value.hint)


def test_what_training_alone_does_not_freeze(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"transfer\.freeze names map_0"):
        train_run(
            parse_spec(ORIGIN, overrides=["transfer.freeze=[map_0]"]), run_directory=tmp_path / "r"
        )
    assert not (tmp_path / "r").exists()


class Killed(Exception):
    pass


class AtFirstStep(Heard):
    def metrics(self, row: object) -> None:
        raise Killed


@pytest.fixture(scope="module")
def grown(made: Source, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Executables]:
    executables: Executables = {}
    with shared_programs(executables):
        path = tmp_path_factory.mktemp("grown") / "run"
        run = go(made.path, path, text=GROWING % made.three)
    return run, executables


def test_growth_leaves_frozen_parts_as_they_are(
    source: Source, grown: tuple[Run, Executables]
) -> None:
    run = grown[0]
    events = [e for e in rows(run.path / "history.jsonl") if e["edit"] == "add_neurons"]
    assert {0, 1} & {event["layer"] for event in events}
    assert sum(run.architecture.widths) > 11
    (_, before), (_, after) = (load_weights(p / "weights") for p in (source.path, run.path))
    assert same_bits(after["map_0"]["kernel"][:, :6], before["map_0"]["kernel"][:, :6])
    assert same_bits(after["map_0"]["bias"][:6], before["map_0"]["bias"][:6])
    coefficients = [tree["activation_0"]["coefficients"][:, :6] for tree in (after, before)]
    assert same_bits(*coefficients)
    # Everything else learns, weight decay included.
    learned = after["map_1"]["kernel"][:6, :5] - before["map_1"]["kernel"][:6, :5]
    assert np.all(learned != 0)


def test_new_neurons_of_a_frozen_layer_are_trained(grown: tuple[Run, Executables]) -> None:
    run = grown[0]
    widths = [row["hidden"][0] for row in rows(run.path / "history.jsonl")]
    assert widths[-1] > 6
    step = next(r["step"] for r in rows(run.path / "history.jsonl") if r["hidden"][0] > 6)
    born, last = saved(run.path, step), saved(run.path, run.summary["steps"])
    name = next(n for n in born if n.endswith("/frozen/map_0/kernel"))
    assert born[name][:, :6].min() == 1 and born[name][:, 6:].max() == 0
    fresh = np.s_[:, 6:7]
    assert np.any(born["params/map_0/kernel"][fresh] != last["params/map_0/kernel"][fresh])


def test_resumed_as_if_never_stopped(
    source: Source, grown: tuple[Run, Executables], tmp_path: Path
) -> None:
    run, executables = grown
    path, text = tmp_path / "run", GROWING % source.three
    with shared_programs(executables):
        go(source.path, path, text=text, until=steps(2))
        for step in (5, 7):
            resume(path, until=steps(step))
        resume(path)
        check_same(path, run.path)
        # Killed before the first checkpoint that the spec wants; the origin is gone by then.
        moved = tmp_path / "moved"
        shutil.copytree(source.path, moved)
        with pytest.raises(Killed):
            go(moved, tmp_path / "killed", text=text, observer=AtFirstStep())
        shutil.rmtree(moved)
        resume(tmp_path / "killed")
    check_same_but_places(tmp_path / "killed", run.path)


def check_same_but_places(path: Path, reference: Path) -> None:
    """That two runs are the same whose origins lay in two places."""
    first, wanted = (rows(p / "history.jsonl")[0]["origin"] for p in (path, reference))
    for key in ("run", "path"):
        wanted[key] = first[key]
    assert first == wanted
    (_, a), (_, b) = (load_weights(p / "weights") for p in (path, reference))
    assert jax.tree.all(jax.tree.map(same_bits, a, b))


def blank(inputs: int = 4, outputs: int = 3) -> Dataset:
    """Data of a shape, without content."""
    part = Part(np.zeros((8, inputs), np.float32), np.zeros(8, np.int32), np.arange(8))
    return images(part, outputs)


def images(part: Part, outputs: int) -> Dataset:
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    names = tuple(map(str, range(outputs)))
    return Dataset("made", "classification", part, None, part, names, zero, one, zero, one)


def drawn(architecture: Architecture, spec: Any, seed: int = 0) -> Origin:
    """An origin with random numbers in every array that a run with this optimizer has."""
    optimizer = make_optimizer(spec, CLASSIFICATION, 10, 5)
    if isinstance(architecture, DenseArchitecture):  # without what is tracked of it
        optimizer = replace(optimizer, solver=None)
    network = new_network(architecture, initial_parameters(architecture, 0), optimizer)
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, array in arrays_of(Moment(network, no_progress(), GrowthMemory())).items():
        values = rng.integers(1, 99, array.shape)
        arrays[name] = values.astype(array.dtype)
    return Origin(Path("/o"), Path("/r"), "o", 5, "checkpoint", architecture, arrays, "0" * 64, ())


MLP = MlpArchitecture(4, 3, (Layer(2, 3, "rational"), Layer(2, 2, "tanh")))


def composed(
    origin: Origin, spec: Any, dataset: Dataset, *overrides: str
) -> tuple[dict[str, np.ndarray], dict[str, Fate]]:
    """All arrays of the network to start from, and their fates."""
    text = f"data: digits\nnetwork: {origin.architecture.kind}\nexpansion: {{policy: none}}"
    whole, _ = adopted(parse_spec(text, overrides=overrides), origin)
    optimizer = make_optimizer(spec, CLASSIFICATION, 10, 5, freezing=bool(whole.transfer.freeze))
    network, fates = compose(origin, dataset, whole, optimizer)
    arrays = arrays_of(Moment(network, no_progress(), GrowthMemory()))
    return {n: np.asarray(a) for n, a in arrays.items()}, {fate.array: fate for fate in fates}


def test_an_optimizers_state_is_kept_where_the_weights_are() -> None:
    adam = AdamSpec(kind="adam")
    origin = drawn(MLP, adam)
    arrays, fates = composed(origin, adam, blank(), "transfer.optimizer=keep")
    for moment in ("mu", "nu"):
        for part in ("map_0/kernel", "map_1/bias", "activation_0/coefficients"):
            name = f"optimizer/0/{moment}/{part}"
            assert same_bits(arrays[name], origin.arrays[name])
        # The head's weights are new, so its moments are too, although their shape is the same.
        assert not np.any(arrays[f"optimizer/0/{moment}/map_2/kernel"])
    assert same_bits(arrays["optimizer/0/count"], origin.arrays["optimizer/0/count"])
    (schedule,) = (n for n in fates if n.endswith("count") and n != "optimizer/0/count")
    assert arrays[schedule] == 0
    assert fates[schedule].reason == "the schedule of the learning rate begins"
    assert fates["optimizer/0/mu/map_2/kernel"].reason == "its weights start anew"
    reset, fates = composed(origin, adam, blank())
    assert not any(np.any(a) for n, a in reset.items() if n.startswith("optimizer/"))
    assert fates["optimizer/0/mu/map_0/kernel"].reason == "transfer.optimizer is reset"


def test_a_curvature_is_kept_where_the_weights_are() -> None:
    kfac = NaturalGradientSpec()
    origin = drawn(MLP, kfac)
    arrays, _ = composed(origin, kfac, blank(), "transfer.curvature=keep")
    factors = "curvature/factors"
    for name in ("maps/map_0/a/moment", "maps/map_1/s/solver", "blocks/activation_0/moment"):
        assert same_bits(arrays[f"{factors}/{name}"], origin.arrays[f"{factors}/{name}"])
    ages = f"{factors}/maps/map_1/a/ages"
    assert same_bits(arrays[ages], origin.arrays[ages]) and np.any(arrays[ages])
    assert not np.any(arrays[f"{factors}/maps/map_2/a/ages"])
    assert not np.any(arrays[f"{factors}/maps/map_2/a/moment"])
    assert arrays[f"{factors}/seen"] == 0  # so that inverses are made anew at once


def test_what_the_new_optimizer_lacks_is_left_out() -> None:
    origin = drawn(MLP, AdamSpec(kind="adam"))
    _, fates = composed(origin, SgdSpec(kind="sgd", momentum=0.9), blank())
    gone = fates["optimizer/0/mu/map_0/kernel"]
    assert (gone.outcome, gone.shape) == ("left out", (4, 3))
    assert fates["optimizer/0/trace/map_0/kernel"].outcome == "re-initialised"


def test_state_of_another_optimizer_or_of_weights(source: Source, tmp_path: Path) -> None:
    keep = "transfer.optimizer=keep"
    with pytest.raises(UsageError) as caught:
        go(source.path, tmp_path / "run", keep, "optimizer={kind: sgd, momentum: 0.9}")
    assert "of the spec is sgd" in caught.value.message and "adam" in caught.value.message
    with pytest.raises(UsageError, match="holds no state of an optimizer"):
        go(source.path / "weights", tmp_path / "run", keep)
    with pytest.raises(UsageError, match=r"transfer\.curvature is keep"):
        go(source.path, tmp_path / "run", "transfer.curvature=keep")
    # From the run itself, its last checkpoint is taken.
    go(source.path, tmp_path / "run", keep, "transfer.head=keep", until=steps(1))
    start, last = saved(tmp_path / "run", 0), saved(source.path, 10)
    for name, array in last.items():
        if name.startswith("optimizer/0/") or name.startswith("params/"):
            assert same_bits(start[name], array)


def test_the_names_of_frozen_parts() -> None:
    assert frozen_parts(MLP, ("layer 0",)) == {"map_0": "layer 0", "activation_0": "layer 0"}
    assert frozen_parts(MLP, ("layer 1", "output")) == {"map_1": "layer 1", "map_2": "output"}
    assert frozen_parts(MLP, ("map_0",)) == {"map_0": "map_0"}
    with pytest.raises(UsageError, match="names activation_1; the origin has: layer 0, map_0"):
        frozen_parts(MLP, ("map_0", "activation_1"))
    params = {"map_2": {"kernel": np.zeros((2, 3)), "bias": np.zeros(3)}}
    with pytest.raises(UsageError, match="names output, but map_2 starts anew"):
        frozen_entries(MLP, ("output",), params, {"map_2": "a new head"})


def test_spare_entries_are_not_frozen() -> None:
    arrays, _ = composed(
        drawn(MLP, AdamSpec(kind="adam")),
        AdamSpec(kind="adam"),
        blank(),
        "transfer.freeze=[layer 0]",
    )
    (start,) = {n.partition("/frozen/")[0] for n in arrays if "/frozen/" in n}
    kernel = np.zeros((4, 3), np.float32)
    kernel[:, :2] = 1
    assert same_bits(arrays[f"{start}/frozen/map_0/kernel"], kernel)
    assert arrays[f"{start}/frozen/map_0/bias"].tolist() == [1, 1, 0]
    assert arrays[f"{start}/frozen/activation_0/coefficients"].tolist() == [[1, 1, 0]] * 3
    assert not np.any(arrays[f"{start}/frozen/map_1/kernel"])


@pytest.mark.parametrize(
    "spec",
    [
        AdamSpec(kind="adam", weight_decay=0.1),
        SgdSpec(kind="sgd", momentum=0.9, weight_decay=0.1),
        NaturalGradientSpec(momentum=0.5, weight_decay=0.1),
    ],
)
def test_frozen_entries_keep_every_bit(spec: Any) -> None:
    transform = make_optimizer(spec, REGRESSION, 100, 1, freezing=True).transform
    params = {"map_0": {"kernel": jnp.array([[-0.0, 0.0], [2e-38, 3.0]]), "bias": jnp.ones(2)}}
    held = jax.tree.map(jnp.zeros_like, params)
    held["map_0"]["kernel"] = jnp.array([[1.0, 1.0], [1.0, 0.0]])
    state = transform.init(params)
    state = (*state[:-1], state[-1]._replace(frozen=held))
    start = np.asarray(params["map_0"]["kernel"]).copy()
    for _ in range(3):
        gradient = jax.tree.map(lambda p: jnp.full_like(p, 0.7), params)
        updates, state = jax.jit(transform.update)(gradient, state, params)
        params = optax.apply_updates(params, updates)
    after = np.asarray(params["map_0"]["kernel"])
    assert after[0].tobytes() == start[0].tobytes()  # -0 too
    assert after[1, 0].tobytes() == start[1, 0].tobytes()
    assert after[1, 1] != 3 and np.all(np.asarray(params["map_0"]["bias"]) != 1)


DENSE = DenseArchitecture(
    (8, 8, 1), 5, ((Layer(2, 3, "silu"), Layer(2, 2, "silu")), (Layer(3, 3, "silu"),))
)


def pictures(height: int, channels: int, outputs: int) -> Dataset:
    x = np.zeros((4, height, height, channels), np.uint8)
    return images(Part(x, np.zeros(4, np.int32), np.arange(4)), outputs)


def test_proposals_are_drawn_where_the_origin_had_none() -> None:
    adam = AdamSpec(kind="adam")
    origin = drawn(MLP, adam)
    arrays, _ = composed(
        origin, adam, blank(), "expansion={policy: senn, proposals: dormant, depth: false}"
    )
    fresh = initial_parameters(replace(MLP, spare="dormant"), 0)
    for name in ("map_0/kernel", "map_0/bias", "activation_0/coefficients"):
        part, leaf = name.split("/")
        array, had = arrays[f"params/{name}"], origin.arrays[f"params/{name}"]
        assert same_bits(array[..., :2], had[..., :2])
        assert same_bits(array[..., 2:], fresh[part][leaf][..., 2:]) and np.any(array[..., 2:])
    # No spare unit, no proposal.
    assert same_bits(arrays["params/map_1/kernel"], origin.arrays["params/map_1/kernel"])


def test_a_densenet_takes_other_images_and_classes() -> None:
    adam = AdamSpec(kind="adam")
    origin = drawn(DENSE, adam)
    arrays, fates = composed(origin, adam, pictures(12, 1, 7))
    for name, array in origin.arrays.items():
        if name.startswith("params/block_"):
            assert same_bits(arrays[name], array)
            assert fates[name].outcome == "loaded"
    assert arrays["params/head/kernel"].shape == (3, 7)
    assert not np.any(arrays["params/head/kernel"])
    with pytest.raises(UsageError) as caught:
        composed(origin, adam, pictures(8, 3, 7))
    assert "1 channel," in caught.value.message and "3 channels" in caught.value.message
    arrays, fates = composed(origin, adam, pictures(8, 3, 7), "transfer.inputs=fresh")
    anew = {n for n, f in fates.items() if n.startswith("params/") and f.outcome != "loaded"}
    assert anew == {
        "params/block_0/layer_0/input",
        "params/block_0/layer_1/input",
        "params/head/kernel",
        "params/head/bias",
    }
    assert arrays["params/block_0/layer_0/input"].shape == (3, 3, 3, 3)


def test_frozen_parts_of_a_densenet() -> None:
    adam = AdamSpec(kind="adam")
    names = "transfer.freeze=[block 0 layer 1]"
    arrays, _ = composed(drawn(DENSE, adam), adam, pictures(8, 1, 5), names)
    frozen = {n.partition("/frozen/")[2]: a for n, a in arrays.items() if "/frozen/" in n}
    assert {n for n, a in frozen.items() if np.any(a)} == {
        "block_0/layer_1/input",
        "block_0/layer_1/layer_0",
    }
    # Of the three channels of layer 0 two are in use.
    assert frozen["block_0/layer_1/layer_0"][:, :, :2].min() == 1
    assert frozen["block_0/layer_1/layer_0"][:, :, 2].max() == 0


def test_the_layers_of_a_densenet_in_the_spec() -> None:
    text = "data: {source: cifar10}\nnetwork: {kind: densenet, blocks: [[9]]}\noptimizer: adam\n"
    spec, notes = adopted(
        parse_spec(text, overrides=["expansion.policy=none"]), drawn(DENSE, AdamSpec(kind="adam"))
    )
    assert spec.network.model_dump()["blocks"] == ((2, 2), (3,))
    assert notes == ("network.blocks is [[9]] in the spec; the origin's [[2, 2], [3]] is used.",)


def test_a_linear_origin_has_nothing_but_its_head() -> None:
    origin = drawn(MlpArchitecture(4, 3), AdamSpec(kind="adam"))
    spec = parse_spec("data: digits\nnetwork: mlp")
    with pytest.raises(UsageError, match="nothing would be left"):
        destination(origin, blank(), spec)
