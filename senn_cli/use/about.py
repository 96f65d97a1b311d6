"""What every export says about its network: one JSON object, the same in all formats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from senn_cli.data.preprocessing import Preprocessing
from senn_cli.model import Model, mismatch
from senn_cli.nets.kinds import AnyArchitecture, architecture_from_json
from senn_cli.runs.environment import senn_version

FORMAT = 1


def describe(model: Model, name: str) -> dict[str, Any]:
    """The architecture, the preprocessing with the names of the classes, and how to read both.

    Args:
      model: what is exported.
      name: of the run.
    """
    classes = model.preprocessing.task == "classification"
    return {
        "format": FORMAT,
        "name": name,
        "senn": senn_version(),
        "parameters": model.architecture.parameters,
        "architecture": model.architecture.to_json(),
        "preprocessing": model.preprocessing.to_json(),
        "input": "examples as stored, flattened in C order, float32 (N, inputs); "
        "network input = (x - shift) * scale",
        "outputs": "logits (N, classes), and their softmax"
        if classes
        else "scaled predictions (N, targets), and outputs / target_scale + target_shift",
    }


def result_names(task: str) -> tuple[str, str]:
    """How an export calls the network's raw outputs, and its answers."""
    if task == "classification":
        return "logits", "probabilities"
    return "outputs", "predictions"


def read_description(text: str | bytes) -> tuple[AnyArchitecture, Preprocessing]:
    """The architecture and preprocessing in what `describe` gave, written as JSON.

    Raises:
      ValueError: it is none, or its parts don't fit together.
    """
    try:
        value: Any = json.loads(text)
        if not isinstance(value, Mapping) or value.get("format") != FORMAT:
            raise ValueError(f"no description of an exported network in format {FORMAT}")
        architecture = architecture_from_json(value["architecture"])
        preprocessing = Preprocessing.from_json(value["preprocessing"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"the description is damaged: {error!r}") from error
    fault = mismatch(architecture, preprocessing)
    if fault is not None:
        raise ValueError(fault)
    return architecture, preprocessing
