"""What tests of growth share: dense algebra to compare with, and a search with its programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from senn_cli.engine.objective import REGRESSION
from senn_cli.engine.programs import Ledger
from senn_cli.growth.compiled import Compiled
from senn_cli.growth.policies.search import SearchGrowth
from senn_cli.growth.policy import Round, View
from tests.dense_algebra import dense, nets

__all__ = ["dense", "nets"]

NO_FIELDS: Any = None


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return Compiled(Ledger(), REGRESSION, "gaussian", damping_a=1e-3, damping_s=1e-3)


@pytest.fixture(scope="module")
def decide(compiled: Compiled, request: pytest.FixtureRequest) -> Callable[..., Round]:
    """A round of a view by the module's `SETTINGS`, but for what is changed."""

    def run(view: View, **changes: Any) -> Round:
        settings = replace(request.module.SETTINGS, **changes)
        return SearchGrowth(settings, compiled, NO_FIELDS).decide(view)

    return run
