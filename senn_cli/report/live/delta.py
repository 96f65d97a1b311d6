"""What has changed between two states of a JSON document, to be carried out on the former.

Columns of numbers grow at their ends, so that of a list only what lies behind the common beginning
is told. `js/live.js` carries changes out on the page's data.
"""

from __future__ import annotations

from typing import Any

Change = list[Any]
"""`[path, value]` sets, `[path, n, values]` keeps the first n of a list, and `[path]` removes.

A path is a list of keys and places from the document's root.
"""


def changes(before: Any, now: Any, path: tuple[str | int, ...] = ()) -> list[Change]:
    """The changes that make `now` of `before`, both of what JSON has, to be carried out in order.

    Lists of objects are compared an object at a time, other lists up to the first difference.
    """
    if before == now:
        return []
    if isinstance(before, dict) and isinstance(now, dict):
        found: list[Change] = [[[*path, key]] for key in before if key not in now]
        for key, value in now.items():
            if key in before:
                found += changes(before[key], value, (*path, key))
            else:
                found.append([[*path, key], value])
        return found
    if isinstance(before, list) and isinstance(now, list):
        return _of_lists(before, now, path)
    return [[list(path), now]]


def _of_lists(before: list[Any], now: list[Any], path: tuple[str | int, ...]) -> list[Change]:
    found: list[Change] = []
    same = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            if not (isinstance(old, dict) and isinstance(new, dict)):
                break
            found += changes(old, new, (*path, same))
        same += 1
    if same < max(len(before), len(now)):
        found.append([list(path), same, now[same:]])
    return found
