"""How large the samples are that a round searches on and decides on."""

from __future__ import annotations

from senn_cli.growth.samples import LEAST, PIECE, POSITIONS, examples_of
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture
from tests.densenets import architecture


def test_a_chain_of_dense_maps_takes_what_is_wanted_or_half_of_what_is_there() -> None:
    net = MlpArchitecture(3, 2, (Layer(2, 2, "rational"),))
    assert examples_of(net, 70, 1000, held_out=True) == 70
    assert examples_of(net, 700, 1001, held_out=True) == 500
    assert examples_of(net, 5000, 1001, held_out=False) == 1001


def test_images_are_fewer_the_more_positions_they_have_and_come_in_even_pieces() -> None:
    small = architecture((8, 8, 1), 2, [[(2, 2)]])
    large = architecture((64, 64, 1), 2, [[(2, 2)]])
    assert examples_of(small, 8192, 10**6, held_out=True) == POSITIONS // 64
    assert examples_of(large, 8192, 10**6, held_out=True) == LEAST > POSITIONS // 64**2
    assert examples_of(small, 8192, 399, held_out=True) == 199 - 199 % PIECE
    assert examples_of(small, 8192, 20, held_out=True) == 10
