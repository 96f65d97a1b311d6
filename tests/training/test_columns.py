"""A network that learnt from a, b does not go on with b, a as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.errors import RunError, UsageError
from senn_cli.spec import parse_spec
from senn_cli.training.columns import require_same_columns
from tests.use.made import made_run

ROWS = [f"{i},{i * i % 7},{'xy'[i % 2]}" for i in range(0, 60, 2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    for header in ("a,b,kind", "b,a,kind", "u,v,kind"):
        name = header.replace(",", "")
        (folder / f"{name}.csv").write_text("\n".join([header, *ROWS]))
    (folder / "none.csv").write_text("\n".join(ROWS))
    made_run(folder / "run", "{source: csv, path: abkind.csv, target: kind}")
    return folder


def check(folder: Path, data: str, run: Path | None) -> None:
    text = f"data: {{source: csv, {data}, target: 3}}\nnetwork: mlp\n"
    spec = parse_spec(text, base_dir=folder)
    require_same_columns(run, load_dataset(spec.data, 0))


@pytest.mark.parametrize(
    "data", ["path: abkind.csv", "path: bakind.csv, columns: [a, b]", "path: none.csv",
             "path: uvkind.csv, drop: [u]"]
)  # fmt: skip
def test_the_same_names_no_names_and_another_number_pass(folder: Path, data: str) -> None:
    check(folder, data, folder / "run")


def test_other_names_and_another_order(folder: Path) -> None:
    check(folder, "path: bakind.csv", None)
    with pytest.raises(UsageError, match=r"inputs are b, a, but those of .* were a, b") as caught:
        check(folder, "path: bakind.csv", folder / "run")
    assert str(caught.value.hint).startswith("bring them into its order: data.columns: [a, b]")
    with pytest.raises(UsageError, match="inputs are u, v") as caught:
        check(folder, "path: uvkind.csv", folder / "run")
    assert caught.value.hint == "let that map begin anew: transfer.inputs: fresh"


def test_a_damaged_file(folder: Path, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    (run / "preprocessing.json").write_text("{}")
    with pytest.raises(RunError, match=r"preprocessing\.json is damaged"):
        check(folder, "path: abkind.csv", run)
