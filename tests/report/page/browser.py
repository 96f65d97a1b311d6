"""A headless Chromium, driven through chromedriver's HTTP interface; no library is needed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import LIMIT

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_STARTED = re.compile(r"started successfully on port (\d+)")


def programs() -> tuple[str, str] | None:
    """Where Chromium and chromedriver are; None where one is missing."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """One window.

    Args:
      url: of the driver.
      options: capabilities of the session.
    """

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._url = url
        self._session = ""
        self._session = self._ask("POST", "/session", {"capabilities": options})["sessionId"]

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        place = f"/session/{self._session}" if self._session else ""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + place + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(json.load(error)["value"]["message"]) from None

    def close(self) -> None:
        """Closes the window and ends the browser."""
        self._ask("DELETE", "")

    def view(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Sets the size of the window, in CSS pixels, and the scheme that the reader prefers."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        """Opens a file from the disk."""
        self.visit(path.absolute().as_uri())

    def visit(self, address: str) -> None:
        """Opens an address."""
        self._ask("POST", "/url", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script's `return`, after two frames were drawn."""
        drawn = (
            "const done = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            f"const value = (function() {{ {script} }}).apply(null, given);"
            "requestAnimationFrame(() => requestAnimationFrame(() => done(value)));"
        )
        return self._ask("POST", "/execute/async", {"script": drawn, "args": list(arguments)})

    def devtools(self, command: str, **parameters: Any) -> Any:
        """Calls the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def messages(self) -> list[str]:
        """What was written to the console since it was last asked for."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """The addresses that were asked for since it was last asked for."""
        found = []
        for entry in self._ask("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found


@contextmanager
def chromium(binary: str, driver: str) -> Iterator[Browser]:
    """Starts both with a fresh profile, and ends both."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            port = next((m[1] for line in process.stdout if (m := _STARTED.search(line))), None)
            assert port is not None, "chromedriver did not start"
            chrome = {"binary": binary, "args": [*ARGUMENTS, f"--user-data-dir={profile}"]}
            wanted = {
                "browserName": "chrome",
                "goog:chromeOptions": chrome,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            }
            browser = Browser(f"http://127.0.0.1:{port}", {"alwaysMatch": wanted})
            try:
                browser.visit("about:blank")  # away from the page of a new tab, which loads much
                browser.requests()
                yield browser
            finally:
                browser.close()
        finally:
            process.terminate()
            process.wait(timeout=LIMIT)
            if process.stdout is not None:
                process.stdout.close()
