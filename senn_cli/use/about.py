"""What every export says about its network: one JSON object, the same in all formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from senn_cli.data.dataset import Link
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.model import Model, mismatch
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import architecture_from_json
from senn_cli.runs.environment import senn_version
from senn_cli.use.export_inputs import Input, described

FORMAT = 3
"""Format 1 knew no tables. Up to 2 there were no links but those of the task, and examples were
flattened, of numbers that are no bytes."""

_OUTPUTS: dict[Link, str] = {
    "softmax": "logits (N, classes), and their softmax",
    "logistic": "logits (N, labels), and 1 / (1 + exp(-logits))",
    "log": "logarithms of rates (N, targets), and exp(outputs)",
    "identity": "scaled predictions (N, targets), and outputs / target_scale + target_shift",
}


def describe(model: Model, name: str, inputs: Sequence[Input]) -> dict[str, Any]:
    """The architecture, the preprocessing with the names of the classes, and how to read both.

    Args:
      model: what is exported.
      name: of the run.
      inputs: what the export takes.
    """
    how = model.preprocessing
    gaps = how.encoding is not None and how.encoding.fill is not None
    return {
        "format": FORMAT,
        "name": name,
        "senn": senn_version(),
        "parameters": model.architecture.parameters,
        "architecture": model.architecture.to_json(),
        "preprocessing": how.to_json(),
        "features": feature_names(model),
        "inputs": described(inputs),
        "input": "examples as stored; network inputs are their numbers in C order, `features` of a "
        "table; "
        + ("NaN for a missing value, which becomes preprocessing.encoding.fill; " if gaps else "")
        + "network input = (x - shift) * scale, computed in "
        + ("float64" if how.dtype == "float64" else "float32"),
        "outputs": _OUTPUTS[how.link],
    }


def feature_names(model: Model) -> list[str] | None:
    """The names of the inputs in their order; None where they have none, as pixels.

    A number is called by its column; `city=Rome` is 1 where the column `city` holds `Rome`, else 0.
    """
    encoding = model.preprocessing.encoding
    return None if encoding is None else list(encoding.inputs)


def gap_values(model: Model) -> np.ndarray | None:
    """What stands for NaN in every input, float64 `(inputs,)`; None where none may be missing."""
    encoding = model.preprocessing.encoding
    if encoding is None or encoding.fill is None:
        return None
    return np.asarray(encoding.fill)


def result_names(task: str) -> tuple[str, str]:
    """How an export calls the network's raw outputs, and its answers."""
    return ("outputs", "predictions") if task == "regression" else ("logits", "probabilities")


def read_description(text: str | bytes) -> tuple[Architecture, Preprocessing]:
    """The architecture and preprocessing in what `describe` gave, written as JSON.

    Raises:
      ValueError: it is none, or its parts don't fit together.
    """
    try:
        value: Any = json.loads(text)
        if not isinstance(value, Mapping) or value.get("format") not in (1, 2, FORMAT):
            raise ValueError(f"no description of an exported network in format {FORMAT}")
        architecture = architecture_from_json(value["architecture"])
        preprocessing = Preprocessing.from_json(value["preprocessing"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the description is damaged: {error!r}") from error
    fault = mismatch(architecture, preprocessing)
    if fault is not None:
        raise ValueError(fault)
    return architecture, preprocessing
