"""Self-Expanding Neural Networks: train networks that grow while they train.

`import senn_cli` costs no JAX; the functions below import it when they are called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senn_cli.model import Model
    from senn_cli.spec import Spec
    from senn_cli.training.run import Run
    from senn_cli.use.imports import Imported

__all__ = ["import_weights", "load", "load_spec", "resume", "train", "transfer"]


def load_spec(path: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """The spec in a YAML file, with `path.to.key=value` overrides; `SpecError` lists all faults."""
    from senn_cli.spec import load_spec as load

    return load(Path(path), overrides)


def train(
    spec: Spec | str | Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    root: str | Path = "runs",
    run_directory: str | Path | None = None,
) -> Run:
    """Trains a network as `spec` describes, without a terminal.

    Args:
      spec: a `Spec`, the path of a YAML file, or the content of one as a mapping. Data are named,
        not held: arrays are saved by `numpy.savez("my.npz", x=x, y=y)` and named by
        `{"source": "npz", "path": "my.npz"}`.
      overrides: as `--set` takes them; not for a ready `Spec`.
      root: where the run directory is made.
      run_directory: a new or empty directory to use instead.

    Returns:
      The finished run, with `path`, `summary`, `architecture` and `params`.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.training.run import train_run

    directory = None if run_directory is None else Path(run_directory)
    return train_run(_spec(spec, overrides), root=Path(root), run_directory=directory)


def transfer(
    origin: str | Path,
    spec: Spec | str | Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    root: str | Path = "runs",
    run_directory: str | Path | None = None,
) -> Run:
    """Trains as `spec` describes, from the network of another run, as `senn transfer` does.

    Args:
      origin: a run directory, one of its checkpoints, or its `weights`.
      spec, overrides, root, run_directory: as for `train`.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.training.transfer import transfer_run

    directory = None if run_directory is None else Path(run_directory)
    return transfer_run(
        _spec(spec, overrides), Path(origin), root=Path(root), run_directory=directory
    )


def resume(
    run: str | Path,
    *,
    step: int | None = None,
    overrides: Sequence[str] = (),
    branch: str | Path | None = None,
) -> Run:
    """Goes on with the run in a directory, as `senn resume` does.

    Args:
      run: the run's directory.
      step: the checkpoint to go on from; the newest by default.
      overrides: changes of the spec, such as `training.epochs=400`.
      branch: a new directory to go on in; the run then stays as it is.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.training.resume import resume_run

    target = None if branch is None else Path(branch)
    return resume_run(Path(run), step=step, overrides=overrides, branch=target)


def load(run: str | Path) -> Model:
    """The trained network of a run, which maps examples to class probabilities or predictions.

    Args:
      run: the run's directory, or one of its checkpoints: `RUN/checkpoints/600`, or
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


def _spec(spec: Spec | str | Path | Mapping[str, Any], overrides: Sequence[str]) -> Spec:
    """The spec that `train` was given in one of its forms."""
    if isinstance(spec, Mapping):
        from senn_cli.spec.load import from_values

        return from_values(spec, Path.cwd(), overrides)
    if isinstance(spec, str | Path):
        return load_spec(spec, overrides)
    if overrides:
        raise ValueError("overrides need a path or a mapping, not a ready Spec")
    return spec
