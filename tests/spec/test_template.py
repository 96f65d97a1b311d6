"""The templates are valid, named, and say what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest

import senn_cli.spec
from senn_cli.spec import load_spec
from senn_cli.spec.template import template_text, templates

NAMES = [
    "minimal",
    "mlp-classification",
    "mlp-regression",
    "own-csv",
    "own-huggingface",
    "own-images-folder",
    "own-images-npz",
    "own-parquet",
    "sklearn",
]
DIRECTORY = Path(senn_cli.spec.__file__).parent / "templates"


def test_all_are_there_and_nothing_else() -> None:
    assert list(templates()) == NAMES
    assert sorted(file.name for file in DIRECTORY.iterdir()) == [f"{name}.yaml" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_valid(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.yaml"
    file.write_text(template_text(name), encoding="utf-8")
    spec = load_spec(file)
    assert spec.name == name
    if spec.data.source in ("npz", "csv", "parquet", "folder"):
        assert spec.data.path.parent == tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_first_line_says_what_it_is_for(name: str) -> None:
    first = template_text(name).splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith(".")
    assert templates()[name] == first[2:]


@pytest.mark.parametrize("name", NAMES)
def test_lines_fit_an_editor(name: str) -> None:
    assert [line for line in template_text(name).splitlines() if len(line) > 100] == []


@pytest.mark.parametrize("name", NAMES)
def test_options_in_comments_are_valid(name: str, tmp_path: Path) -> None:
    lines = template_text(name).splitlines()
    optional = [line for line in lines if line.strip().startswith("# ") and line[0] == " "]
    for line in optional:
        if "test_path" in line or "openml" in line:
            continue  # in place of another option
        written = "\n".join(line.replace("# ", "", 1) if each == line else each for each in lines)
        (tmp_path / "s.yaml").write_text(written)
        load_spec(tmp_path / "s.yaml")
