from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = (
        "import sys, senn_cli;"
        "heavy = {'jax', 'flax', 'optax', 'orbax', 'sklearn', 'pooch', 'pandas', 'pyarrow',"
        "         'datasets', 'torch'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert result.stdout == "[]\n"


def test_the_package_is_typed() -> None:
    assert (ROOT / "senn_cli" / "py.typed").is_file()


def test_the_install_hint_names_an_extra_that_exists() -> None:
    from senn_cli.engine.device import INSTALL_HINT

    named = re.search(r"senn-cli\[(\w+)\]", INSTALL_HINT)
    assert named is not None
    assert named[1] in PROJECT["optional-dependencies"]


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "senn_cli").rglob("*.py")}
    assert folders
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.slow
def test_the_wheel_holds_all_of_the_package(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "senn_cli", source / "senn_cli", ignore=ignored)
    shutil.copytree(ROOT / "specs", source / "specs")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(source)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    (wheel,) = tmp_path.glob("senn_cli-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        demo = archive.read("senn_cli/specs/quickstart.yaml")
    expected = {
        str(path.relative_to(source)) for path in (source / "senn_cli").rglob("*") if path.is_file()
    }
    assert expected <= held
    shipped = {path.relative_to(source) for path in (source / "specs").rglob("*") if path.is_file()}
    assert {f"senn_cli/{path}" for path in shipped} <= held
    assert demo == (ROOT / "specs" / "quickstart.yaml").read_bytes()
    assert "senn_cli/py.typed" in held
    assert any(re.fullmatch(r"senn_cli/spec/templates/[\w-]+\.yaml", name) for name in held)
    others = {name for name in held if not name.startswith("senn_cli/")}
    assert all(re.match(r"senn_cli-[\w.]+\.dist-info/", name) for name in others)
    assert any(name.endswith("licenses/LICENSE") for name in others)
