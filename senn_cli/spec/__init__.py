"""The spec language: a YAML file describes a run, and its faults are told with file and line.

No JAX is imported here, and no pydantic before something is asked for: networks and reports use
the words of specs (`spec.activation`) without their models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senn_cli.spec.checkpoints import CheckpointsSpec
    from senn_cli.spec.data import DataSpec
    from senn_cli.spec.dump import dump_spec
    from senn_cli.spec.duration import Duration
    from senn_cli.spec.errors import Fault, InvalidSpecError
    from senn_cli.spec.expansion import ExpansionSpec
    from senn_cli.spec.load import load_spec, parse_spec
    from senn_cli.spec.network import NetworkSpec
    from senn_cli.spec.optimizer import OptimizerSpec
    from senn_cli.spec.schema import json_schema
    from senn_cli.spec.spec import Spec
    from senn_cli.spec.training import TrainingSpec

__all__ = [
    "CheckpointsSpec",
    "DataSpec",
    "Duration",
    "ExpansionSpec",
    "Fault",
    "InvalidSpecError",
    "NetworkSpec",
    "OptimizerSpec",
    "Spec",
    "TrainingSpec",
    "dump_spec",
    "json_schema",
    "load_spec",
    "parse_spec",
]

_HOMES = {
    "CheckpointsSpec": "checkpoints",
    "DataSpec": "data",
    "dump_spec": "dump",
    "Duration": "duration",
    "Fault": "errors",
    "InvalidSpecError": "errors",
    "ExpansionSpec": "expansion",
    "load_spec": "load",
    "parse_spec": "load",
    "NetworkSpec": "network",
    "OptimizerSpec": "optimizer",
    "json_schema": "schema",
    "Spec": "spec",
    "TrainingSpec": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
