"""A round of growth as bytes, and back: how process 0 tells its decisions to the others.

Values stand in JSON, arrays beside it in one `.npz`; nothing in them is executed when it is read.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args

import numpy as np

from senn_cli.engine.hosts import here
from senn_cli.growth.edits import Edit
from senn_cli.growth.policy import Candidate, Decision, Round, Site

PIECE = 1 << 20
"""Bytes that are told at a time: the service that carries them bounds the length of a message."""

_KNOWN = {kind.__name__: kind for kind in (*get_args(Edit), Candidate, Decision, Round, Site)}


def packed(found: Round) -> bytes:
    """A round as bytes."""
    arrays: list[np.ndarray] = []

    def plain(value: Any) -> Any:
        if is_dataclass(value):
            own = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
            return {"a": type(value).__name__, "of": own}
        if isinstance(value, Mapping):
            return {"map": {key: plain(each) for key, each in value.items()}}
        if isinstance(value, tuple | list):
            return [plain(each) for each in value]
        if value is None or isinstance(value, bool | int | float | str):
            return value
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}

    text = json.dumps(plain(found))
    buffer = io.BytesIO()
    np.savez(buffer, np.frombuffer(text.encode(), np.uint8), *arrays, allow_pickle=False)
    return buffer.getvalue()


def unpacked(told: bytes) -> Round:
    """The round that `packed` was given; its sequences are tuples."""
    with np.load(io.BytesIO(told), allow_pickle=False) as file:
        document, *arrays = (file[f"arr_{number}"] for number in range(len(file.files)))

    def back(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(map(back, value))
        if not isinstance(value, dict):
            return value
        if "array" in value:
            array = arrays[value["array"]]
            return array if array.ndim else array[()]
        if "map" in value:
            return {key: back(each) for key, each in value["map"].items()}
        return _KNOWN[value["a"]](**{key: back(each) for key, each in value["of"].items()})

    found: Round = back(json.loads(document.tobytes()))
    return found


def told(found: Round) -> Round:
    """The round that process 0 has decided on, which rounding elsewhere cannot part from."""
    hosts = here()
    if hosts.count == 1:
        return found
    mine = packed(found)
    pieces = hosts.agreed("a decision", -(-len(mine) // PIECE))
    text = b"".join(
        base64.b64decode(
            hosts.agreed(
                "a part of a decision",
                base64.b64encode(mine[at * PIECE : (at + 1) * PIECE]).decode(),
            )
        )
        for at in range(pieces)
    )
    return unpacked(text)
