"""One table by every source: the same network comes of it, resumed too, bit for bit.

scikit-learn's iris is written as text, as Parquet, as arrays, and by the library `datasets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris

from senn_cli.errors import SennError
from senn_cli.spec import parse_spec
from senn_cli.training.run import Run, train_run
from senn_cli.use.evaluation import evaluate_run
from senn_cli.use.measures import Multilabel
from senn_cli.use.prediction import as_csv, predict_files
from tests.resuming import (
    Executables,
    check_same,
    check_same_weights,
    resume,
    shared_programs,
    steps,
)

SPEC = """
name: sources
data: SOURCE
network: {kind: mlp, hidden: [3], activation: tanh}
optimizer: {kind: adam, learning_rate: 1e-2, schedule: constant}
expansion: {policy: none}
training: {steps: 6, batch_size: 30}
"""

SOURCES = {
    "sklearn": "{source: sklearn, name: iris}",
    "csv": "{source: csv, path: t.csv, target: kind, weights: w}",
    "parquet": "{source: parquet, path: t.parquet, target: kind, weights: w}",
    "npz": "{source: npz, path: t.npz}",
    "huggingface": "{source: huggingface, path: hub, target: kind, weights: w}",
}

EXECUTABLES: Executables = {}


@pytest.fixture(scope="module", autouse=True)
def compiled_once() -> Iterator[None]:
    with shared_programs(EXECUTABLES):
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, bunch = tmp_path_factory.mktemp("files"), load_iris()
    labels = [str(bunch.target_names[number]) for number in bunch.target]
    columns: dict[str, object] = dict(zip("abcd", bunch.data.T, strict=True))
    columns |= {"w": np.ones(len(labels)), "kind": labels}
    table = pa.table(columns)
    table.to_pandas().to_csv(place / "t.csv", index=False)
    pq.write_table(table, place / "t.parquet")
    np.savez(place / "t.npz", x=bunch.data, y=np.array(labels))
    return place


@pytest.fixture(scope="module")
def reference(files: Path) -> Run:
    return trained("sklearn", files, "whole")


def trained(name: str, files: Path, run: str, **options: Any) -> Run:
    spec = parse_spec(SPEC.replace("SOURCE", SOURCES[name]), base_dir=files)
    return train_run(spec, run_directory=files / "runs" / name / run, **options)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_trains_the_same_network_and_resumes(
    name: str, files: Path, reference: Run
) -> None:
    if name == "huggingface":
        datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
        datasets.Dataset(pq.read_table(files / "t.parquet")).save_to_disk(str(files / "hub"))
    whole = trained(name, files, "again")
    check_same_weights(whole.path, reference.path)
    part = trained(name, files, "part", until=steps(3))
    resume(part.path)
    check_same(part.path, whole.path)
    measured = evaluate_run(part.path).measures
    assert measured == evaluate_run(reference.path).measures
    if name in ("csv", "parquet", "huggingface"):  # whose columns have the same names
        other = files / f"{name}.yaml"
        other.write_text(SPEC.replace("SOURCE", SOURCES["csv"]))
        assert evaluate_run(part.path, other).measures == measured
    if name != "npz":  # whose columns have other names
        return
    answers = predict_files(part.path, [files / "t.npz"], "x").answers
    assert answers.shape == (150, 3)


def test_several_labels_with_weights(files: Path) -> None:
    """From a typed table to a resumed run, its figures and its answers."""
    table = pq.read_table(files / "t.parquet")
    long = pa.array(np.asarray(table["c"]) > 3)  # booleans and numbers are labels alike
    wide = pa.array((np.asarray(table["d"]) > 1.5).astype(np.int64))
    weights = pa.array(np.arange(150) % 3, pa.int8())
    table = table.append_column("long", long).append_column("wide", wide)
    pq.write_table(table.append_column("v", weights), files / "labels.parquet")
    section = (
        "{source: parquet, path: labels.parquet, target: [wide, long], task: multilabel, "
        "columns: [a, b, c, d], weights: v}"
    )
    spec = parse_spec(SPEC.replace("SOURCE", section), base_dir=files)
    whole = train_run(spec, run_directory=files / "runs" / "labels")
    part = train_run(spec, run_directory=files / "runs" / "labels-part", until=steps(3))
    resume(part.path)
    check_same(part.path, whole.path)
    measures = evaluate_run(part.path).measures
    assert isinstance(measures, Multilabel)
    assert [label.name for label in measures.labels] == ["wide", "long"]
    table.select(["d", "c", "b", "a"]).to_pandas().to_csv(files / "new.csv", index=False)
    written = as_csv(predict_files(part.path, [files / "new.csv"])).splitlines()
    assert written[0] == "input,row,wide,long"
    assert len(written) == 151
    alike = section.replace(", weights: v", "")
    plain = parse_spec(SPEC.replace("SOURCE", alike), base_dir=files)
    other = train_run(plain, run_directory=files / "runs" / "labels-plain")
    assert evaluate_run(other.path).measures != measures


def test_a_run_goes_on_with_the_data_it_began_with_alone(files: Path) -> None:
    table = pq.read_table(files / "t.parquet")
    pq.write_table(table, files / "other.parquet")
    section = "{source: parquet, path: other.parquet, target: kind, weights: w}"
    spec = parse_spec(SPEC.replace("SOURCE", section), base_dir=files)
    part = train_run(spec, run_directory=files / "runs" / "other", until=steps(3))
    changed = np.ones(150)
    changed[7] = 2
    place = table.column_names.index("w")
    pq.write_table(table.set_column(place, "w", pa.array(changed)), files / "other.parquet")
    with pytest.raises(SennError, match="the data are not those that the run was started with"):
        resume(part.path)
