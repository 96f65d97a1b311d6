"""Paths in a spec: relative to the spec file, absolute once it is loaded."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema

from senn_cli.spec.base import fault
from senn_cli.spec.describe import describe

BASE_DIRECTORY = "base_dir"
"""The key of the validation context that holds the directory of the spec file."""


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


SpecPath = Annotated[
    Path, BeforeValidator(_absolute), WithJsonSchema({"type": "string", "minLength": 1})
]
"""An absolute path, written relative to the spec file; `~` is the home directory."""
