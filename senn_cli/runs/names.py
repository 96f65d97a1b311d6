"""Names that are safe as parts of a file name."""

from __future__ import annotations

import secrets
import time
import unicodedata

MAX_BYTES = 80
"""Longest name in UTF-8 bytes; file systems allow 255, and a time and an id are added."""


def slug(name: str) -> str:
    """Turns any text into a part of a file name.

    Letters and digits of every script, `.`, `_` and `-` stay; each run of anything else becomes
    one `-`. The result has no leading or trailing `.` or `-` (it is neither hidden nor mistaken
    for an option), has at most `MAX_BYTES` bytes and is `run` where nothing is left.

    >>> slug("My run: 3/4")
    'My-run-3-4'
    """
    parts: list[str] = []
    for character in unicodedata.normalize("NFC", name):
        if _is_kept(character):
            parts.append(character)
        elif parts and parts[-1] != "-":
            parts.append("-")
    text = "".join(parts).strip("-.")
    # Cutting bytes may cut a character in two; its rest is dropped.
    text = text.encode("utf-8")[:MAX_BYTES].decode("utf-8", errors="ignore")
    return text.strip("-.") or "run"


def stamped(name: str) -> str:
    """`<name>-<YYYYmmdd-HHMMSS>-<6 hex digits>`, which hardly any other run has."""
    return f"{slug(name)}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def _is_kept(character: str) -> bool:
    # Marks (category M) carry the vowels of many scripts.
    return character in "._-" or unicodedata.category(character)[0] in "LNM"
