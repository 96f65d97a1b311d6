"""With defaults growth ends by itself on a stranger's small table, in a network that it warrants.

The tables and the three lines of spec are those of `benchmarks/tables.py`.
"""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

import senn_cli
from senn_cli.data.registry import load_dataset
from tests.resuming import rows

BENCHMARK = run_path(str(Path(__file__).parents[2] / "benchmarks" / "tables.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARK["TABLES"])
def test_growth_ends_by_itself(name: str, tmp_path: Path) -> None:
    target, task = BENCHMARK["write"](name, tmp_path)
    spec = tmp_path / "table.yaml"
    text = BENCHMARK["SPEC"].format(name=name, target=target, task=task, seed=0)
    spec.write_text(text, encoding="utf-8")
    run = senn_cli.train(spec, root=tmp_path, verbose=False)
    loaded = senn_cli.load_spec(spec)
    examples = load_dataset(loaded.data, loaded.seed)
    added = [
        event["step"]
        for event in rows(run.path / "history.jsonl")
        if event["edit"] in ("add_neurons", "insert_layer")
    ]
    assert max(added, default=0) < 0.7 * run.summary["steps"]
    start = rows(run.path / "metrics.jsonl")[0]["parameters"]
    warranted = len(examples.train) * examples.outputs
    # The ten neurons that a run starts with are more already than the 14 rows of linnerud warrant.
    assert start > warranted or run.summary["parameters"] <= warranted
    assert (start > warranted) == (name == "linnerud")
