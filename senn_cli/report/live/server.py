"""A server for one reader on this machine: the page, and what has changed in its data.

It listens on 127.0.0.1 alone. Every address begins with a random token; another one is unknown. The
`Host` that a request names must be this machine, so that a page from elsewhere whose name was made
to point here (DNS rebinding) gets nothing. There are two paths and two methods; no path is ever
looked up in the file system.
"""

from __future__ import annotations

import hmac
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from senn_cli.errors import RunError, SennError
from senn_cli.report.live.feed import Feed
from senn_cli.runs.jsonl import dumps

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page has the rest of it
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Server(ThreadingHTTPServer):
    """The server; `serve_forever` runs it.

    Args:
      feed: what it serves.
      port: 0 for any free one.

    Attributes:
      token: what every address begins with.

    Raises:
      RunError: the port is taken or not allowed.
    """

    daemon_threads = True

    def __init__(self, feed: Feed, port: int = 0) -> None:
        self.feed = feed
        self.token = secrets.token_urlsafe(32)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise RunError(
                f"the page cannot be served on port {port}: {error.strerror or error}",
                hint="Leave --port out for a free one.",
            ) from error

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """As usual; but a reader that went away is no error of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 10.0  # seconds that a connection may be silent

    def version_string(self) -> str:
        """What the header `Server` says: no versions."""
        return "senn"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses have the token in them."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A plain answer that repeats nothing of the request."""
        self._answer(HTTPStatus(code), f"{HTTPStatus(code).phrase}\n", "text/plain")

    def parse_request(self) -> bool:
        """As usual; what is not meant for us is refused before its method is looked at."""
        if not super().parse_request():
            return False
        if not self._is_here():
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif self.command not in ("GET", "HEAD"):
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
        else:
            return True
        return False

    def do_GET(self) -> None:
        """The page, or what has changed in its data."""
        address, _, query = self.path.partition("?")
        token, slash, path = address.removeprefix("/").partition("/")
        own = hmac.compare_digest(token.encode("utf-8", "surrogateescape"), self._token)
        try:
            if own and slash and path == "":
                self._answer(HTTPStatus.OK, self.server.feed.page(), "text/html")
            elif own and path == "data":
                text = dumps(self.server.feed.since(_version(query)))
                self._answer(HTTPStatus.OK, text, "application/json")
            else:
                self.send_error(HTTPStatus.NOT_FOUND)
        except SennError:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)

    do_HEAD = do_GET

    @property
    def _token(self) -> bytes:
        return self.server.token.encode()

    def _is_here(self) -> bool:
        """Whether the request names this machine, once, with our port."""
        hosts = self.headers.get_all("Host") or []
        known = {f"{name}:{self.server.server_port}" for name in _NAMES}
        return len(hosts) == 1 and hosts[0].strip().lower() in known

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        content = text.encode("utf-8")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _version(query: str) -> int | None:
    """The state that the reader has; None where it names none."""
    told = parse_qs(query).get("since", [""])[0]
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 16 else None
