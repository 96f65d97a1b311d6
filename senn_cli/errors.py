"""Errors that a user can cause or must hear of, each with its exit code."""

from __future__ import annotations


def escaped(text: str) -> str:
    r"""The text with control characters as escapes such as `\x1b`; its line ends stay."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text
    )


MISFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading JSON or YAML raises where its values have another form than was written."""


class SennError(Exception):
    """An error with a readable message, which the command line shows as a panel.

    Messages quote what others wrote: names of files, cells, labels. Whatever could steer a terminal
    is escaped here, for all of them.

    Args:
      message: what was found and what was expected; names a file and line or an array's path.
      title: the kind of fault, the heading of the panel.
      hint: what to do about it, if there is something to do.
    """

    exit_code: int = 1
    title: str = "Error"

    def __init__(self, message: str, *, title: str | None = None, hint: str | None = None) -> None:
        message = escaped(message)
        super().__init__(message)
        self.message = message
        self.hint = None if hint is None else escaped(hint)
        if self.hint is not None:
            self.add_note(self.hint)  # the last line of a traceback, from Python
        if title is not None:
            self.title = title

    def _render_traceback_(self) -> list[str]:
        # What a notebook shows: the fault is the user's to mend, not that of the code below.
        return [f"{self.title}: {self.message}", *filter(None, [self.hint])]


class SpecError(SennError):
    """A spec (or an override) that does not describe a run."""

    exit_code = 2
    title = "Invalid spec"


class UsageError(SennError):
    """A command line that asks for something which does not make sense."""

    exit_code = 2
    title = "Usage"


class DataError(SennError):
    """Data that are missing, damaged or of the wrong form."""

    exit_code = 2
    title = "Data"


class DeviceError(SennError):
    """A device that was asked for and is not there."""

    exit_code = 2
    title = "Device"


class RunError(SennError):
    """A run directory or checkpoint that cannot be read or written."""

    exit_code = 1
    title = "Run"


class OutputError(SennError):
    """Standard output that cannot be written.

    Args:
      gone: its reader has ended, as `head` does: nobody waits for the rest, or for a message.
    """

    title = "Output"

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message, hint="What was to be written there is lost.")
        self.gone = gone


class DivergedError(SennError):
    """A loss, score or parameter that is no longer finite."""

    exit_code = 3
    title = "Diverged"


class InterruptedRun(SennError):
    """A run stopped by a signal; exit code 130 for Ctrl-C, 75 (try again) for others."""

    title = "Interrupted"

    def __init__(self, message: str, *, exit_code: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code
