"""Whether the inputs of two tables mean the same, where one network goes on from another."""

from __future__ import annotations

from pathlib import Path

from senn_cli.data.dataset import Dataset
from senn_cli.data.encoding import Encoding
from senn_cli.data.preprocessing import Preprocessing
from senn_cli.errors import RunError, UsageError
from senn_cli.runs.directory import RunDirectory

_SHOWN = 8


def require_same_columns(run: Path | None, dataset: Dataset) -> None:
    """Refuses data whose inputs have other names, or the same in another order, than a run's.

    Where either has no names, or another number of inputs, nothing is said here.

    Args:
      run: the directory of the run whose map from the inputs is kept; None for weights without one.
      dataset: what is trained on now.

    Raises:
      UsageError: other names.
      RunError: the run's `preprocessing.json` is damaged.
    """
    ours = dataset.encoding
    theirs = None if run is None or ours is None else _encoding(RunDirectory(run))
    if ours is None or theirs is None or not (ours.named and theirs.named):
        return
    if ours.inputs == theirs.inputs or len(ours.inputs) != len(theirs.inputs):
        return
    reordered = set(ours.names) == set(theirs.names)
    order = f"bring them into its order: data.columns: [{', '.join(theirs.names)}]; or " * reordered
    raise UsageError(
        f"the inputs are {_some(ours.inputs)}, but those of {run} were {_some(theirs.inputs)}: its "
        "first map would take each for another",
        hint=f"{order}let that map begin anew: transfer.inputs: fresh",
    )


def _encoding(run: RunDirectory) -> Encoding | None:
    value = run.preprocessing()
    if value is None:
        return None
    try:
        return Preprocessing.from_json(value).encoding
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{run.preprocessing_path} is damaged: {error}") from error


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
