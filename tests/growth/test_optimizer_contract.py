"""The contract of optimizers with edits: every optimizer, every edit, every kind of network."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from senn_cli.engine.objective import REGRESSION
from senn_cli.growth.edits import Activate, AddUnits
from senn_cli.nets.features import hidden_feature, used_units, writer
from senn_cli.nets.leaves import joined, trained
from senn_cli.spec import parse_spec
from senn_cli.training.network import Network, apply_edits, new_network
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.snapshot import GrowthMemory, Moment, arrays_of, document_of, moment_from
from senn_cli.training.step import no_progress
from tests import edited
from tests.edited import CASES, IDS, outputs, unread, weights

RATE = 1e-3
OPTIMIZERS = {
    "natural": f"{{solver: cg, momentum: 0.9, learning_rate: {RATE}, schedule: constant}}",
    "natural-plain": f"{{solver: cg, learning_rate: {RATE}}}",
    "adam": f"{{kind: adam, learning_rate: {RATE}, weight_decay: 0.1, schedule: cosine}}",
    "adamw": f"{{kind: adamw, learning_rate: {RATE}, schedule: one_cycle}}",
    "sgd": f"{{kind: sgd, learning_rate: {RATE}}}",
    "nesterov": f"{{kind: sgd, momentum: 0.9, nesterov: true, learning_rate: {RATE}}}",
    "rmsprop": f"{{kind: rmsprop, learning_rate: {RATE}}}",
    "rmsprop-momentum": f"{{kind: rmsprop, momentum: 0.9, learning_rate: {RATE}}}",
    "lion": f"{{kind: lion, learning_rate: {RATE}, schedule: wsd}}",
    "muon": f"{{kind: muon, learning_rate: {RATE}, adam_share: 1}}",
}
NO_STEPS = ("sgd", "natural-plain")
LONGEST = 12
"""A trained weight moves by fewer learning rates than this in a step, for gradients of order one:
ten times the gradient under a momentum of 0.9, and not more for a new weight than for an old one.
"""


def optimizer_of(name: str, *, freezing: bool = False) -> Optimizer:
    spec = parse_spec(f"data: moons\nnetwork: mlp\noptimizer: {OPTIMIZERS[name]}\n").optimizer
    return make_optimizer(spec, REGRESSION, 100, 10, freezing=freezing)


def gradients(rng: Any, shape: Any, params: Any) -> Any:
    """Of order one, where anything is trained."""
    masks = trained(shape, used_units(shape))

    def drawn(mask: Any, p: Any) -> Any:
        return jnp.asarray(np.where(mask, rng.choice([-1.0, 0.5, 1.0], np.shape(p)), 0), p.dtype)

    return jax.tree.map(drawn, masks, params)


def stepped(rng: Any, network: Network, optimizer: Optimizer) -> tuple[Network, Any]:
    """After one step with random gradients, and the update; what is not trained stays."""
    state, masks = network.state, trained(network.architecture, used_units(network.architecture))
    given = gradients(rng, network.architecture, state.params)
    updates, inner = optimizer.transform.update(given, state.optimizer, state.params)
    updates = jax.tree.map(lambda m, u: jnp.where(m, u, 0), masks, updates)
    params = optax.apply_updates(state.params, updates)
    state = state._replace(params=params, optimizer=inner, step=state.step + 1)
    return Network(network.architecture, state, network.widths), updates


def trained_for_a_while(
    rng: Any, make_shape: Any, make_edit: Any, optimizer: Optimizer
) -> tuple[Network, Any]:
    """A network that has taken three steps, and an edit of it."""
    shape = make_shape(rng)
    edit = make_edit(rng, shape)
    params = jax.tree.map(jnp.asarray, weights(rng, shape, np.float32))
    network = new_network(shape, params, optimizer)
    for _ in range(3):
        network, _ = stepped(rng, network, optimizer)
    host = jax.device_get(network.state.params)
    params = jax.tree.map(jnp.asarray, unread(shape, host, edit))
    return Network(shape, network.state._replace(params=params), network.widths), edit


def trees(state: Any, field: str) -> list[Any]:
    """The trees of a state that its classes call by one name."""
    found = [getattr(state, field)] if field in getattr(state, "_fields", ()) else []
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, tuple) else ()
    return [*found, *(tree for part in parts for tree in trees(part, field))]


def whole(tree: Any, m: Any) -> Any:
    """A map's matrix in a tree, with NaN for leaves that a tree of parts has not."""
    leaves = {
        leaf: np.full(size, np.nan, np.float32)
        if isinstance(tree[m.name][leaf], optax.MaskedNode)
        else np.asarray(tree[m.name][leaf])
        for leaf, size in m.shapes().items()
    }
    return joined(m, leaves)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(("make_shape", "make_edit"), CASES, ids=IDS)
def test_the_contract(make_shape: Any, make_edit: Any, name: str) -> None:
    rng, optimizer = np.random.default_rng(3), optimizer_of(name)
    network, edit = trained_for_a_while(rng, make_shape, make_edit, optimizer)
    after = apply_edits(network, [edit], optimizer)
    shape, params = network.architecture, jax.device_get(network.state.params)

    # The function is kept.
    x = rng.standard_normal((8, shape.inputs)).astype(np.float32)
    new = jax.device_get(after.state.params)
    before, then = outputs(shape, params, x), outputs(after.architecture, new, x)
    assert np.abs(then - before).max() < 1e-4 * np.abs(before).max()

    # The state is one of this optimizer for this network, at the same step.
    blank = optimizer.transform.init(after.state.params)
    shapes = [jax.tree.map(lambda a: (a.shape, a.dtype), s) for s in (blank, after.state.optimizer)]
    assert shapes[0] == shapes[1]
    assert all(int(c) == 3 for c in trees(after.state.optimizer, "count"))

    # Squares are positive where anything is trained, and none of them is negative.
    masks = trained(after.architecture, used_units(after.architecture))
    for squares in trees(after.state.optimizer, "nu"):
        for group, leaves in squares.items():
            for leaf, array in leaves.items():
                if not isinstance(array, optax.MaskedNode):
                    assert (np.asarray(array) >= 0).all()
                    assert (
                        np.asarray(array)[np.broadcast_to(masks[group][leaf], array.shape)] > 0
                    ).all()

    # What an average of gradients or steps holds of new units is nothing.
    if isinstance(edit, AddUnits | Activate):
        feature = hidden_feature(after.architecture, edit.layer)
        m, width = writer(after.architecture, feature.name), shape.hidden[edit.layer].width
        for field in ("mu", "trace"):
            for tree in trees(after.state.optimizer, field):
                assert not np.nan_to_num(whole(tree, m)[:, width : feature.width]).any()

    # The next step moves every weight by a few learning rates at most.
    network, updates = stepped(rng, after, optimizer)
    sizes = [float(np.abs(u).max()) for u in jax.tree.leaves(updates)]
    assert np.isfinite(sizes).all() and max(sizes) < LONGEST * RATE
    assert all(np.isfinite(a).all() for a in jax.tree.leaves(jax.device_get(network.state)))


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("make_shape", [edited.mlp, edited.dormant_mlp, edited.densenet])
def test_resumed_after_an_edit_it_goes_on_bit_for_bit(make_shape: Any, name: str) -> None:
    rng, optimizer = np.random.default_rng(3), optimizer_of(name, freezing=True)
    network, edit = trained_for_a_while(rng, make_shape, edited.add, optimizer)
    network = apply_edits(network, [edit], optimizer)
    moment = Moment(network, no_progress(), GrowthMemory())
    arrays = {key: np.asarray(array) for key, array in arrays_of(moment).items()}
    again = moment_from(arrays, document_of(moment), optimizer).network
    for _ in range(2):
        draws = [np.random.default_rng(int(network.state.step)) for _ in range(2)]
        network, _ = stepped(draws[0], network, optimizer)
        again, _ = stepped(draws[1], again, optimizer)
    left, right = (jax.tree.leaves(jax.device_get(n.state)) for n in (network, again))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))
