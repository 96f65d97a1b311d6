"""The commented specs that users start from; they are package data."""

from __future__ import annotations

from importlib.resources import files


def templates() -> dict[str, str]:
    """The names of the templates, each with what it is for: its first line, a comment."""
    return {
        name: template_text(name).splitlines()[0].removeprefix("#").strip() for name in _names()
    }


def template_text(name: str) -> str:
    """A template's text.

    Args:
      name: one of `templates()`.
    """
    return files("senn_cli.spec").joinpath("templates", f"{name}.yaml").read_text("utf-8")


def _names() -> list[str]:
    found = files("senn_cli.spec").joinpath("templates").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in found if file.name.endswith(".yaml"))
