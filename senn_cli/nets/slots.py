"""Depth as data: networks of any number of layers by one compiled program.

Where programs run for a shorter time than they are compiled, an inserted layer must not compile
them anew. They are compiled for a shape with places for more layers (`Kind.slotted`): empty ones
pass on what they read. They are put before the outputs for a call and taken away behind it, so that
edits, checkpoints and all else know of the layers that there are. Nothing flows back into an empty
place: whatever sums over maps gains zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from senn_cli.nets.features import Architecture, ArrayTree
from senn_cli.nets.registry import initial_parameters, kind_of


@dataclass(frozen=True)
class Slots:
    """A shape with places for more layers, for networks of one architecture.

    Attributes:
      shape: the static argument of programs, an architecture (hashable, as all are).
      names: what maps are called there that have another name.
    """

    shape: Any
    names: Mapping[str, str] = field(hash=False)

    def filled(self, tree: Any, blank: Any) -> Any:
        """A tree of the network's arrays with those of empty places from `blank`.

        Args:
          tree: parameters, or whatever has dictionaries by the names of maps.
          blank: the same of a network of `shape`.
        """
        import jax

        found = dict(jax.tree_util.tree_leaves_with_path(tree))
        there = {self._renamed(path): leaf for path, leaf in found.items()}
        leaves, structure = jax.tree_util.tree_flatten_with_path(blank)
        return jax.tree.unflatten(structure, [there.get(path, leaf) for path, leaf in leaves])

    def emptied(self, tree: Any, like: Any) -> Any:
        """What `filled` made, or a program of it, in the form of `like`, without empty places."""
        import jax

        found = dict(jax.tree_util.tree_leaves_with_path(tree))
        paths, structure = jax.tree_util.tree_flatten_with_path(like)
        return jax.tree.unflatten(structure, [found[self._renamed(path)] for path, _ in paths])

    def widths(self, widths: Any) -> np.ndarray:
        """Units in use of every place, 0 of empty ones."""
        return np.pad(np.asarray(widths), (0, len(self.shape.hidden) - len(widths)))

    def chosen(self, of_maps: tuple[Any, ...], count: int) -> tuple[Any, ...]:
        """Of what there is for every map that of the network's `count` maps."""
        return (*of_maps[: count - 1], of_maps[-1])

    def _renamed(self, path: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            type(part)(self.names[part.key]) if getattr(part, "key", None) in self.names else part
            for part in path
        )


def slots_of(architecture: Architecture, least: int) -> Slots | None:
    """The places for a network with at least `least` hidden layers; None where there are none."""
    if len(architecture.hidden) < max(1, least):
        return None
    shape: Architecture | None = kind_of(architecture).slotted(architecture)
    if shape is None:
        return None
    return Slots(shape, {architecture.maps[-1].name: shape.maps[-1].name})


@lru_cache(maxsize=8)
def blank_parameters(shape: Any) -> ArrayTree:
    """Zeros for an architecture, on the host; kept for the next call, so not to be written to."""
    drawn = initial_parameters(shape, 0)
    return {
        name: {leaf: np.zeros_like(array) for leaf, array in arrays.items()}
        for name, arrays in drawn.items()
    }
