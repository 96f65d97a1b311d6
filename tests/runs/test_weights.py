"""Weights on disk: what is read is what was written, and damage is told by the file's name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.errors import RunError
from senn_cli.nets import registry
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import Architecture
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters
from senn_cli.runs.weights import ARCHITECTURE, load_weights, save_weights

NETWORK = MlpArchitecture(4, 3, (Layer(2, 5, "rational"), Layer(3, 3, "silu")))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "kept"
    save_weights(path, NETWORK, initial_parameters(NETWORK, 7))
    return path


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "copy"))


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Has `edit` change the stored architecture."""
    file = path / ARCHITECTURE
    content = json.loads(file.read_text())
    edit(content["architecture"])
    file.write_text(json.dumps(content))


def test_round_trip(copy: Path) -> None:
    # From a copy: weights may be moved.
    architecture, params = load_weights(copy)
    assert architecture == NETWORK
    wanted = initial_parameters(NETWORK, 7)
    assert params.keys() == wanted.keys()
    for name, leaves in wanted.items():
        assert params[name].keys() == leaves.keys()
        for symbol, array in leaves.items():
            assert isinstance(params[name][symbol], np.ndarray)
            assert params[name][symbol].dtype == np.float32
            np.testing.assert_array_equal(params[name][symbol], array)


def test_a_linear_model(tmp_path: Path) -> None:
    linear = MlpArchitecture(2, 3)
    params = initial_parameters(linear, 0)
    save_weights(tmp_path / "w", linear, params)
    architecture, found = load_weights(tmp_path / "w")
    assert architecture == linear
    np.testing.assert_array_equal(found["map_0"]["kernel"], params["map_0"]["kernel"])


def test_writing_again_replaces(copy: Path) -> None:
    params = initial_parameters(NETWORK, 8)
    save_weights(copy, NETWORK, params)
    _, found = load_weights(copy)
    np.testing.assert_array_equal(found["map_1"]["kernel"], params["map_1"]["kernel"])


def test_no_weights(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"architecture\.json does not exist"):
        load_weights(tmp_path / "none")


def test_without_the_architecture_weights_are_not_complete(copy: Path) -> None:
    (copy / ARCHITECTURE).unlink()
    with pytest.raises(RunError, match=r"architecture\.json does not exist"):
        load_weights(copy)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"architecture": {"hidden": 5}}', '{"architecture": 3}']
)
def test_a_damaged_architecture(copy: Path, content: str) -> None:
    (copy / ARCHITECTURE).write_text(content)
    with pytest.raises(RunError, match=r"architecture\.json is damaged"):
        load_weights(copy)


def test_another_width_names_the_array(copy: Path) -> None:
    change(copy, lambda a: a["hidden"][0].update(capacity=6))
    expected = r"copy/arrays is damaged: map_0\.kernel is float32\(4, 5\), expected .*\(4, 6\)"
    with pytest.raises(RunError, match=expected):
        load_weights(copy)


def test_other_inputs_name_the_array(copy: Path) -> None:
    change(copy, lambda a: a.update(inputs=9))
    with pytest.raises(RunError, match=r"map_0\.kernel is float32\(4, 5\), expected .*\(9, 5\)"):
        load_weights(copy)


def test_another_number_of_layers_names_the_array(copy: Path) -> None:
    change(copy, lambda a: a["hidden"].pop())
    with pytest.raises(RunError, match=r"copy/arrays.*map_"):
        load_weights(copy)


def test_another_activation_names_the_array(copy: Path) -> None:
    change(copy, lambda a: a["hidden"][0].update(activation="tanh"))
    with pytest.raises(RunError, match=r"copy/arrays.*activation_0"):
        load_weights(copy)


def test_missing_arrays(copy: Path) -> None:
    shutil.rmtree(copy / "arrays")
    with pytest.raises(RunError, match="copy/arrays"):
        load_weights(copy)


LOAD = """
import sys
from pathlib import Path
from senn_cli.errors import RunError
from senn_cli.runs.weights import load_weights
for path in sys.argv[1:]:
    try:
        load_weights(Path(path))
        print("loaded")
    except RunError as error:
        print(error.message.replace("\\n", " "))
"""


def test_damaged_arrays(written: Path, tmp_path: Path) -> None:
    damaged = []
    for index, pattern in enumerate(("manifest.ocdbt", "d/*")):
        for how in ("truncated", "missing", "changed"):
            path = Path(shutil.copytree(written, tmp_path / f"{how}-{index}"))
            damaged.append(path)
            (file,) = (path / "arrays").glob(pattern)
            content = file.read_bytes()
            file.unlink()
            middle = len(content) // 2
            if how == "truncated":
                file.write_bytes(content[:middle])
            elif how == "changed":
                file.write_bytes(content[:middle] + bytes(b ^ 16 for b in content[middle:]))
    command = [sys.executable, "-c", LOAD, *map(str, damaged)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""  # the error alone, no log of the library that reads
    messages = result.stdout.splitlines()
    assert len(messages) == len(damaged)
    for path, message in zip(damaged, messages, strict=True):
        assert message.startswith(f"{path / 'arrays'} is damaged: "), message


def test_numbers_that_have_changed_are_told_by_their_checksum(copy: Path) -> None:
    other = initial_parameters(NETWORK, 8)
    kept = (copy / ARCHITECTURE).read_text()
    save_weights(copy, NETWORK, other)
    (copy / ARCHITECTURE).write_text(kept)
    with pytest.raises(RunError, match=r"arrays is damaged: map_0\.kernel has changed") as caught:
        load_weights(copy)
    assert "RUN/checkpoints" in str(caught.value.hint)


@pytest.mark.parametrize(
    "network",
    [NETWORK, DenseArchitecture((4, 4, 1), 3, ((Layer(2, 2, "silu"), Layer(1, 1, "silu")),), 0)],
    ids=["mlp", "densenet"],
)
def test_weights_of_an_older_senn_have_no_checksums(tmp_path: Path, network: Architecture) -> None:
    import orbax.checkpoint as ocp

    params = registry.initial_parameters(network, 3)
    with ocp.StandardCheckpointer() as checkpointer:  # as they were written before
        checkpointer.save(tmp_path / "arrays", params, force=True)
    document = {"format": 1, "architecture": network.to_json()}
    (tmp_path / ARCHITECTURE).write_text(json.dumps(document))
    architecture, found = load_weights(tmp_path)
    assert architecture == network
    for part, leaves in params.items():
        for leaf, array in leaves.items():
            np.testing.assert_array_equal(found[part][leaf], array)
    document["format"] = 2
    (tmp_path / ARCHITECTURE).write_text(json.dumps(document))
    with pytest.raises(RunError, match=r"architecture\.json is of format 2; this senn reads 1"):
        load_weights(tmp_path)


def test_a_path_with_signs_of_patterns(tmp_path: Path) -> None:
    save_weights(tmp_path / "run[1]*", NETWORK, initial_parameters(NETWORK, 7))
    architecture, _ = load_weights(tmp_path / "run[1]*")
    assert architecture == NETWORK


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        save_weights(tmp_path / "file" / "w", NETWORK, initial_parameters(NETWORK, 0))
