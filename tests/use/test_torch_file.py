"""Tensors are read as PyTorch would, and nothing that a file names is ever run."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from senn_cli.errors import RunError
from senn_cli.use.weights_files import open_weights
from tests.use.torch_files import Call, Global, archive, pickled, state_dict, tensor

A = np.arange(12, dtype=np.float32).reshape(3, 4)


def read(path: Path) -> dict[str, np.ndarray]:
    file = open_weights(path)
    arrays = {name: file.load(name) for name in file.names}
    assert {name: file.shape(name) for name in file.names} == {
        name: array.shape for name, array in arrays.items()
    }
    return arrays


@pytest.mark.parametrize("ending", [".pt", ".pth"])
def test_tensors_of_a_state_dict(tmp_path: Path, ending: str) -> None:
    arrays = {
        "0.weight": A,
        "0.bias": np.array([1.5, -2], np.float64),
        "1.weight": np.array([[1.5], [-3.140625]], ml_dtypes.bfloat16),
        "half": np.array([0.5], np.float16),
        "empty": np.zeros((0, 3), np.float32),
    }
    found = read(state_dict(tmp_path / f"net{ending}", arrays))
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_views_of_one_storage(tmp_path: Path) -> None:
    content = {
        "turned": tensor("0", A, shape=(4, 3), stride=(1, 4)),
        "row": tensor("0", A, shape=(4,), stride=(1,), offset=8),
        "one": tensor("0", A, shape=(), stride=(), offset=5),
    }
    found = read(archive(tmp_path / "net.pt", pickled(content), {"0": A.tobytes()}))
    np.testing.assert_array_equal(found["turned"], A.T)
    np.testing.assert_array_equal(found["row"], A[2])
    assert found["one"] == 5


def test_big_endian_numbers(tmp_path: Path) -> None:
    data = {"0": A.astype(">f4").tobytes()}
    path = archive(tmp_path / "net.pt", pickled({"a": tensor("0", A)}), data, order="big")
    np.testing.assert_array_equal(read(path)["a"], A)


def test_a_checkpoint_of_training_keeps_its_names(tmp_path: Path) -> None:
    content = {
        "epoch": 3,
        "model": {"0.weight": tensor("0", A)},
        "optimizer": {"state": {0: {"exp_avg": tensor("1", A)}}, "param_groups": [{"lr": 0.1}]},
    }
    path = archive(tmp_path / "a.pt", pickled(content), {"0": A.tobytes(), "1": A.tobytes()})
    assert list(read(path)) == ["model.0.weight", "optimizer.state.0.exp_avg"]


class Evil:
    """What runs a command where a pickle is loaded."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        import os

        return os.system, (self.command,)


def test_code_is_refused_by_name_and_never_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = pickle.dumps({"0.weight": Evil(f"touch {ran}")}, protocol=2)
    with pytest.raises(RunError, match=r"names (posix|nt)\.system: that is code") as caught:
        open_weights(archive(tmp_path / "net.pt", evil, {}))
    assert "state_dict()" in str(caught.value.hint)
    assert not ran.exists()
    pickle.loads(evil)  # the file would do it
    assert ran.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "load"),
        ("torch.storage", "_load_from_bytes"),
        ("torch._utils", "_rebuild_tensor_v2.__globals__"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("__main__", "Net"),
        ("torch.nn.modules.container", "Sequential"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_any_other_global_is_refused(tmp_path: Path, module: str, name: str, protocol: int) -> None:
    if protocol == 2:
        content = pickled({"a": Call(Global(module, name), "x")})
    else:  # the two names come from the stack
        texts = b"".join(
            pickle.SHORT_BINUNICODE + bytes([len(t)]) + t.encode() for t in (module, name)
        )
        content = b"\x80\x04" + texts + pickle.STACK_GLOBAL + b")R."
    with pytest.raises(RunError) as caught:
        open_weights(archive(tmp_path / "net.pt", content, {}))
    assert f"names {module}.{name}: that is code" in caught.value.message


@pytest.mark.parametrize(
    "how",
    [
        {"shape": (4, 4)},
        {"offset": 1},
        {"stride": (4, 2)},
        {"shape": (10**12,), "stride": (0,)},
        {"offset": -1},
        {"stride": (-4, 1)},
        {"shape": (3, 4), "stride": (4,)},
        {"shape": ("3", 4), "stride": (4, 1)},
    ],
)
def test_tensors_beyond_their_storage(tmp_path: Path, how: dict[str, Any]) -> None:
    content = pickled({"a": tensor("0", A, **how)})
    with pytest.raises(RunError, match=r"is no file of torch\.save, or damaged"):
        open_weights(archive(tmp_path / "net.pt", content, {"0": A.tobytes()}))


def test_a_tensor_that_was_checked_cannot_be_changed(tmp_path: Path) -> None:
    # BUILD sets attributes of what lies on the stack.
    state = pickled({"shape": (10**6,)})[2:-1]
    content = pickled(tensor("0", A))[:-1] + state + pickle.BUILD + b"."
    with pytest.raises(RunError, match="damaged"):
        open_weights(archive(tmp_path / "net.pt", content, {"0": A.tobytes()}))


def test_structures_that_hold_themselves(tmp_path: Path) -> None:
    # {"a": itself}, and dictionaries of which each holds the one before twice.
    content = b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."
    with pytest.raises(RunError, match="nests more than"):
        open_weights(archive(tmp_path / "a.pt", content, {}))
    value: Any = {f"x{n}": 0 for n in range(40)}
    for _ in range(7):
        value = {f"y{n}": value for n in range(40)}
    with pytest.raises(RunError, match="nests more than"):
        open_weights(archive(tmp_path / "b.pt", pickled(value), {}))


def test_damaged_files(tmp_path: Path) -> None:
    good = state_dict(tmp_path / "good.pt", {"a": A}).read_bytes()
    scripted = state_dict(tmp_path / "script.pt", {"a": A})
    with zipfile.ZipFile(scripted, "a") as file:
        file.writestr("net/constants.pkl", b"")
    with zipfile.ZipFile(tmp_path / "other.pt", "w") as file:
        file.writestr("word/document.xml", b"")
    (tmp_path / "cut.pt").write_bytes(good[: len(good) // 2])
    (tmp_path / "old.pt").write_bytes(pickle.dumps({"a": 1}, 2))
    content = pickled({"a": tensor("0", A)})
    archive(tmp_path / "packed.pt", content, {"0": A.tobytes()}, how=zipfile.ZIP_DEFLATED)
    archive(tmp_path / "broken.pt", content[:-20], {"0": A.tobytes()})
    archive(tmp_path / "none.pt", pickled({"epoch": 3}), {})
    twice = {"a.b": tensor("0", A), "a": {"b": tensor("0", A)}}
    archive(tmp_path / "twice.pt", pickled(twice), {"0": A.tobytes()})
    for name, message in (
        ("cut.pt", "is no file of torch.save, or damaged"),
        ("old.pt", "has the format of PyTorch before 1.6"),
        ("script.pt", "is a program of TorchScript"),
        ("other.pt", "is a zip archive, but none that torch.save wrote"),
        ("packed.pt", "net/data.pkl is compressed"),
        ("broken.pt", "is no file of torch.save, or damaged"),
        ("none.pt", "holds no tensors"),
        ("twice.pt", "holds two tensors of one name"),
    ):
        with pytest.raises(RunError) as caught:
            open_weights(tmp_path / name)
        assert message in caught.value.message, name


def test_damaged_storages_and_other_types(tmp_path: Path) -> None:
    content = pickled({"a": tensor("0", A)})
    for name, storages, message in (
        ("missing.pt", {}, "is damaged: net/data/0"),
        ("short.pt", {"0": A.tobytes()[:-4]}, "44 bytes instead of 48"),
    ):
        file = open_weights(archive(tmp_path / name, content, storages))
        with pytest.raises(RunError) as caught:
            file.load("a")
        assert message in caught.value.message, name
    file = open_weights(state_dict(tmp_path / "long.pt", {"n": np.arange(3)}))
    with pytest.raises(RunError, match="the array n is int64; float32"):
        file.load("n")
