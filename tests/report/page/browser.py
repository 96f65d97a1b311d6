"""A headless Chromium, driven through its DevTools pipe; nothing but the browser is needed."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import LIMIT

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "chromium-headless-shell")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)

# The browser reads descriptor 3 and writes descriptor 4; those of the pipes are far above both. A
# function before the start would do the same, but fork this process, in which JAX may have threads.
NUMBERED = """
import os, sys
for number, descriptor in zip((3, 4), sys.argv[1:3]):
    os.dup2(int(descriptor), number)
os.execv(sys.argv[3], sys.argv[3:])
"""


def program() -> str | None:
    """Where Chromium is; None where it is missing."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One window.

    Args:
      into, out_of: file descriptors of the browser's pipe, JSON documents that a zero byte ends.
    """

    def __init__(self, into: int, out_of: int) -> None:
        self._into, self._out_of, self._rest = into, out_of, b""
        self._number, self._session, self._events = 0, "", list[dict[str, Any]]()
        made = self.devtools("Target.createTarget", url="about:blank")
        found = self.devtools("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.devtools(f"{domain}.enable")

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Calls the DevTools protocol."""
        self._number += 1
        call = {"id": self._number, "method": command, "params": parameters}
        call |= {"sessionId": self._session} if self._session else {}
        left = json.dumps(call).encode() + b"\0"
        while left:
            left = left[os.write(self._into, left) :]
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, told["error"]
                return told["result"]
            self._events.append(told)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out_of], [], [], LIMIT)
            assert ready, "the browser does not answer"
            found = os.read(self._out_of, 1 << 20)
            assert found, "the browser has ended"
            self._rest += found
        document, _, self._rest = self._rest.partition(b"\0")
        value: dict[str, Any] = json.loads(document)
        return value

    def _taken(self, *methods: str) -> list[dict[str, Any]]:
        """The parameters of the events of these kinds that came, which are then forgotten."""
        found = [event for event in self._events if event.get("method") in methods]
        self._events = [event for event in self._events if event.get("method") not in methods]
        return [event["params"] for event in found]

    def view(self, width: int, *, dark: bool = False, still: bool = True) -> None:
        """Sets the width of the window, in CSS pixels, and what the reader prefers.

        Args:
          dark: the scheme of colours.
          still: reduced motion.
        """
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if still else ""}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme, motion])

    def open(self, path: Path) -> None:
        """Opens a file from the disk."""
        self.visit(path.absolute().as_uri())

    def visit(self, address: str) -> None:
        """Opens an address and waits until it is loaded."""
        self._taken("Page.loadEventFired")
        self.devtools("Page.navigate", url=address)
        while not self._taken("Page.loadEventFired"):
            self._events.append(self._next())

    def leave(self) -> None:
        """Leaves the page, which may ask a server that has ended, and forgets what it did."""
        self.visit("about:blank")
        self.messages()
        self.requests()

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script's `return`, after two frames were drawn."""
        drawn = (
            f"new Promise((done) => {{ const value = (function() {{ {script} }})"
            f".apply(null, {json.dumps(arguments)});"
            "requestAnimationFrame(() => requestAnimationFrame(() => done(value))); })"
        )
        told = self.devtools(
            "Runtime.evaluate", expression=drawn, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def messages(self) -> list[str]:
        """What was written to the console, or thrown, since it was last asked for."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event) for event in self._taken(*kinds)]

    def requests(self) -> list[str]:
        """The addresses that were asked for since it was last asked for."""
        return [event["request"]["url"] for event in self._taken("Network.requestWillBeSent")]


@contextmanager
def chromium(binary: str) -> Iterator[Browser]:
    """Starts it with a fresh profile, and ends it."""
    theirs, into = os.pipe()
    out_of, answers = os.pipe()
    given = [fcntl.fcntl(each, fcntl.F_DUPFD, 100) for each in (theirs, answers)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        own = [binary, *ARGUMENTS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            [sys.executable, "-c", NUMBERED, *map(str, given), *own],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=given,
        )
        for each in (theirs, answers, *given):
            os.close(each)
        try:
            yield Browser(into, out_of)
        finally:
            process.terminate()
            process.wait(timeout=LIMIT)
            os.close(into)
            os.close(out_of)
