"""The spec language: a YAML file describes a run, and its faults are told with file and line.

No JAX is imported here.
"""

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
