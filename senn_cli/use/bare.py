"""Networks without what only growth needs, in the form that other programs expect."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from senn_cli.data.dataset import Array
from senn_cli.model import Model
from senn_cli.nets.densenet import DenseArchitecture


def without_buds(model: Model) -> Model:
    """The same network without buds: layers of a DenseNet that nothing reads yet."""
    architecture = model.architecture
    if not isinstance(architecture, DenseArchitecture) or not architecture.bud:
        return model
    bare = replace(architecture, bud=0)
    params = {
        wire.name: {leaf: array for leaf, array in model.params[wire.name].items() if leaf != "bud"}
        for wire in bare.maps
    }
    return Model(bare, params, model.preprocessing)


def joined_kernels(model: Model) -> dict[str, dict[str, Array]]:
    """Parameters with one kernel a map, where a DenseNet has one for each group of channels.

    Args:
      model: without buds.

    Returns:
      Of a DenseNet `block_<b>/layer_<j>`: `kernel` (3, 3, n_in, n_out), the input channels in the
      order of the concatenation (the block's input, then the layers before); else as they are.
    """
    architecture = model.architecture
    if not isinstance(architecture, DenseArchitecture):
        return model.params
    result = dict(model.params)
    for wire in architecture.maps:
        if wire.target.role != "outputs":
            parts = [model.params[wire.name][source.leaf] for source in wire.sources]
            result[wire.name] = {"kernel": np.concatenate(parts, axis=2)}
    return result
