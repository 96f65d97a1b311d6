"""Paths in a spec: relative to the spec file, absolute once it is loaded."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BeforeValidator,
    PlainSerializer,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
)

from senn_cli.spec.base import fault
from senn_cli.spec.describe import describe

BASE_DIRECTORY = "base_dir"
"""The key of the context that holds the directory of the spec file, read or to be written."""


def _absolute(value: Any, info: ValidationInfo) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise fault(f"should be the path of a file or directory, found {describe(value)}")
    text = os.fspath(value)
    if not isinstance(text, str) or "\0" in text:
        raise fault("should be a path without null characters")
    base = (info.context or {}).get(BASE_DIRECTORY) or Path.cwd()
    # `..` is resolved in the text alone: following symbolic links here would surprise
    # whoever links a data directory into a project.
    return Path(os.path.abspath(Path(base) / os.path.expanduser(text)))


def _written(path: Path, info: SerializationInfo) -> str:
    """What lies beside the spec file is named from there, so that both can be moved."""
    base = (info.context or {}).get(BASE_DIRECTORY)
    return str(path.relative_to(base) if base and path.is_relative_to(base) else path)


SpecPath = Annotated[
    Path,
    BeforeValidator(_absolute),
    PlainSerializer(_written, when_used="json"),
    WithJsonSchema({"type": "string", "minLength": 1}),
]
"""An absolute path, read relative to the spec file; `~` is the home directory."""
