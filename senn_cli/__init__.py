"""Self-Expanding Neural Networks: train networks that grow while they train.

`import senn_cli` costs no JAX; the functions below import it when they are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from senn_cli.spec import Spec
    from senn_cli.training.run import Run

__all__ = ["load_spec", "train"]


def load_spec(path: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """The spec in a YAML file, with `path.to.key=value` overrides; `SpecError` lists all faults."""
    from senn_cli.spec import load_spec as load

    return load(Path(path), overrides)


def train(
    spec: Spec | str | Path | dict[str, Any],
    *,
    overrides: Sequence[str] = (),
    root: str | Path = "runs",
    run_directory: str | Path | None = None,
) -> Run:
    """Trains a network as `spec` describes, without a terminal.

    Args:
      spec: a `Spec`, the path of a YAML file, or the content of one as a mapping.
      overrides: as `--set` takes them; not for a ready `Spec`.
      root: where the run directory is made.
      run_directory: a new or empty directory to use instead.

    Returns:
      The finished run, with `path`, `summary`, `architecture` and `params`.

    Raises:
      SennError: as the command line would report, see `senn_cli.errors`.
    """
    from senn_cli.training.run import train_run

    if isinstance(spec, dict):
        import yaml

        from senn_cli.spec import parse_spec

        spec = parse_spec(yaml.safe_dump(spec), "<spec>", Path.cwd(), overrides)
    elif isinstance(spec, str | Path):
        spec = load_spec(spec, overrides)
    elif overrides:
        raise ValueError("overrides need a path or a mapping, not a ready Spec")
    directory = None if run_directory is None else Path(run_directory)
    return train_run(spec, root=Path(root), run_directory=directory)
