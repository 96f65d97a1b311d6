"""What `senn doctor` looks at beside JAX and the disk: extras, published data, the cache's use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Outcome = Literal["ok", "absent", "warning", "failed"]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
      name: what was looked at.
      outcome: `ok`, `absent` (nobody needs it who does not want it), `warning` (a run works, but
        worse) or `failed` (no run works).
      found: what was found.
      hint: what to do about it; empty where all is well.
    """

    name: str
    outcome: Outcome
    found: str
    hint: str = ""


@dataclass(frozen=True)
class Extra:
    """One of the package's extras.

    Attributes:
      names: its name, or several of which one is enough; the first is recommended.
      modules: what it installs, or one module for each of several names.
      brings: what one gets by it.
    """

    names: tuple[str, ...]
    modules: tuple[str, ...]
    brings: str

    def missing(self, importable: Callable[[str], bool]) -> list[str]:
        """The modules that are not there, or none where one of several is enough."""
        lacking = [module for module in self.modules if not importable(module)]
        several = len(self.names) > 1
        return [] if several and len(lacking) < len(self.modules) else lacking


EXTRAS = (
    Extra(
        ("cuda13", "cuda12"), ("jax_cuda13_plugin", "jax_cuda12_plugin"), "runs on an NVIDIA GPU"
    ),
    Extra(("plot",), ("matplotlib",), "senn plot: figures for papers"),
    Extra(
        ("export",),
        ("safetensors", "onnx", "onnxruntime"),
        "senn export to onnx and safetensors, senn import of safetensors",
    ),
    Extra(("torch",), ("torch", "safetensors"), "senn export to torch"),
    Extra(("parquet",), ("pyarrow",), "Parquet files (source: parquet)"),
    Extra(("openml",), ("pandas",), "data sets of OpenML (source: sklearn)"),
    Extra(("huggingface",), ("datasets",), "Hugging Face's data sets (source: huggingface)"),
    Extra(("optuna",), ("optuna",), "senn sweep with search: settings that Optuna proposes"),
    Extra(("keras",), ("h5py",), "senn import of .keras and .h5"),
    Extra(("tensorboard",), ("tensorboardX",), "curves in TensorBoard (track.tensorboard)"),
    Extra(("mlflow",), ("mlflow", "sqlalchemy", "alembic"), "runs in MLflow (track.mlflow)"),
    Extra(("wandb",), ("wandb",), "runs in Weights & Biases (track.wandb)"),
)
"""All extras that a user may want, in the order in which they are shown."""


def check_extras(importable: Callable[[str], bool]) -> list[Check]:
    """What is there of the package's extras in one check, and one for each that is missing.

    Args:
      importable: whether there is a module of that name; nothing is imported.
    """
    lacking = {extra: extra.missing(importable) for extra in EXTRAS}
    there = [extra.names[0] for extra, missing in lacking.items() if not missing]
    checks = [Check("extras", "ok", ", ".join(there))] if there else []
    for extra, missing in lacking.items():
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            some = len(missing) < len(extra.modules)
            partly = f" ({', '.join(missing)} {verb} missing)" if some else ""
            hint = " or ".join(f"pip install 'senn-cli[{name}]'" for name in extra.names)
            checks.append(
                Check(
                    f"extra {extra.names[0]}", "absent", f"would bring {extra.brings}{partly}", hint
                )
            )
    return checks


def check_data(names: Iterable[str], whereabouts: Callable[[str], tuple[bool, str]]) -> list[Check]:
    """Whether SENN_DATA is set, and which published data sets are on this machine.

    Args:
      names: the data sets.
      whereabouts: of one of them, whether it is here, and where it would come from.
    """
    directory = os.environ.get("SENN_DATA", "")
    found = {name: whereabouts(name) for name in names}
    faults = [where for here, where in found.values() if not here and directory in where]
    own = [name for name, (here, where) in found.items() if here and where != "downloaded"]
    kept = [name for name, (here, where) in found.items() if here and where == "downloaded"]
    checks = []
    if not directory:
        checks.append(Check("SENN_DATA", "ok", "not set; it names a directory of your data sets"))
    elif not Path(directory).expanduser().is_dir():
        hint = "Name a directory that exists, or unset it; data sets are downloaded where needed."
        checks.append(Check("SENN_DATA", "warning", f"{directory} is no directory", hint))
    elif faults:
        checks.append(
            Check("SENN_DATA", "warning", "; ".join(faults), "Complete it, or move it away.")
        )
    elif not own:
        text = f"{directory} has none of {', '.join(found)}"
        checks.append(Check("SENN_DATA", "warning", text, "`senn data list` says what is where."))
    else:
        checks.append(Check("SENN_DATA", "ok", f"{directory} has {', '.join(own)}"))
    if kept:
        checks.append(Check("downloaded data", "ok", ", ".join(kept)))
    return checks


def check_reuse(second_process_hits: Callable[[], bool]) -> Check:
    """Whether the compilation cache spares a second run the compilation.

    Args:
      second_process_hits: tries it; RuntimeError where it cannot be tried.
    """
    name = "cached programs"
    try:
        reused = second_process_hits()
    except RuntimeError as error:
        return Check(name, "warning", f"it could not be tried whether they are reused: {error}")
    if reused:
        return Check(name, "ok", "a second process reuses what the first one compiled")
    return Check(
        name,
        "warning",
        "a second process compiles again what the first one compiled; on some CPUs XLA refuses "
        "its own programs (JAX issue 38445)",
        "Every run will take as long as a first one; its results are the same.",
    )
