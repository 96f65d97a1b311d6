"""Packages that only some commands need, imported when they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from senn_cli.errors import UsageError


def require(module: str, purpose: str, extra: str = "export") -> Any:
    """The module of that name.

    Args:
      module: such as `onnx.helper`.
      purpose: what it is needed for, the beginning of a sentence.
      extra: the package's extra that it comes with.

    Raises:
      UsageError: it is not installed.
    """
    name = module.partition(".")[0]
    try:
        import_module(name)
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{purpose} needs {name}, which cannot be imported ({error})",
            hint=f"Install it: pip install 'senn-cli[{extra}]'",
        ) from error
