"""A kind of network that nothing in the package names does all that others do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.errors import SpecError
from senn_cli.growth.edits import AddUnits, Edit, Enlarge, InsertLayer, RemoveUnit, SplitUnit
from senn_cli.growth.policy import Decision, Policy, Round, View
from senn_cli.nets import registry
from senn_cli.nets.features import map_named, used_units, writer
from senn_cli.nets.leaves import joined
from senn_cli.runs.weights import load_weights
from senn_cli.spec.optimizer import AdamSpec, SgdSpec
from senn_cli.training import assemble
from senn_cli.training.network import apply_edits, new_network
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.transfer import transfer_run
from tests import resuming, toy

TEXT = """
name: toy
data: {source: moons, train: 100, test: 50}
network: {kind: toy, hidden: [2, 3, 4]}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion: {policy: none}
training: {epochs: 4, batch_size: 50}
"""

OPTIMIZERS = ["adam", "adamw", "sgd", "rmsprop", "lion", "muon"]


def added(architecture: Any, layer: int, seed: int) -> AddUnits:
    m = writer(architecture, architecture.features[1 + layer].name)
    rng = np.random.default_rng(seed)
    incoming = np.zeros((m.rows, 1), np.float32)
    incoming[:] = rng.standard_normal((m.rows, 1))
    used = np.concatenate([[True], *(used_units(architecture)[s.feature.name] for s in m.sources)])
    return AddUnits(layer, np.where(used[:, None], incoming, 0), np.ones((3, 1), np.float32))


def inserted(seed: int) -> InsertLayer:
    weights = np.random.default_rng(seed).standard_normal((1 + 2, 2)).astype(np.float32)
    weights[1:] += 2 * np.eye(2, dtype=np.float32)
    return InsertLayer(3, "outputs", weights, 3)


class Scripted(Policy):
    """A unit for every layer, one less of the last, more room, a layer: a round each."""

    def decide(self, view: View) -> Round:
        edits: dict[int, Edit] = {
            2: added(view.architecture, 0, 1),
            4: added(view.architecture, 2, 2),
            6: RemoveUnit(1, 0),
            8: inserted(3),
        }
        edit = edits.get(view.step)
        return Round(() if edit is None else (Decision(edit, "as written"),))


@pytest.fixture(scope="module", autouse=True)
def known() -> Iterator[None]:
    with toy.known():
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy") / "run"
    resuming.go(TEXT, path)
    return path


def command(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    "optimizer",
    [
        *OPTIMIZERS,
        "{kind: natural_gradient, solver: cg}",
        "natural_gradient",
    ],
)
def test_it_trains_under_every_optimizer(tmp_path: Path, optimizer: str) -> None:
    written = f"optimizer={optimizer}"
    found = resuming.go(TEXT, tmp_path / "run", written, "training.epochs=1")
    assert found.summary["status"] == "finished"
    assert found.summary["hidden"] == [2, 3, 4]
    start = registry.initial_parameters(found.architecture, 0)
    assert np.any(found.params["to_left"]["data"] != start["to_left"]["data"])


@pytest.mark.parametrize("spec", [AdamSpec(kind="adam"), SgdSpec(kind="sgd")])
def test_every_edit_keeps_its_function(spec: Any) -> None:
    architecture = toy.ToyArchitecture(
        2, 2, tuple(toy.Layer(width, width + 2, "rational") for width in (2, 3, 4))
    )
    optimizer = make_optimizer(spec, CLASSIFICATION, 10, 1)
    network = new_network(architecture, registry.initial_parameters(architecture, 0), optimizer)
    x = np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32)

    def outputs(network: Any) -> np.ndarray:
        shape, params = network.architecture.shape(), network.state.params
        return np.asarray(registry.outputs(shape, params, x, network.widths))

    before = outputs(network)
    edits = [
        added(architecture, 0, 1),
        Enlarge(1, 9),
        SplitUnit(2, 1, (0.25, 0.75)),
        inserted(2),
    ]
    for edit in edits:
        network = apply_edits(network, [edit], optimizer)
        np.testing.assert_allclose(outputs(network), before, rtol=1e-4, atol=1e-5)
        for m in network.architecture.maps:
            shapes = {name: leaf.shape for name, leaf in network.state.params[m.name].items()}
            assert shapes == m.shapes()
    assert network.architecture.widths == (3, 3, 5, 2)
    # A unit with output weights of zero goes without a trace.
    network = apply_edits(network, [RemoveUnit(0, 2)], optimizer)
    np.testing.assert_allclose(outputs(network), before, rtol=1e-4, atol=1e-5)
    assert jax.tree.structure(optimizer.transform.init(network.state.params)) == jax.tree.structure(
        network.state.optimizer
    )


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(assemble, "make_policy", lambda *a, **k: Scripted())
    return "expansion={policy: senn, proposals: search, every: {epochs: 1}}"


def test_it_grows_shrinks_and_resumes_bit_for_bit(tmp_path: Path, scripted: str) -> None:
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    options = (scripted, "training.epochs=10", "checkpoints.every={epochs: 1}")
    found = resuming.go(TEXT, whole, *options)
    assert found.architecture.widths == (3, 2, 5, 2)
    edits = [row.get("edit") for row in resuming.rows(whole / "history.jsonl")]
    assert {"add_neurons", "prune_neurons", "insert_layer"} <= set(edits)
    resuming.go(TEXT, halved, *options, until=resuming.steps(5))
    resuming.resume(halved)
    resuming.check_same(halved, whole)


def test_it_is_transferred(run: Path, tmp_path: Path) -> None:
    spec = resuming.parse_spec(TEXT, overrides=["training.epochs=1", "seed=1"])
    found = transfer_run(spec, run, run_directory=tmp_path / "second")
    assert found.architecture.widths == (2, 3, 4)
    assert found.summary["status"] == "finished"


def test_it_is_inspected_and_reported(run: Path, tmp_path: Path) -> None:
    assert "joint_0" in command("inspect", "architecture", run)
    assert "right" in command("inspect", run)
    command("inspect", "history", run)
    command("report", run, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert all(name in page for name in ("toy", "left", "right", "joint_0"))
    assert "layer 0" not in page
    assert "toy" in command("runs", run.parent)


@pytest.mark.parametrize("kind", ["safetensors", "stablehlo", "onnx"])
def test_it_is_exported(run: Path, tmp_path: Path, kind: str) -> None:
    for module in {"safetensors": ["safetensors"], "onnx": ["onnx", "onnxruntime"]}.get(kind, []):
        pytest.importorskip(module)
    assert "on 1,000 random inputs" in command("export", run, "-f", kind, "-o", tmp_path / "out")


def test_its_weights_are_where_its_maps_say(run: Path) -> None:
    architecture, params = load_weights(run / "weights")
    m = map_named(architecture, "to_joint_0")
    assert [source.feature.name for source in m.sources] == ["left", "right"]
    assert joined(m, params[m.name]).shape == (1 + 4 + 5, 6)


def test_the_package_does_not_know_it() -> None:
    package = Path(__file__).parents[1] / "senn_cli"
    named = [path for path in package.rglob("*.py") if "toy" in path.read_text().split()]
    assert not named


def test_what_its_section_says_is_checked() -> None:
    dormant = "expansion={policy: senn, proposals: dormant, depth: true}"
    with pytest.raises(SpecError, match="of a network of kind toy, which has no buds"):
        resuming.parse_spec(TEXT, overrides=[dormant])
    assert resuming.parse_spec(TEXT, overrides=["expansion=senn"]).proposals == "search"
