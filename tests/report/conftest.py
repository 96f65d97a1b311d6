from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.page.browser import Browser, chromium, program


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    found = program()
    if found is None:
        pytest.skip("needs Chromium on the PATH")
    with chromium(found) as started:
        yield started
