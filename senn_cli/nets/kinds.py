"""Names of `registry` from before it was; they go as soon as nothing imports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from senn_cli.nets import registry
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import Architecture, ArrayTree
from senn_cli.nets.mlp import MlpArchitecture

AnyArchitecture = MlpArchitecture | DenseArchitecture


def architecture_from_json(value: Mapping[str, Any]) -> AnyArchitecture:
    """As of `registry`."""
    return cast(AnyArchitecture, registry.architecture_from_json(value))


def initial_parameters(architecture: AnyArchitecture, seed: int) -> ArrayTree:
    """As of `registry`."""
    return registry.initial_parameters(architecture, seed)


def known(architecture: Architecture) -> AnyArchitecture:
    """The same architecture, said to be of one of the two kinds."""
    return cast(AnyArchitecture, architecture)
