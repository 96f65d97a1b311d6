"""scikit-learn's `MLPClassifier` and `MLPRegressor`, alone or behind scalers in a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.errors import UsageError
from senn_cli.use.weights_files import Told, WeightsFile

_WORDS = {"identity": "identity", "tanh": "tanh", "relu": "relu", "logistic": "sigmoid"}
_HINT = (
    "Imported are MLPClassifier and MLPRegressor that were fitted, alone or as the last step of a "
    "Pipeline behind StandardScaler or MinMaxScaler."
)


def open_estimator(estimator: Any) -> WeightsFile:
    """The arrays of a fitted estimator, called `coefs_.0`, `intercepts_.0` and so on.

    Raises:
      UsageError: it is another one, was not fitted, or has a step that is no scaling.
    """
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    *before, network = steps
    kind = type(network).__name__
    if kind not in ("MLPClassifier", "MLPRegressor"):
        raise UsageError(f"a {kind} cannot be imported", hint=_HINT)
    if not hasattr(network, "coefs_"):
        raise UsageError(f"the {kind} was not fitted: it has no coefs_", hint=_HINT)
    arrays = {
        f"{name}.{place}": np.asarray(array)
        for name in ("coefs_", "intercepts_")
        for place, array in enumerate(getattr(network, name))
    }
    shift, scale = _scaling(before)
    columns = getattr(steps[0], "feature_names_in_", None)

    def told() -> Told:
        maps = [
            {"kernel": f"coefs_.{place}", "bias": f"intercepts_.{place}"}
            for place in range(len(network.coefs_))
        ]
        feeding: dict[str, Any] = {}
        if columns is not None:
            feeding["columns"] = [str(name) for name in columns]
        if before:
            feeding |= {"shift": _plain(shift), "scale": _plain(scale)}
        values = {"kind": "mlp", "maps": maps, "preprocessing": feeding, **_task(network)}
        if len(maps) > 1:
            values["activation"] = _WORDS.get(network.activation, network.activation)
        return Told(values)

    return WeightsFile(
        Path(kind), tuple(arrays), arrays.__getitem__, lambda name: arrays[name].shape, told=told
    )


def _task(network: Any) -> dict[str, Any]:
    classes = getattr(network, "classes_", None)
    if classes is None:
        return {"targets": {}}
    names = [str(name) for name in classes]
    # An indicator matrix of several labels has a logistic output for each.
    several = network.out_activation_ == "logistic" and network.n_outputs_ > 1
    return {"labels": names} if several else {"classes": names}


def _scaling(steps: list[Any]) -> tuple[Any, Any]:
    """What scalers amount to, one after the other: network input = (x - shift) scale."""
    shift: Any = np.zeros(1)
    scale: Any = np.ones(1)
    for step in steps:
        kind = type(step).__name__
        if kind == "StandardScaler":
            mean = getattr(step, "mean_", None)
            deviation = getattr(step, "scale_", None)
            own = np.zeros(1) if mean is None else np.asarray(mean)
            factor = np.ones(1) if deviation is None else 1.0 / np.asarray(deviation)
        elif kind == "MinMaxScaler" and not step.clip:
            factor = np.asarray(step.scale_)  # x scale + min
            own = -np.asarray(step.min_) / factor
        else:
            raise UsageError(f"the step {kind} of the pipeline is no scaling", hint=_HINT)
        shift, scale = shift + own / scale, scale * factor
    return shift, scale


def _plain(values: Any) -> Any:
    return values.tolist() if values.size > 1 else float(values[0])


def is_estimator(value: Any) -> bool:
    """Whether it is an object to import rather than the path of a file."""
    return not isinstance(value, str | Path)
