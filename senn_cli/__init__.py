"""Self-Expanding Neural Networks: train networks that grow while they train.

`import senn_cli` costs neither JAX nor scikit-learn; what is below imports them when it is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senn_cli.data.dataset import Task
    from senn_cli.model import Model
    from senn_cli.python.callbacks import Callback
    from senn_cli.python.estimators import SennClassifier, SennRegressor
    from senn_cli.python.run import Run
    from senn_cli.spec import Spec
    from senn_cli.training.observer import Observer
    from senn_cli.use.imports import Imported

    AnySpec = Spec | str | os.PathLike[str] | Mapping[str, Any]

__all__ = [
    "Callback",
    "Run",
    "SennClassifier",
    "SennRegressor",
    "fit",
    "import_weights",
    "load",
    "load_spec",
    "resume",
    "train",
    "transfer",
]

_LAZY = {
    "Callback": "callbacks",
    "Run": "run",
    "SennClassifier": "estimators",
    "SennRegressor": "estimators",
}
"""Classes that are imported when they are first asked for, and the modules that have them."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.python.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])


def load_spec(path: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """The spec in a YAML file, with `path.to.key=value` overrides; `SpecError` lists all faults."""
    from senn_cli.spec import load_spec as load

    return load(Path(path), overrides)


def fit(
    X: Any,
    y: Any = None,
    spec: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    *,
    task: Task | None = None,
    sample_weight: Any = None,
    overrides: Sequence[str] = (),
    verbose: int = 1,
    callbacks: Iterable[Observer] = (),
    root: str | Path = "runs",
    run_directory: str | Path | None = None,
    **options: Any,
) -> Run:
    """Trains a network on `X` and `y`, which are kept in the run's own directory.

    Args:
      X: examples: an array, a list of rows, a tensor, a sparse matrix, a data frame of pandas,
        polars or Arrow, or a `Dataset` or `DataLoader` of PyTorch, which brings the targets.
      y: labels `(N,)`, values `(N,)` or `(N, k)`, or several labels as 0 and 1 `(N, k)`.
      spec: the rest of a spec, as a mapping or a YAML file. Its `data` have no source, but may have
        options: `{"data": {"validation": 0.2, "missing": "median"}}`. By default a fifth of the
        examples is set aside as the test part, and a tenth of the others for validation.
      task: `classification`, `regression` or `multilabel`; by default what the type of `y` says:
        text, booleans and whole numbers of at most 30 values are classes.
      sample_weight: how much every example counts, `(N,)`.
      overrides: texts as `--set` takes them, such as `expansion.threshold=1e-2`.
      verbose: 0 for silence, 1 for a view that is redrawn in place, 2 for lines of a log.
      callbacks: `Callback`s, told of every moment; they may stop the run.
      root: where the run directory is made.
      run_directory: a new or empty directory to use instead.
      options: sections and keys of a spec: `network={"hidden": [20]}`, `seed=3`.

    Returns:
      The run: `predict`, `plot`, `metrics`, `history`, `report`, `export`, `path`, `summary`.

    Raises:
      SennError: says what cannot be learned from, or what is wrong in the spec.
      InterruptedRun: Ctrl-C; `resume` goes on with the run.
    """
    from senn_cli.python.fitting import as_mapping, fit_given, merged
    from senn_cli.python.following import followed

    whole = merged(as_mapping(spec), options)

    def action(observers: Sequence[Observer]) -> Run:
        return fit_given(
            X,
            y,
            whole,
            task=task,
            sample_weight=sample_weight,
            overrides=overrides,
            root=Path(root),
            run_directory=_path(run_directory),
            observers=observers,
        )

    return followed(action, verbose, callbacks)


def train(
    spec: AnySpec,
    *,
    overrides: Sequence[str] = (),
    verbose: int = 0,
    callbacks: Iterable[Observer] = (),
    root: str | Path = "runs",
    run_directory: str | Path | None = None,
) -> Run:
    """Trains a network as `spec` describes.

    Args:
      spec: a `Spec`, the path of a YAML file, or the content of one as a mapping. Data are named,
        not held: `fit` takes arrays.
      overrides: as `--set` takes them; not for a ready `Spec`.
      verbose, callbacks, root, run_directory: as for `fit`.

    Returns:
      The finished run, or as far as a callback let it come.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.python.following import followed

    def action(observers: Sequence[Observer]) -> Any:
        from senn_cli.training.run import train_run

        return train_run(
            _spec(spec, overrides),
            root=Path(root),
            run_directory=_path(run_directory),
            observers=observers,
        )

    return followed(action, verbose, callbacks)


def transfer(
    origin: str | os.PathLike[str],
    spec: AnySpec,
    *,
    overrides: Sequence[str] = (),
    verbose: int = 0,
    callbacks: Iterable[Observer] = (),
    root: str | Path = "runs",
    run_directory: str | Path | None = None,
) -> Run:
    """Trains as `spec` describes, from the network of another run, as `senn transfer` does.

    Args:
      origin: a `Run`, a run directory, one of its checkpoints, or its `weights`.
      spec, overrides, verbose, callbacks, root, run_directory: as for `train`.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.python.following import followed

    def action(observers: Sequence[Observer]) -> Any:
        from senn_cli.training.transfer import transfer_run

        return transfer_run(
            _spec(spec, overrides),
            Path(origin),
            root=Path(root),
            run_directory=_path(run_directory),
            observers=observers,
        )

    return followed(action, verbose, callbacks)


def resume(
    run: str | os.PathLike[str],
    *,
    step: int | None = None,
    overrides: Sequence[str] = (),
    branch: str | Path | None = None,
    verbose: int = 0,
    callbacks: Iterable[Observer] = (),
) -> Run:
    """Goes on with a run, as `senn resume` does.

    Args:
      run: a `Run`, or the run's directory.
      step: the checkpoint to go on from; the newest by default.
      overrides: changes of the spec, such as `training.epochs=400`.
      branch: a new directory to go on in; the run then stays as it is.
      verbose, callbacks: as for `fit`.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.python.following import followed

    def action(observers: Sequence[Observer]) -> Any:
        from senn_cli.training.resume import resume_run

        return resume_run(
            Path(run), step=step, overrides=overrides, branch=_path(branch), observers=observers
        )

    return followed(action, verbose, callbacks)


def load(run: str | os.PathLike[str]) -> Model:
    """The trained network of a run, which maps examples to class probabilities or predictions.

    Args:
      run: a `Run`, its directory, or one of its checkpoints: `RUN/checkpoints/600`, or
        `RUN/checkpoints/best` for the network of the best evaluation.

    Raises:
      SennError: there is no such run, or it has not finished.
    """
    from senn_cli.model import load_model

    return load_model(Path(run))


def import_weights(
    weights: Any,
    mapping: str | Path | None = None,
    *,
    output: str | Path,
    overrides: Sequence[str] = (),
) -> Imported:
    """Reads a network that was trained elsewhere, as `senn import` does.

    Args:
      weights: a file of PyTorch, Keras, safetensors or NumPy; or scikit-learn's fitted
        `MLPClassifier` or `MLPRegressor`, alone or behind scalers in a `Pipeline`.
      mapping: a YAML file that says which array is what; not needed where names, a configuration
        or senn's own description tell.
      output: a new or empty directory, which `transfer` takes as its origin.
      overrides: keys of the mapping, given or found, such as `activation=relu`.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.use.imports import import_weights as read

    place = None if mapping is None else Path(mapping)
    return read(weights, place, Path(output), overrides)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _spec(spec: AnySpec, overrides: Sequence[str]) -> Spec:
    """The spec that `train` was given in one of its forms."""
    if isinstance(spec, Mapping):
        from senn_cli.spec.load import from_values

        return from_values(spec, Path.cwd(), overrides)
    if isinstance(spec, str | os.PathLike):
        return load_spec(Path(spec), overrides)
    if overrides:
        raise ValueError("overrides need a path or a mapping, not a ready Spec")
    return spec
