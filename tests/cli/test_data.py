from __future__ import annotations

import hashlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from senn_cli.cli.data import app
from senn_cli.data.published import FILES, MNIST, PUBLISHED
from senn_cli.errors import DataError, SennError, UsageError

SOURCES = [
    "digits",
    "moons",
    "regression",
    "mnist",
    "fashion_mnist",
    "cifar10",
    "cifar100",
    "tiny_imagenet",
    "folder",
    "npz",
    "csv",
    "parquet",
    "sklearn",
    "huggingface",
]


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SENN_DATA", raising=False)
    monkeypatch.setenv("SENN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def fault(*arguments: str) -> SennError:
    """The error that a command ends with; the command line shows it and exits with its code."""
    error = run(*arguments).exception
    assert isinstance(error, SennError)
    return error


def test_list_names_every_source() -> None:
    result = run("list")
    assert result.exit_code == 0
    assert result.stderr == ""
    rows = result.stdout.splitlines()
    assert [row.split()[0] for row in rows[1:]] == SOURCES
    assert "to be downloaded, 12 MB" in result.stdout


def test_list_as_json_and_the_sources_of_the_spec_agree() -> None:
    from senn_cli.spec import json_schema

    entries = json.loads(run("list", "--json").stdout)
    assert [entry["name"] for entry in entries] == SOURCES
    assert {entry["name"]: entry["available"] for entry in entries}["mnist"] is False
    schema = json.dumps(json_schema())
    assert all(f'"const": "{name}"' in schema for name in SOURCES)


def test_list_finds_what_senn_data_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in FILES:
        path = tmp_path / "mnist" / f"{name}.gz"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    monkeypatch.setenv("SENN_DATA", str(tmp_path))
    entries = {entry["name"]: entry for entry in json.loads(run("list", "--json").stdout)}
    assert entries["mnist"]["available"] is True
    assert entries["mnist"]["where"] == f"SENN_DATA={tmp_path}"
    assert entries["fashion_mnist"]["available"] is False


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder served on this machine as the only mirror of MNIST."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    sums = {}
    for name in FILES:
        content = f"content of {name}".encode()
        (folder / f"{name}.gz").write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/"
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(PUBLISHED, "mnist", replace(MNIST, mirrors=(address,), sha256=sums))
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.usefixtures("mirror")
def test_fetch_prints_the_directory_and_chatters_on_stderr(tmp_path: Path) -> None:
    result = run("fetch", "mnist")
    assert result.exit_code == 0
    directory = Path(result.stdout.rstrip("\n"))
    assert directory == tmp_path / "cache" / "data" / "mnist"
    assert sorted(path.name for path in directory.iterdir()) == sorted(f"{n}.gz" for n in FILES)
    assert result.stderr.count("downloading http://127.0.0.1") == 4
    again = run("fetch", "mnist")
    assert (again.stdout, again.stderr) == (result.stdout, "")
    entries = {entry["name"]: entry for entry in json.loads(run("list", "--json").stdout)}
    assert entries["mnist"]["where"] == "downloaded"


@pytest.mark.usefixtures("mirror")
def test_fetch_to_a_directory_never_replaces_a_file_there(tmp_path: Path) -> None:
    assert run("fetch", "mnist", "--to", "here").stdout == "here/mnist\n"
    file = tmp_path / "here" / "mnist" / "t10k-labels-idx1-ubyte.gz"
    file.write_bytes(b"mine")
    error = fault("fetch", "mnist", "--to", "here")
    assert isinstance(error, DataError)
    assert "is not the published file" in error.message
    assert file.read_bytes() == b"mine"


def test_a_failed_fetch_names_the_mirror_and_both_hashes(mirror: Path) -> None:
    file = mirror / "train-images-idx3-ubyte.gz"
    expected = PUBLISHED["mnist"].sha256["train-images-idx3-ubyte"]
    file.write_bytes(b"<html>Moved</html>")
    error = fault("fetch", "mnist")
    assert error.exit_code == 2
    assert error.title == "Download"
    assert expected in error.message
    assert hashlib.sha256(b"<html>Moved</html>").hexdigest() in error.message
    assert "a web page" in error.message


def test_fetch_of_what_needs_none_and_of_what_is_unknown() -> None:
    error = fault("fetch", "digits")
    assert isinstance(error, UsageError)
    assert error.message == "digits needs no download"
    assert fault("fetch", "folder").message == "folder needs no download"
    assert (
        "there are mnist, fashion_mnist, cifar10, cifar100, tiny_imagenet"
        in fault("fetch", "imagenet").message
    )


SPEC = "data: digits\nnetwork: mlp\n"


def test_check_shows_sizes_classes_and_memory(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    result = run("check", "spec.yaml")
    assert result.exit_code == 0
    assert result.stderr == ""
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0] == ["digits:", "classification,", "64", "inputs,", "10", "outputs"]
    sizes = {row[0]: row[1] for row in rows if row and row[0] in ("train", "validation", "test")}
    assert sizes["train"] == "1294"
    assert ["validation", "144", "8x8", "uint8"] in [row[:4] for row in rows]
    assert "memory: 122.2 kB" in result.stdout  # 1797 x (64 + 4) bytes


def test_check_as_json_with_overrides(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    result = run("check", "spec.yaml", "--json", "--set", "data.subset=100", "--set", "seed=3")
    report = json.loads(result.stdout)
    assert report["parts"]["train"]["examples"] == 100
    assert set(report["parts"]["train"]["class_counts"].values()) == {10}
    assert report["warnings"] == []


def test_check_of_a_regression(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("data: regression\nnetwork: mlp\n")
    result = run("check", "spec.yaml")
    assert result.exit_code == 0
    assert "deviation" in result.stdout
    assert json.loads(run("check", "spec.yaml", "--json").stdout)["outputs"] == 1


def test_check_names_a_faulty_cell(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,label\n1,x\nred,y\n")
    (tmp_path / "spec.yaml").write_text(
        "data: {source: csv, path: t.csv, target: label}\nnetwork: mlp\n"
    )
    assert fault("check", "spec.yaml").message.endswith(
        "t.csv:3: column 'a' is not a number: 'red'"
    )


def test_check_names_every_faulty_image(tmp_path: Path) -> None:
    from PIL import Image

    for name in ("a/0", "a/1", "b/0", "b/1"):
        (tmp_path / "pictures" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / "pictures" / f"{name}.png")
    (tmp_path / "spec.yaml").write_text(
        "data: {source: folder, path: pictures, test: 2, validation: 0}\nnetwork: mlp\n"
    )
    assert "8x8x3" in run("check", "spec.yaml").stdout
    (tmp_path / "pictures/a/1.png").write_bytes(b"no image")
    (tmp_path / "pictures/b/notes.txt").write_text("no image")
    error = fault("check", "spec.yaml")
    assert error.exit_code == 2
    assert str(tmp_path / "pictures/a/1.png") in error.message
    assert str(tmp_path / "pictures/b/notes.txt") in error.message


def test_class_names_are_shown_as_they_are(tmp_path: Path) -> None:
    rows = "".join(f"{i},{name}\n" for i, name in enumerate(["[bold]b[/bold]", "\x1b[31mr"] * 10))
    (tmp_path / "t.csv").write_text("a,label\n" + rows)
    (tmp_path / "spec.yaml").write_text(
        "data: {source: csv, path: t.csv, target: label}\nnetwork: mlp\n"
    )
    result = run("check", "spec.yaml")
    assert "[bold]b[/bold]" in result.stdout
    assert "?[31mr" in result.stdout
    assert "\x1b" not in result.stdout


def test_help_loads_neither_jax_nor_the_data_libraries() -> None:
    code = (
        "import sys, runpy\n"
        "from typer.testing import CliRunner\n"
        "from senn_cli.cli.data import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "print([m for m in ('jax', 'sklearn', 'pooch', 'numpy', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
