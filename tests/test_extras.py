from __future__ import annotations

import sys

import pytest

from senn_cli.errors import UsageError
from senn_cli.extras import require


def test_a_module_that_is_there() -> None:
    import json

    assert require("json", "this") is json


def test_one_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(UsageError, match=r"this needs onnx, which cannot be imported") as caught:
        require("onnx.helper", "this")
    assert caught.value.hint == "Install it: pip install 'senn-cli[export]'"
    assert caught.value.exit_code == 2
