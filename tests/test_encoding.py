"""Files are read and written as UTF-8, whatever the locale says."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OTHERS = {"os", "tarfile", "zipfile", "webbrowser"}  # what else is named `open`
PACKAGE = sorted((ROOT / "senn_cli").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))
SPEC = """\
name: größe-字
data: {source: csv, path: table.csv, target: farbe}
network: {kind: mlp, hidden: [3]}
optimizer: {kind: adam, learning_rate: 1e-2}
expansion: {policy: none}
training: {epochs: 1, batch_size: 10}
"""


def unspecified(source: str) -> Iterator[int]:
    """The lines that open a text file without naming its encoding."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and "encoding" not in {word.arg for word in node.keywords}:
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
            constants = [a.value for a in node.args if isinstance(a, ast.Constant)]
            reads = name == "read_text" and not node.args
            writes = name == "write_text" and len(node.args) < 2
            if reads or writes or (name == "open" and _opens_text(function, constants)):
                yield node.lineno


def _opens_text(function: ast.expr, constants: list[object]) -> bool:
    """Whether a call of something named `open` opens a text file."""
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) in OTHERS:
        return False
    modes = [c for c in constants if isinstance(c, str) and c and set(c) <= set("rwxabt+")]
    return bool(modes) and not any("b" in mode for mode in modes)


def test_every_text_file_is_opened_with_its_encoding() -> None:
    assert len(PACKAGE) > 100
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in PACKAGE
        for line in unspecified(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("p.read_text()", [1]),
        ("p.read_text('utf-8')", []),
        ("p.write_text(x)", [1]),
        ("p.write_text(x, encoding='utf-8')", []),
        ("\nopen(p, 'w')", [2]),
        ("p.open('rb')", []),
        ("os.open(p, flags)", []),
    ],
)
def test_such_lines_are_found(source: str, lines: list[int]) -> None:
    assert list(unspecified(source)) == lines


LOCALES = [
    {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"},
    {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("locale")
    (place / "größe.yaml").write_text(SPEC, encoding="utf-8")
    rows = "".join(f"{i},{i % 7},{'grün' if i % 2 else '字'}\n" for i in range(60))
    (place / "table.csv").write_text("länge,b,farbe\n" + rows, encoding="utf-8")
    return place


def senn(
    place: Path, locale: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[bytes]:
    """The exit code and what was written to standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "senn_cli", *arguments],
        capture_output=True,
        cwd=place,
        env={**os.environ, **locale},
        check=False,
    )
    return result.returncode, result.stderr.decode("utf-8", "replace")


def test_a_run_and_its_use_in_a_locale_that_is_not_utf8(place: Path) -> None:
    for command in (
        ["train", "größe.yaml", "--run-dir", "run"],
        ["evaluate", "run"],
        ["predict", "run", "table.csv", "-o", "größe.csv"],
        ["report", "run", "-o", "größe.html"],
    ):
        code, err = senn(place, LOCALES[0], *command)
        assert code == 0, (command, err)
    assert "name: größe-字" in (place / "run" / "spec.yaml").read_text(encoding="utf-8")
    predicted = (place / "größe.csv").read_text(encoding="utf-8")
    assert {"grün", "字"} & set(predicted.replace(",", "\n").split())


@pytest.mark.parametrize("locale", LOCALES, ids=["C", "cp1252", "ascii"])
def test_what_looks_something_up_in_a_locale_that_is_not_utf8(
    place: Path, locale: dict[str, str]
) -> None:
    for command, expected in (
        (["validate", "größe.yaml"], 0),
        (["data", "check", "größe.yaml"], 0),
        (["train", "größe.yaml", "--dry-run"], 0),
        (["--help"], 0),
        (["validate", "fehlt-字.yaml"], 2),
    ):
        code, err = senn(place, locale, *command)
        assert "Traceback" not in err, (command, err)
        assert code == expected, (command, err)


def test_a_path_that_the_locale_cannot_name_is_an_error(place: Path) -> None:
    (place / "größe.yaml").write_text(SPEC.replace("table.csv", "größe.csv"), encoding="utf-8")
    code, err = senn(place, LOCALES[0], "data", "check", "größe.yaml")
    (place / "größe.yaml").write_text(SPEC, encoding="utf-8")
    assert code == 2
    assert "cannot be named in this locale, whose encoding is ascii" in err
    assert "PYTHONUTF8=1" in err
    assert "Traceback" not in err
