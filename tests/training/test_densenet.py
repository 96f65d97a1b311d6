"""Training convolutional networks: whole runs, exact resume, and what stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.errors import DataError
from senn_cli.model import load_model
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.registry import initial_parameters
from senn_cli.report.record import read_record
from senn_cli.report.tracks import tracks
from senn_cli.spec import Duration, InvalidSpecError, parse_spec
from senn_cli.spec.optimizer import AdamSpec
from senn_cli.training.network import new_network
from senn_cli.training.optimizer import make_optimizer
from senn_cli.training.resume import resume_run
from senn_cli.training.run import Run, train_run
from senn_cli.training.update import take_one

SPEC = """
name: images
data: {source: digits, normalize: global, subset: 400}
network: {kind: densenet, blocks: [[6], [6, 6]]}
optimizer: {kind: adam, learning_rate: 1e-2, weight_decay: 1e-2}
expansion: {policy: none}
training: {epochs: 8, batch_size: 50, evaluate: {epochs: 4}}
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train_run(parse_spec(SPEC), run_directory=tmp_path_factory.mktemp("whole"))


def test_it_learns(whole: Run) -> None:
    assert whole.summary["test_accuracy"] > 0.6  # chance is 0.1
    assert whole.summary["hidden"] == [6, 6, 6]
    # 3x3 kernels without biases between channels, and a head with biases, counted by hand.
    assert whole.summary["parameters"] == 9 * (1 * 6 + 6 * 6 + 12 * 6) + 6 * 10 + 10


def test_a_resumed_run_has_the_same_bits(whole: Run, tmp_path: Path) -> None:
    part = train_run(parse_spec(SPEC), run_directory=tmp_path / "run", until=Duration(steps=29))
    rest = resume_run(part.path)
    for a, b in zip(jax.tree.leaves(whole.params), jax.tree.leaves(rest.params), strict=True):
        np.testing.assert_array_equal(a, b)
    assert rest.summary["test_loss"] == whole.summary["test_loss"]


def test_it_can_be_loaded_and_looked_at(whole: Run) -> None:
    model = load_model(whole.path)
    assert model(np.zeros((3, 8, 8))).shape == (3, 10)
    found = tracks(read_record(whole.path))
    assert [(t.group, t.name) for t in found] == [
        ("block 0", "block 0 layer 0"),
        ("block 1", "block 1 layer 0"),
        ("block 1", "block 1 layer 1"),
    ]


def test_data_that_are_no_images_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.arange(1000.0).reshape(200, 5), y=np.arange(200) % 2)
    own = f"{{source: npz, path: {tmp_path / 'rows.npz'}}}"
    text = SPEC.replace("{source: digits, normalize: global, subset: 400}", own)
    with pytest.raises(DataError, match="needs images"):
        train_run(parse_spec(text), run_directory=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "policy: none",
            "policy: random",
            r"expansion\.policy should be senn for dormant proposals",
        ),
        (
            "policy: none",
            "proposals: search, prune: true",
            r"expansion\.prune should be off where a densenet searches for its channels, as",
        ),
        (
            "kind: adam, learning_rate: 1e-2, weight_decay: 1e-2",
            "kind: natural_gradient, solver: cg",
            r"optimizer\.solver should be kfac for a densenet",
        ),
        ("[[6], [6, 6]]", "[[6], []]", r"network\.blocks\.1"),
    ],
)
def test_what_it_cannot_do_is_said(old: str, new: str, message: str) -> None:
    with pytest.raises(InvalidSpecError, match=message):
        parse_spec(SPEC.replace(old, new))


def network(width: int, capacity: int) -> DenseArchitecture:
    layer = Layer(width, capacity, "silu")
    return DenseArchitecture((6, 6, 1), 3, ((layer,), (layer, layer)))


def stepped(architecture: DenseArchitecture) -> tuple[Any, Any]:
    """Parameters before and after three steps of Adam with weight decay."""
    spec = AdamSpec(kind="adam", learning_rate=1e-2, weight_decay=0.1)
    optimizer = make_optimizer(spec, CLASSIFICATION, 10, 10)
    params = initial_parameters(architecture, 0)
    found = new_network(architecture, params, optimizer)
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.standard_normal((20, 36)), jnp.float32)
    y = jnp.asarray(rng.integers(0, 3, 20), jnp.int32)
    state, key = found.state, jax.random.key(0)

    @jax.jit
    def step(state: Any, widths: Any) -> Any:
        shape = architecture.shape()
        return take_one(shape, CLASSIFICATION, optimizer, state, widths, x, y, key, None)[0]

    for _ in range(3):
        state = step(state, found.widths)
    return params, jax.device_get(state.params)


def test_spare_channels_change_nothing_and_stay_as_they_are() -> None:
    (_, exact), (before, after) = stepped(network(4, 4)), stepped(network(4, 7))
    for name, leaves in exact.items():
        for leaf, array in leaves.items():
            grown, start = after[name][leaf], before[name][leaf]
            used = tuple(map(slice, array.shape))
            np.testing.assert_allclose(grown[used], array, rtol=1e-4, atol=1e-6)
            spare = np.ones(grown.shape, bool)
            spare[used] = False
            np.testing.assert_array_equal(grown[spare], start[spare])
