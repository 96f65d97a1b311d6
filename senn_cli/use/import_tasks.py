"""The task of a network that was trained elsewhere, as its outputs and its loss tell."""

from __future__ import annotations

from typing import Any

from senn_cli.errors import UsageError

TASKS = ("classes", "labels", "targets")
"""Keys of a mapping that say what outputs are, of which it has one."""


def task_of(outputs: int, last: str, loss: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """The key of a mapping that says what the outputs are, and by it what was assumed for that.

    Args:
      outputs: their number.
      last: the activation behind the last map: `softmax` and `sigmoid` make probabilities of what
        senn keeps as logits; `identity` leaves it open.
      loss: the name of the loss, as Keras has it; empty where nothing tells.

    Raises:
      UsageError: another activation behind the last map.
    """
    if last not in ("identity", "softmax", "sigmoid"):
        raise UsageError(
            f"the activation {last} behind the last layer is not imported",
            hint="Outputs are raw, or go through softmax or sigmoid.",
        )
    entropy = "crossentropy" in loss.replace("_", "").lower()
    if last == "sigmoid" or (entropy and outputs == 1):
        if outputs == 1:
            return {"classes": ["0", "1"]}, {}
        return {"labels": [str(number) for number in range(outputs)]}, {}
    if last == "softmax" or entropy:
        return {"classes": [str(number) for number in range(outputs)]}, {}
    if loss:
        return {"targets": {}}, {}
    if outputs == 1:
        said = "one output is taken for the value of a regression; `--set classes=[no,yes]` makes "
        return {"targets": {}}, {"targets": f"{said}it the log-odds of the second class"}
    said = (
        f"{outputs} outputs are taken for logits of the classes 0 to {outputs - 1}; "
        "`--set classes=[a,b,...]` names them, `--set targets={}` makes them values"
    )
    return {"classes": [str(number) for number in range(outputs)]}, {"classes": said}
