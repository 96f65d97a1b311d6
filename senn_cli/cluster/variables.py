"""What launchers say in environment variables, read with errors that name the variable."""

from __future__ import annotations

import re
from collections.abc import Mapping

from senn_cli.errors import UsageError


def text_of(environment: Mapping[str, str], name: str) -> str:
    """A variable's text.

    Raises:
      UsageError: it is missing or empty.
    """
    if not environment.get(name):
        raise odd(environment, name, "set")
    return environment[name]


def number_of(
    environment: Mapping[str, str], name: str, *, least: int = 0, below: int | None = None
) -> int:
    """A variable's number.

    Raises:
      UsageError: there is none, or it is not in the range.
    """
    text = text_of(environment, name)
    value = int(text) if re.fullmatch(r"\d+", text) else -1
    if value < least or (below is not None and value >= below):
        top = "" if below is None else f" below {below}"
        raise odd(environment, name, f"a number from {least}{top}")
    return value


def odd(environment: Mapping[str, str], name: str, expected: str) -> UsageError:
    """The error for a variable that is not as a launcher sets it."""
    found = environment.get(name)
    what = "missing" if found is None else repr(found)
    return UsageError(
        f"the environment variable {name} is {what} beside others of a launcher, and should be "
        f"{expected}",
        hint="Start the processes with srun or mpirun itself, or give --hosts 1 for one alone.",
    )
