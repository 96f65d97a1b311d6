from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.report.live.server import HOST, Server
from tests.handmade import run_directory
from tests.report.page.made import grown_run
from tests.report.page.test_assemble import data_of
from tests.waiting import LIMIT

runner = CliRunner()


def refused(*arguments: str | Path, code: int) -> str:
    """The error of a command that fails."""
    result = runner.invoke(app, ["watch", *map(str, arguments)])
    assert result.exit_code == code
    assert result.stdout == ""
    return result.stderr


def test_it_prints_the_address_serves_the_page_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    grown_run(tmp_path / "a")
    run_directory(tmp_path / "b", name="other")
    process = subprocess.Popen(
        [sys.executable, "-m", "senn_cli", "watch", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().removesuffix("\n")
        with urllib.request.urlopen(address, timeout=LIMIT) as answer:
            data = data_of(answer.read().decode())
        assert [run["name"] for run in data["runs"]] == ["made", "other"]
    finally:
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=LIMIT)
    assert (process.returncode, *told) == (130, "", "Interrupted.\n")


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "r")
    code = (
        "import sys\nfrom senn_cli.cli.app import app\n"
        "from senn_cli.report.live.server import Server\n"
        "Server.serve_forever = lambda self: self.feed.page()\n"
        "app(['watch', sys.argv[1]], standalone_mode=False)\n"
        "print(sorted({'jax', 'flax', 'optax', 'orbax', 'matplotlib', 'sklearn', 'pandas'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, run], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1:] == ["[]"]


def test_a_browser_gets_the_address_from_a_file_that_others_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, opened = grown_run(tmp_path / "r"), list[str]()

    def open_page(uri: str) -> bool:
        page = Path(uri.removeprefix("file://"))
        assert page.stat().st_mode & 0o077 == 0
        opened.append(page.read_text())
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr(Server, "serve_forever", lambda self: None)
    result = runner.invoke(app, ["watch", str(run), "--open"])
    assert result.exit_code == 0, result.output
    address = result.stdout.strip()
    assert address.startswith(f"http://{HOST}:")
    assert f'url={address}"' in opened[0]


def test_what_cannot_be_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none does not exist" in refused(tmp_path / "none", code=2)
    (tmp_path / "file").touch()
    assert "is not a run directory" in refused(tmp_path / "file", code=2)
    damaged = run_directory(tmp_path / "damaged")
    (damaged / "summary.json").write_text("{")
    assert "summary.json is damaged" in refused(damaged, code=1)
    monkeypatch.chdir(tmp_path)
    assert "runs does not exist" in refused(code=2)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    run = grown_run(tmp_path / "r")
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port}" in refused(run, "--port", str(port), code=1)
