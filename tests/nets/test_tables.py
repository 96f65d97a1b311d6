"""Tables over maps, of networks of every kind: counts, and what is left without spare capacity."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import Architecture
from senn_cli.nets.leaves import without_buds
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.registry import initial_parameters, outputs
from senn_cli.nets.tables import compact, entries, map_rows

MLP = MlpArchitecture(3, 2, (Layer(5, 8, "rational"), Layer(4, 4, "tanh")))
BLOCKS = ((Layer(2, 5, "silu"), Layer(3, 3, "silu")), (Layer(1, 4, "silu"),))
DENSE = DenseArchitecture((5, 4, 2), 3, BLOCKS)
BUDS = DenseArchitecture((5, 4, 2), 3, BLOCKS, bud=2)

every = pytest.mark.parametrize("architecture", [MLP, DENSE, BUDS], ids=["mlp", "dense", "buds"])


def sizes(params: dict[str, dict[str, np.ndarray]]) -> int:
    return sum(array.size for leaves in params.values() for array in leaves.values())


@every
def test_rows_add_up_to_the_parameters(architecture: Architecture) -> None:
    standing = [row for row in map_rows(architecture) if "bud" not in row.site]
    assert sum(row.parameters[0] for row in standing) == architecture.parameters
    whole = sum(row.parameters[1] for row in map_rows(architecture))
    assert whole == sizes(initial_parameters(architecture, 0))


def test_rows_by_hand() -> None:
    first, second, output = map_rows(MLP)
    assert (first.site, first.inputs, first.units) == ("layer 0", (3, 3), (5, 8))
    assert first.parameters == ((3 + 1 + 3) * 5, (3 + 1 + 3) * 8)  # bias and coefficients
    assert (second.inputs, second.parameters) == ((5, 8), (6 * 4, 9 * 4))
    assert (output.site, output.activation, output.parameters) == ("output", "", (10, 10))
    bud, layer = map_rows(BUDS)[2:4]
    # It reads the image's 2 channels and the layer before; the layer also its bud, once in use.
    assert (bud.site, bud.inputs, bud.units) == ("block 0 bud 1", (4, 7), (2, 2))
    assert bud.parameters == (9 * 4 * 2, 9 * 7 * 2)
    assert (layer.site, layer.inputs) == ("block 0 layer 1", (4, 9))
    assert layer.parameters == (9 * 4 * 3, 9 * 9 * 3)


@every
def test_without_spare_capacity_it_is_the_same_network(architecture: Architecture) -> None:
    params = initial_parameters(architecture, 0)
    small, cut = architecture.compact(), compact(params, architecture)
    wanted = initial_parameters(small, 0)
    assert {name: {k: a.shape for k, a in leaves.items()} for name, leaves in cut.items()} == {
        name: {k: a.shape for k, a in leaves.items()} for name, leaves in wanted.items()
    }
    assert all(a.flags.c_contiguous for leaves in cut.values() for a in leaves.values())
    x = np.random.default_rng(0).standard_normal((7, architecture.inputs)).astype(np.float32)
    widths = jnp.asarray(architecture.widths)
    before, after = (
        outputs(a.shape(), p, x, widths) for a, p in ((architecture, params), (small, cut))
    )
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


@every
def test_a_bud_is_not_in_use_but_there(architecture: Architecture) -> None:
    used, kept = entries(architecture, buds=False), entries(architecture)
    params = initial_parameters(architecture, 0)
    for m in architecture.maps:
        for source in m.sources:
            shape = params[m.name][source.leaf][used[m.name][source.leaf]].shape
            assert shape[-2:] == (source.feature.width, kept[m.name][source.leaf][-1].stop)
    in_use = sum(
        params[m.name][leaf][index].size
        for m in architecture.maps
        if m.target.role != "bud"
        for leaf, index in used[m.name].items()
    )
    own = sum(f.own * f.width for f in architecture.features)
    assert in_use + own == architecture.parameters


@every
def test_parameters_without_buds_are_those_of_such_a_network(architecture: Architecture) -> None:
    left = without_buds(architecture, initial_parameters(architecture, 0))
    wanted = initial_parameters(architecture.without_buds(), 0)
    assert {name: set(leaves) for name, leaves in left.items()} == {
        name: set(leaves) for name, leaves in wanted.items()
    }
