"""Architectures of every kind: which there are, and how each is read back and begins. No JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from senn_cli.nets import densenet, mlp
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import ArrayTree
from senn_cli.nets.mlp import MlpArchitecture

AnyArchitecture = MlpArchitecture | DenseArchitecture


def architecture_from_json(value: Mapping[str, Any]) -> AnyArchitecture:
    """The architecture that its `to_json` described; ValueError or KeyError if it is none."""
    match value["kind"]:
        case "mlp":
            return MlpArchitecture.from_json(value)
        case "densenet":
            return DenseArchitecture.from_json(value)
        case other:
            raise ValueError(f"unknown kind of network {other!r}, expected mlp or densenet")


def initial_parameters(architecture: AnyArchitecture, seed: int) -> ArrayTree:
    """Parameters of `architecture` at its capacity, a function of seed and widths alone."""
    if isinstance(architecture, DenseArchitecture):
        return densenet.initial_parameters(architecture, seed)
    return mlp.initial_parameters(architecture, seed)
