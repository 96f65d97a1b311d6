"""`senn validate` refuses what is known to stop training before the data are loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from senn_cli.cli.app import app
from senn_cli.data.known import known, training_rows
from senn_cli.data.registry import load_dataset
from senn_cli.engine import gpu
from senn_cli.errors import SpecError
from senn_cli.spec import load_spec, parse_spec
from senn_cli.training import foreseen as subject
from senn_cli.training.foreseen import doubts, foreseen

ROOT = Path(__file__).parents[2]


def refused(folder: Path, text: str, *overrides: str) -> str:
    (folder / "s.yaml").write_text(text)
    with pytest.raises(SpecError) as caught:
        load_spec(folder / "s.yaml", overrides, also=foreseen)
    return caught.value.message.replace(f"{folder}/", "")


def table(folder: Path, rows: int) -> None:
    lines = [f"{i},{i % 7},{i % 2}" for i in range(rows)]
    (folder / "t.csv").write_text("\n".join(["a,b,label", *lines]))


def test_a_batch_that_does_not_fit_is_refused_at_its_line(tmp_path: Path) -> None:
    told = refused(tmp_path, "data: moons\nnetwork: mlp\ntraining:\n  batch_size: 181\n")
    assert told == (
        "s.yaml:4: training.batch_size should be at most 180, the examples to train on, found 181; "
        "left out, it fits the data"
    )
    refused(
        tmp_path, "data: {source: digits, subset: 100}\nnetwork: mlp", "training.batch_size=101"
    )
    refused(tmp_path, "data: {source: mnist}\nnetwork: mlp", "training.batch_size=54001")


def test_a_table_is_counted_and_not_read(tmp_path: Path) -> None:
    table(tmp_path, 178)
    text = "data: {source: csv, path: t.csv, target: label}\nnetwork: mlp\n"
    assert (
        "at most 129, the examples to train on that a table of 179 lines can have, found 256"
        in (refused(tmp_path, text, "training.batch_size=256"))
    )
    (tmp_path / "t.csv").unlink()  # a spec can be written before the data are there
    load_spec(tmp_path / "s.yaml", ["training.batch_size=256"], also=foreseen)


def test_an_archive_tells_the_shape_in_its_header(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones((40, 5), np.float32), y=np.arange(40) % 2)
    text = "data: {source: npz, path: a.npz}\nnetwork: densenet\n"
    assert refused(tmp_path, text) == (
        "s.yaml:2: network.kind should be mlp: a densenet needs images, and an example of "
        "data.path has the shape (5,)"
    )
    assert "at most 29, the examples to train on, found 30" in refused(
        tmp_path, text.replace("densenet", "mlp"), "training.batch_size=30"
    )
    np.savez(tmp_path / "a.npz", x=np.ones((40, 8, 8), np.float32), y=np.arange(40) % 2)
    (tmp_path / "s.yaml").write_text(text)
    load_spec(tmp_path / "s.yaml", also=foreseen)
    (tmp_path / "a.npz").write_text("no archive")
    load_spec(tmp_path / "s.yaml", also=foreseen)  # reading it says what is wrong


@pytest.mark.parametrize("source", ["moons", "regression", "{source: csv, path: t, target: y}"])
def test_a_densenet_of_what_is_no_image_is_refused(tmp_path: Path, source: str) -> None:
    told = refused(tmp_path, f"data: {source}\nnetwork: densenet\n")
    assert "s.yaml:2: network.kind should be mlp for data.source" in told
    assert "a densenet needs images" in told


def test_a_network_that_fits_no_machine_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "machine_memory", lambda: 16 * 10**9)
    monkeypatch.setattr(subject, "expected_platform", lambda device: "cpu")
    text = "data: moons\nnetwork: {kind: mlp, hidden: [1e6, 1e6]}\noptimizer: sgd\n"
    # A million times a million weights of four bytes.
    told = refused(tmp_path, text, "expansion.policy=none")
    assert "s.yaml:2: network.hidden makes a network that takes 4.0 TB at the start" in told
    assert "more than the 16.0 GB of this machine" in told


@pytest.mark.parametrize(
    "data",
    [
        "digits",
        "{source: digits, test: 300, validation: 0}",
        "{source: digits, subset: 10%}",
        "{source: moons, train: 77, validation: 10}",
        "{source: regression, subset: 20}",
        "{source: csv, path: t.csv, target: label, test: 30%}",
        "{source: npz, path: a.npz, test_path: a.npz, validation: 5}",
    ],
)
def test_the_rows_are_those_that_loading_leaves(data: str, tmp_path: Path) -> None:
    table(tmp_path, 60)
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().split("\n", 1)[0] + "\n")
    rows = "\n".join(f"{i},{i % 7},{i % 2}" for i in range(60))
    (tmp_path / "t.csv").write_text("a,b,label\n" + rows)
    np.savez(tmp_path / "a.npz", x=np.arange(50.0), y=np.arange(50) % 2)
    spec = parse_spec(f"data: {data}\nnetwork: mlp\n", "s.yaml", tmp_path)
    source = known(spec.data)
    assert source is not None
    lines = source.rows - (0 if source.exact else 1)  # the header
    assert training_rows(spec.data, lines) == len(load_dataset(spec.data, 0).train)


def test_a_missing_gpu_is_a_warning_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    (tmp_path / "s.yaml").write_text("data: moons\nnetwork: mlp\ndevice: gpu\n")
    result = CliRunner().invoke(app, ["validate", str(tmp_path / "s.yaml")])
    assert result.exit_code == 0
    reason = "device is gpu, but JAX will find no GPU here: the environment has JAX_PLATFORMS=cpu"
    assert result.stderr == f"{tmp_path}/s.yaml: warning: {reason}\n"
    (found,) = json.loads(
        CliRunner().invoke(app, ["validate", "--json", str(tmp_path / "s.yaml")]).stdout
    )
    assert found["valid"] is True and found["warnings"] == [reason]
    assert doubts(parse_spec("data: moons\nnetwork: mlp\n")) == []
    monkeypatch.setenv("JAX_PLATFORMS", "")
    monkeypatch.setattr(gpu, "_DEVICES", ())
    assert gpu.why_no_gpu() == "this machine has none"
    assert gpu.expected_platform("auto") == "cpu"


def test_all_specs_and_templates_validate_without_heavy_imports() -> None:
    """Quick by its cause: nothing is imported that takes seconds."""
    code = (
        "import sys, tempfile, pathlib\n"
        "from typer.testing import CliRunner\n"
        "from senn_cli.cli.app import app\n"
        "from senn_cli.spec.template import template_text, templates\n"
        "folder = pathlib.Path(tempfile.mkdtemp())\n"
        "for name in templates():\n"
        "    (folder / f'{name}.yaml').write_text(template_text(name))\n"
        "specs = [*map(str, folder.glob('*.yaml')), *sys.argv[1:]]\n"
        "result = CliRunner().invoke(app, ['validate', *specs])\n"
        "assert result.exit_code == 0, result.output\n"
        "assert len(result.stdout.splitlines()) == len(specs)\n"
        "heavy = ('jax', 'jaxlib', 'flax', 'optax', 'orbax', 'sklearn', 'scipy', 'PIL', 'pandas',\n"
        "         'polars', 'pyarrow', 'datasets', 'torch')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    specs = sorted(map(str, (ROOT / "specs").glob("*.yaml")))
    assert len(specs) > 10
    done = subprocess.run(
        [sys.executable, "-c", code, *specs], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def test_the_steps_that_are_told_are_those_of_the_run() -> None:
    # 1,294 rows are 5 batches of 256: 20 epochs are 100 steps, fewer than the least by default.
    for extra, steps in (("", 300), ("training: {epochs: 20}\n", 100)):
        told = subject.length_of(parse_spec(f"name: d\ndata: digits\nnetwork: mlp\n{extra}"))
        assert told == f"1,294 examples in batches of 256, {steps} steps"
