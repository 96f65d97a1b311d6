from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.spec import shipped

SPECS = Path(__file__).parents[2] / "specs"


def test_in_a_checkout_it_is_the_spec_of_the_checkout() -> None:
    assert shipped.shipped("quickstart.yaml") == SPECS / "quickstart.yaml"


def test_where_it_is_installed_it_is_the_packages_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "specs").mkdir()
    monkeypatch.setattr(shipped, "files", lambda name: tmp_path)
    assert shipped.shipped("quickstart.yaml") == tmp_path / "specs" / "quickstart.yaml"


def test_a_header_is_read_up_to_what_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(
        "# Shows:   a thing: and\n#          more of it.\n# Time:    a minute.\n#\n#   Other.\n"
        "data: digits\n# Result:  none\n",
        encoding="utf-8",
    )
    assert shipped.header(path) == {"Shows": "a thing: and more of it.", "Time": "a minute."}
