"""Inputs of every kind give the answers that the network gives to their arrays."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import senn_cli
from senn_cli.errors import DataError, RunError, UsageError
from senn_cli.use import inputs
from senn_cli.use.prediction import as_csv, predict_files
from tests.use.made import made_run, table

Image = pytest.importorskip("PIL.Image")
CLASSES = "{source: csv, path: table.csv, target: kind}"
VALUES = "{source: csv, path: table.csv, target: [near, far], task: regression}"


def without(path: Path, *names: str) -> Path:
    rows = list(csv.reader(io.StringIO(path.read_text())))
    keep = [i for i, name in enumerate(rows[0]) if name not in names]
    path.write_text("\n".join(",".join(row[i] for i in keep) for row in rows) + "\n")
    return path


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    without(table(folder / "table.csv"), "near", "far")
    return made_run(folder / "run", CLASSES)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on gray images of 6x6 pixels in two classes."""
    folder = tmp_path_factory.mktemp("images")
    x = np.random.default_rng(0).integers(0, 256, (40, 6, 6)).astype(np.uint8)
    np.savez(folder / "a.npz", pixels=x, y=np.array(["cat", "dog"] * 20))
    return made_run(folder / "run", "{source: npz, path: a.npz, inputs: pixels}")


def test_a_table_round_trip(kinds: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(7, 2)).astype(np.float32)
    expected = senn_cli.load(kinds)(x)
    lines = [f"{b!r},{a!r}" for a, b in x.astype(float).tolist()]
    path = tmp_path / "new.csv"
    path.write_text("b,a\n" + "\n".join(lines))  # the run's own order is a, b
    found = rows_of(as_csv(predict_files(kinds, [path]), probabilities=True))
    assert [row["row"] for row in found] == list("0123456")
    assert {row["input"] for row in found} == {str(path)}
    for row, p in zip(found, expected, strict=True):
        assert row["class"] == ("egg", "ham", "sun")[p.argmax()]
        assert float(row["probability"]) == pytest.approx(p.max(), rel=1e-6)
        values = [float(row[f"p_{name}"]) for name in ("egg", "ham", "sun")]
        assert values == pytest.approx(p.tolist(), rel=1e-6)


def test_the_runs_own_table_with_its_target(kinds: Path) -> None:
    found = predict_files(kinds, [kinds.parent / "table.csv"])
    assert len(found.answers) == 60


def test_columns_are_found_by_name_where_the_runs_table_is_gone(tmp_path: Path) -> None:
    """They were taken in their order then: wrong answers without a word."""
    own = without(table(tmp_path / "table.csv"), "near", "far")
    run = made_run(tmp_path / "run", CLASSES)
    known = predict_files(run, [own]).answers
    rows = list(csv.reader(io.StringIO(own.read_text())))  # a, kind, b
    own.unlink()
    swapped = tmp_path / "swapped.csv"
    swapped.write_text("\n".join(f"{b},{a}" for a, _, b in rows) + "\n")
    np.testing.assert_array_equal(predict_files(run, [swapped]).answers, known)
    (tmp_path / "short.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"short\.csv has no column 'b', which the run learnt from"):
        predict_files(run, [tmp_path / "short.csv"])
    wide = tmp_path / "wide.csv"
    wide.write_text("\n".join(f"{b},{'c' if b == 'b' else 7},{a}" for a, _, b in rows) + "\n")
    found = predict_files(run, [wide])
    np.testing.assert_array_equal(found.answers, known)
    assert found.notes == ("wide.csv: columns that the run does not use: 'c'",)


def as_an_older_senn_wrote_it(run: Path) -> None:
    path = run / "preprocessing.json"
    stored = json.loads(path.read_text())
    for name in ("format", "encoding"):
        del stored[name]
    path.write_text(json.dumps({**stored, "dtype": "float32"}))


def test_a_run_of_an_older_senn_finds_the_names_in_its_table_or_refuses(tmp_path: Path) -> None:
    own = without(table(tmp_path / "table.csv"), "near", "far")
    run = made_run(tmp_path / "run", CLASSES)
    known = predict_files(run, [own]).answers
    as_an_older_senn_wrote_it(run)
    np.testing.assert_allclose(predict_files(run, [own]).answers, known, rtol=1e-5)
    moved = own.rename(tmp_path / "moved.csv")
    with pytest.raises(DataError, match="kept no names of columns, and its table cannot be read"):
        predict_files(run, [moved])
    without(table(tmp_path / "table.csv"), "near", "far", "b")
    with pytest.raises(DataError, match="has 1 column of features, but the run has 2"):
        predict_files(run, [moved])


def test_a_target_far_from_0_is_predicted_in_float64(tmp_path: Path) -> None:
    rows = [f"{i},{1.7e9 + i / 16}" for i in range(60)]
    (tmp_path / "table.csv").write_text("\n".join(["t,y", *rows]) + "\n")
    data = "{source: csv, path: table.csv, target: y, task: regression}"
    run = made_run(tmp_path / "run", data, hidden=(3,))
    found = predict_files(run, [tmp_path / "table.csv"])
    assert found.answers.dtype == np.float64
    values = [float(row["y"]) for row in rows_of(as_csv(found))]
    assert len(set(values)) > 50  # in float32 steps of 128
    np.testing.assert_allclose(np.array(values) - 1.7e9, found.answers[:, 0] - 1.7e9, atol=1e-6)
    assert max(len(row["y"]) for row in rows_of(as_csv(found))) < 20


def test_values_are_in_the_units_of_the_targets(tmp_path: Path) -> None:
    without(table(tmp_path / "table.csv"), "kind")
    run = made_run(tmp_path / "run", VALUES)
    np.save(tmp_path / "x.npy", np.array([[0.0, 10.0], [1.0, 9.0]]))
    text = as_csv(predict_files(run, [tmp_path / "x.npy"]))
    found = rows_of(text)
    expected = senn_cli.load(run)(np.array([[0.0, 10.0], [1.0, 9.0]]))
    assert text.splitlines()[0] == "input,row,near,far"
    got = [[float(row["near"]), float(row["far"])] for row in found]
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert min(row[1] for row in got) > 500  # `far` is 1000 or so


def test_targets_without_names(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", "{source: regression, train: 20, test: 5}")
    np.savez(tmp_path / "x.npz", x=np.zeros(3))
    text = as_csv(predict_files(run, [tmp_path / "x.npz"]))
    assert text.splitlines()[0] == "input,row,prediction"
    assert len(text.splitlines()) == 4


def test_arrays_and_images_alike(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "IMAGES", 2)
    x = np.random.default_rng(2).integers(0, 256, (5, 6, 6)).astype(np.uint8)
    np.savez(tmp_path / "x.npz", pixels=x, other=x[:1])
    (tmp_path / "pictures").mkdir()
    for i, pixels in enumerate(x):
        Image.fromarray(pixels).save(tmp_path / "pictures" / f"{i}.png")
    header = ",".join(f"p{i}" for i in range(36))
    lines = [",".join(map(str, row)) for row in x.reshape(5, 36).tolist()]
    (tmp_path / "x.csv").write_text("\n".join([header, *lines]))
    expected = senn_cli.load(images)(x)
    for given in ("x.npz", "pictures", "x.csv"):
        found = predict_files(images, [tmp_path / given])
        np.testing.assert_allclose(found.answers, expected, rtol=1e-5, atol=1e-7)
    found = predict_files(images, [tmp_path / "pictures" / "3.png", tmp_path / "x.npz"])
    assert found.names[0].endswith("3.png")
    assert found.rows == (0, 0, 1, 2, 3, 4)
    np.testing.assert_allclose(found.answers[0], expected[3], rtol=1e-5)
    assert len(predict_files(images, [tmp_path / "x.npz"], "other").answers) == 1


def test_a_table_of_pixels_has_integers(images: Path, tmp_path: Path) -> None:
    header = ",".join(f"p{i}" for i in range(36))
    for value, message in (("0.5", "whole numbers from 0 to 255"), ("256", "stands 256")):
        (tmp_path / "x.csv").write_text(header + "\n" + ",".join([value] * 36))
        with pytest.raises(DataError, match=message):
            predict_files(images, [tmp_path / "x.csv"])


def test_images_for_a_table_and_for_the_digits(kinds: Path, tmp_path: Path) -> None:
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match="no 8-bit images"):
        predict_files(kinds, [tmp_path / "a.png"])
    run = made_run(tmp_path / "run", "{source: digits, subset: 100}")
    with pytest.raises(DataError, match="values from 0 to 16"):
        predict_files(run, [tmp_path / "a.png"])


def test_inputs_that_are_none(kinds: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.npy does not exist"):
        predict_files(kinds, [tmp_path / "none.npy"])
    (tmp_path / "a.doc").touch()
    with pytest.raises(
        UsageError, match=r"a\.doc: an input is a folder of images or ends with one"
    ):
        predict_files(kinds, [tmp_path / "a.doc"])


def test_an_answer_that_is_not_finite(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    np.save(tmp_path / "x.npy", np.array([[0.0, 0.0], [3.4e38, 3.4e38]]))
    with pytest.raises(RunError, match=r"x\.npy, row 1, is not finite \(1 of 2\)"):
        predict_files(run, [tmp_path / "x.npy"])


def test_no_examples_give_a_header_alone(kinds: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((0, 2)))
    assert as_csv(predict_files(kinds, [tmp_path / "x.npy"])) == "input,row,class,probability\n"


def test_a_model_takes_frames_as_files_are_taken(kinds: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(kinds.parent / "table.csv")
    model = senn_cli.load(kinds)
    expected = predict_files(kinds, [kinds.parent / "table.csv"]).answers
    np.testing.assert_array_equal(model(frame[["b", "kind", "a"]]), expected)
    np.testing.assert_allclose(model(frame.iloc[[3]]), expected[3:4], rtol=1e-5)
    frame["id"] = 7
    with pytest.warns(UserWarning, match="columns that the run does not use: 'id'"):
        model(frame)


def test_a_model_takes_images_in_any_wrapping(images: Path) -> None:
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).integers(0, 256, (4, 6, 6))
    model = senn_cli.load(images)
    expected = model(x.astype(np.uint8))
    for given in (x, x.reshape(4, 36), x.tolist(), pandas.DataFrame(x.reshape(4, 36))):
        np.testing.assert_array_equal(model(given), expected)


def test_arrays_of_texts_are_columns(tmp_path: Path) -> None:
    lines = [f"{n % 7},{('Rome', 'Oslo')[n % 2]},{'xy'[n % 2]}" for n in range(60)]
    (tmp_path / "table.csv").write_text("\n".join(["age,city,kind", *lines]))
    run = made_run(tmp_path / "run", CLASSES)
    np.save(tmp_path / "new.npy", np.array([["3", "Rome"], ["5", "Oslo"]]))
    (tmp_path / "new.csv").write_text("city,age\nRome,3\nOslo,5\n")
    expected = predict_files(run, [tmp_path / "new.csv"]).answers
    np.testing.assert_array_equal(predict_files(run, [tmp_path / "new.npy"]).answers, expected)


def test_parquet(kinds: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    own = kinds.parent / "table.csv"
    pandas.read_csv(own)[["b", "kind", "a"]].to_parquet(tmp_path / "new.parquet")
    expected = predict_files(kinds, [own]).answers
    np.testing.assert_allclose(
        predict_files(kinds, [tmp_path / "new.parquet"]).answers, expected, rtol=1e-6
    )
    pandas.read_csv(own)[["b"]].to_parquet(tmp_path / "short.parquet")
    with pytest.raises(DataError, match=r"short\.parquet has no column 'a'"):
        predict_files(kinds, [tmp_path / "short.parquet"])
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "new.parquet").read_bytes()[:200])
    with pytest.raises(DataError, match=r"cut\.parquet"):
        predict_files(kinds, [tmp_path / "cut.parquet"])
