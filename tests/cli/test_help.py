"""Every command's help at 80 columns: filled lines, and examples that can be run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.cli.examples import EXAMPLES
from senn_cli.cli.help import unwrapped
from senn_cli.cli.inspect import DEFAULT
from tests.processes import imported

WIDTH = 80


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def shown(name: str) -> list[str]:
    environment = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)}
    result = CliRunner().invoke(app, [*name.split(), "--help"], env=environment)
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_every_command_has_examples_and_no_other_has() -> None:
    assert sorted(EXAMPLES) == sorted(COMMANDS)
    assert len(COMMANDS) > 20


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_closes_with_its_examples(name: str) -> None:
    lines = shown(name)
    assert max(map(len, lines)) <= WIDTH
    start = next(k for k, line in enumerate(lines) if line.startswith("╭─ Examples"))
    inside = [line.strip("│ ") for line in lines[start + 1 :] if line.startswith("│")]
    # No line is wrapped.
    assert inside == [text for example in EXAMPLES[name] for text in example]


def test_no_help_and_no_explanation_imports_what_takes_seconds() -> None:
    lines, modules = imported(
        *([*name.split(), "--help"] for name in COMMANDS), ["explain", "data"]
    )
    assert sum("Usage: " in line for line in lines) == len(COMMANDS)
    heavy = {"jax", "flax", "optax", "orbax", "numpy", "sklearn", "onnx", "safetensors", "PIL"}
    assert not modules & heavy


@pytest.mark.parametrize("name", COMMANDS)
def test_paragraphs_fill_their_lines(name: str) -> None:
    lines = [line.rstrip() for line in shown(name)]
    prose = lines[: next(k for k, line in enumerate(lines) if line.startswith("╭"))]
    for line, following in pairwise(prose):
        if line.strip() and following.strip():
            assert len(line) + 1 + len(following.split()[0]) > WIDTH - 1, line


@pytest.mark.parametrize(
    ("name", "example"), [(n, line) for n, each in EXAMPLES.items() for line, _ in each]
)
def test_examples_can_be_run(name: str, example: str) -> None:
    senn, *words = shlex.split(example)
    assert senn == "senn"
    command, path = COMMANDS[""], []
    while hasattr(command, "commands"):
        inner = words.pop(0) if words[0] in command.commands else DEFAULT
        command = command.commands[inner]
        path.append(inner)
    # Parses the arguments and options, and runs nothing.
    with command.make_context(path[-1], words):
        pass
    assert name in ("", path[0], " ".join(path)) or (name, path[0]) == ("import", "transfer")


def test_a_paragraph_becomes_one_line() -> None:
    assert unwrapped("One\ntwo.\n\n    Three\n    four.\n") == "One two.\n\nThree four."
    assert unwrapped(None) is None
