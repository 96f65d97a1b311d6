"""What the server gives to whom, asked over real connections."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from senn_cli.errors import RunError
from senn_cli.report.live.feed import Feed
from senn_cli.report.live.server import HOST, Server
from tests.report.page.made import grown_run
from tests.report.page.test_assemble import data_of


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    run = grown_run(tmp_path_factory.mktemp("runs") / "r")
    with Server(Feed([run])) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(
    server: Server, path: str, method: str = "GET", host: str | None = None
) -> tuple[HTTPResponse, str]:
    """The answer to a request, and its text; `path` goes behind the token unless it has a `/`."""
    connection = HTTPConnection(HOST, server.server_port)
    place = path if path.startswith("/") else f"/{server.token}/{path}"
    connection.putrequest(method, place, skip_host=True)
    connection.putheader("Host", f"{HOST}:{server.server_port}" if host is None else host)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_the_page_and_its_data(server: Server) -> None:
    answer, text = ask(server, "")
    assert (answer.status, answer.getheader("Content-Type")) == (200, "text/html; charset=utf-8")
    data = data_of(text)
    assert [run["name"] for run in data["runs"]] == ["made"]
    assert "connect-src 'self'" in text
    answer, text = ask(server, f"data?since={data['live']['version']}")
    assert (answer.status, json.loads(text)["changes"]) == (200, [])
    for since in ("", "?since=", "?since=x", "?since=-1", "?since=" + "9" * 5000, "?since=%D9%A1"):
        _, text = ask(server, f"data{since}")
        assert "whole" in json.loads(text)


def test_every_answer_forbids_to_be_kept_or_embedded(server: Server) -> None:
    for path in ("", "data", "/wrong/"):
        answer, _ = ask(server, path)
        assert answer.getheader("Cache-Control") == "no-store"
        assert answer.getheader("X-Frame-Options") == "DENY"
        assert answer.getheader("Referrer-Policy") == "no-referrer"
        assert answer.getheader("Access-Control-Allow-Origin") is None
        assert answer.getheader("Server") == "senn"


def test_another_address_is_unknown(server: Server) -> None:
    token = server.token
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    secret = f"/{token}"
    for path in (
        "/", "//", "/x/", f"/{wrong}/", f"/{wrong}/data", f"/{token[:-1]}/", f"/{token}x/",
        secret, f"{secret}/data/", f"{secret}/../", f"{secret}/../../etc/passwd",
        f"{secret}/%2e%2e/", f"{secret}/..%2f..%2fetc/passwd", f"{secret}/spec.yaml",
        f"{secret}/page.html", f"{secret}//", f"{secret}/data%00", "/http://[::1/", "/[",
    ):  # fmt: skip
        answer, text = ask(server, path)
        assert (answer.status, text) == (404, "Not Found\n"), path


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "127.0.0.1.evil.example",
     "evil.example:{port}", "127.0.0.1:{port}@evil.example", "[::1]:{port}", "0.0.0.0:{port}"],
)  # fmt: skip
def test_another_host_gets_nothing(server: Server, host: str) -> None:
    answer, text = ask(server, "", host=host.format(port=server.server_port))
    assert (answer.status, text) == (421, "Misdirected Request\n")


def test_localhost_is_this_machine(server: Server) -> None:
    assert ask(server, "", host=f"LocalHost:{server.server_port}")[0].status == 200


RAW = {
    "GET {page} HTTP/1.0\r\n\r\n": 421,
    "GET {page} HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n\r\n": 421,
    "POST {page} HTTP/1.1\r\nHost: evil.example\r\n\r\n": 421,
    "GET http://[::1 HTTP/1.1\r\nHost: {own}\r\n\r\n": 404,
    "GET /é/ HTTP/1.1\r\nHost: {own}\r\n\r\n": 404,
}


@pytest.mark.parametrize("number", range(len(RAW)))
def test_odd_requests_get_a_plain_answer(server: Server, number: int) -> None:
    request, status = list(RAW.items())[number]
    own, page = f"{HOST}:{server.server_port}", f"/{server.token}/"
    with socket.create_connection((HOST, server.server_port)) as connection:
        connection.sendall(request.format(page=page, own=own).encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.0 {status} ".encode())
    assert body.count(b"\n") == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"])
def test_nothing_is_done_but_reading(server: Server, method: str) -> None:
    for path in ("", "data", "/"):
        answer, text = ask(server, path, method)
        assert (answer.status, text) == (405, "Method Not Allowed\n")
        assert answer.getheader("Allow") == "GET, HEAD"


def test_a_head_has_no_body(server: Server) -> None:
    answer, text = ask(server, "", "HEAD")
    assert (answer.status, text) == (200, "")
    assert int(answer.getheader("Content-Length") or 0) > 10_000


def test_no_other_interface_is_listened_on(server: Server) -> None:
    assert server.socket.getsockname() == (HOST, server.server_port)
    others = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None)} - {HOST}
    for other in [*others, "127.0.0.2", "::1"]:
        family = socket.AF_INET6 if ":" in str(other) else socket.AF_INET
        with socket.socket(family) as connection, pytest.raises(OSError):
            connection.connect((other, server.server_port))


def test_addresses_are_random(tmp_path: Path, server: Server) -> None:
    with Server(server.feed) as other:
        assert other.token != server.token
        assert len(other.token) >= 43  # 256 bits
        assert other.address == f"http://127.0.0.1:{other.server_port}/{other.token}/"


def test_a_port_that_is_taken(server: Server) -> None:
    with pytest.raises(RunError, match=f"cannot be served on port {server.server_port}"):
        Server(server.feed, server.server_port)
