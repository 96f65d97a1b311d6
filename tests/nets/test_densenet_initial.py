from __future__ import annotations

import numpy as np

from senn_cli.nets.densenet import initial_parameters
from tests.densenets import architecture, cut, initial_masks, reads

NET = architecture((8, 8, 3), 5, [[(40, 40), (30, 30)], [(20, 20)]], bud=16)
ROOMY = architecture((8, 8, 3), 5, [[(40, 48), (30, 37)], [(20, 60)]], bud=16)


def test_every_parameter_of_the_architecture_and_no_other() -> None:
    params = initial_parameters(NET, 0)
    assert {(n, k): v.shape for n, leaves in params.items() for k, v in leaves.items()} == {
        ("block_0/bud_0", "input"): (3, 3, 3, 16),
        ("block_0/layer_0", "input"): (3, 3, 3, 40),
        ("block_0/layer_0", "bud"): (3, 3, 16, 40),
        ("block_0/bud_1", "input"): (3, 3, 3, 16),
        ("block_0/bud_1", "layer_0"): (3, 3, 40, 16),
        ("block_0/layer_1", "input"): (3, 3, 3, 30),
        ("block_0/layer_1", "layer_0"): (3, 3, 40, 30),
        ("block_0/layer_1", "bud"): (3, 3, 16, 30),
        ("block_1/bud_0", "input"): (3, 3, 30, 16),
        ("block_1/layer_0", "input"): (3, 3, 30, 20),
        ("block_1/layer_0", "bud"): (3, 3, 16, 20),
        ("head", "kernel"): (20, 5),
        ("head", "bias"): (5,),
    }
    leaves = [(n, k, v) for n, ls in params.items() for k, v in ls.items()]
    assert {v.dtype for _, _, v in leaves} == {np.dtype("f4")}
    used = sum(v.size for n, k, v in leaves if k != "bud" and "bud" not in n)
    assert used == NET.parameters


def test_the_capacity_changes_nothing_and_spare_channels_are_drawn() -> None:
    tight, wide = initial_parameters(NET, 3), initial_parameters(ROOMY, 3)
    masks = initial_masks(ROOMY)
    for name, leaves in cut(wide, ROOMY, masks).items():
        for leaf, value in leaves.items():
            np.testing.assert_array_equal(value, tight[name][leaf])
    for name, sources in reads(ROOMY, masks).items():
        for leaf, used in sources.items():
            kernel = wide[name][leaf]
            assert not kernel[:, :, ~used].any(), "what is not in use has no weight"
            assert np.abs(kernel[:, :, used]).min(initial=1.0) > 0, "dormant channels are drawn"
    assert not wide["head"]["kernel"][20:].any() and not wide["head"]["bias"].any()


def test_it_is_a_function_of_the_seed() -> None:
    one, again, other = (initial_parameters(NET, seed) for seed in (1, 1, 2))
    for name, leaves in one.items():
        for leaf, value in leaves.items():
            np.testing.assert_array_equal(value, again[name][leaf])
    assert not np.array_equal(one["block_0/layer_1"]["input"], other["block_0/layer_1"]["input"])
    a, b = one["block_0/layer_0"]["input"], one["block_0/bud_0"]["input"]
    assert not np.array_equal(a[..., :16], b), "maps have draws of their own"
    assert not np.array_equal(a[..., 0], a[..., 1]), "channels too"


def test_the_distribution() -> None:
    params = initial_parameters(ROOMY, 7)
    for name, count in (
        ("block_0/layer_0", 3),
        ("block_0/layer_1", 43),
        ("block_0/bud_1", 43),
        ("block_1/layer_0", 30),
    ):
        drawn = np.concatenate([v[v != 0] for v in params[name].values()])
        drawn = drawn * np.sqrt(9 * count)
        n = drawn.size
        assert abs(drawn.mean()) < 5 / np.sqrt(n)
        assert abs(drawn.var() - 1) < 5 * np.sqrt(2 / n)
    head = params["head"]["kernel"][:20] * np.sqrt(20)
    assert abs(head.var() - 1) < 5 * np.sqrt(2 / head.size)


def test_masks_are_the_first_channels() -> None:
    masks = initial_masks(ROOMY)
    assert masks.widths == (40, 30, 20) and masks.buds == ()
    assert [m.shape for m in masks.layers] == [(48,), (37,), (60,)]
    assert masks.layers[0][:40].all() and not masks.layers[0][40:].any()
