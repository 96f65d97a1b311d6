"""Programs that another process traced."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from senn_cli.cache import ENVIRONMENT_VARIABLE, TRACED_VARIABLE
from senn_cli.curvature.kronecker import Spectrum
from senn_cli.engine import traced
from senn_cli.engine.arrays import Arrays
from senn_cli.engine.evaluate import make_evaluate
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import KEPT, Ledger, Program
from senn_cli.nets import activation, mlp_flax
from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters

ARCHITECTURE = MlpArchitecture(2, 2, (Layer(3, 4, "tanh"),))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are kept."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    monkeypatch.setenv(TRACED_VARIABLE, "1")
    return tmp_path / "traced"


def evaluated(scale: float = 1.0) -> tuple[float, float]:
    """What a program of the package gives that this process has not compiled."""
    KEPT.clear()
    program = Program("evaluate", make_evaluate(CLASSIFICATION), Ledger(), static=(0,))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 2)).astype(np.float32)
    zero, one = np.zeros(1, np.float32), np.ones(1, np.float32)
    labels = rng.integers(0, 2, size=6).astype(np.int32)
    data = Arrays(np.float32(scale) * x, labels, zero, one, zero, one)
    params = initial_parameters(ARCHITECTURE, seed=1)
    loss, accuracy = program(ARCHITECTURE.shape(), params, np.array([3], np.int32), data)
    return float(loss), float(accuracy)


def test_what_another_process_traced_is_not_traced_and_gives_the_same_bits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TRACED_VARIABLE)
    plain = evaluated(), evaluated(2.0)
    assert not folder.exists() and plain[0] != plain[1]
    monkeypatch.setenv(TRACED_VARIABLE, "1")
    assert evaluated() == plain[0]
    (file,) = folder.iterdir()

    def traced_again(*args: object, **kwargs: object) -> None:
        raise AssertionError

    monkeypatch.setattr(mlp_flax, "apply", traced_again)
    assert (evaluated(), evaluated(2.0)) == plain  # data are data
    assert list(folder.iterdir()) == [file]


def test_a_file_that_is_not_whole_is_written_anew(folder: Path) -> None:
    right = evaluated()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for broken in (b"", whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(broken)
        assert evaluated() == right
        assert file.read_bytes()[20:] != broken[20:]


@pytest.mark.parametrize("what", ["code", "version_of"])
def test_another_installation_has_programs_of_its_own(
    what: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated()
    monkeypatch.setattr(traced, what, lambda *args: "another")
    traced._of_the_installation.cache_clear()
    evaluated()
    traced._of_the_installation.cache_clear()
    assert len(list(folder.iterdir())) == 2


def test_what_may_change_under_its_name_is_traced(folder: Path) -> None:
    def doubled(x: jax.Array) -> jax.Array:
        return 2 * x

    class Own(NamedTuple):
        x: Any

    one = np.ones(3, np.float32)
    np.testing.assert_array_equal(Program("doubled", doubled, Ledger())(one), 2.0)
    known: Callable[..., Any] = activation.activate
    program = Program("activate", known, Ledger(), static=(0,))
    np.testing.assert_allclose(program("tanh", one, None), np.tanh(one), rtol=1e-6)
    assert len(list(folder.iterdir())) == 1  # of the package's own alone
    made = Program("made", jax.tree_util.Partial, Ledger(), static=(0,))(Own, one)
    np.testing.assert_array_equal(made.args[0], one)
    assert len(list(folder.iterdir())) == 1  # a static argument from elsewhere


def test_forms_of_results() -> None:
    tree = {"b": (1, None, [2, ()]), "a": Spectrum(3, {"c": 4}, 5)}
    assert traced._formed(traced._form(tree)) == tree
    assert type(traced._formed(traced._form(tree))["a"]) is Spectrum


LAPACK = """
import numpy as np
from senn_cli.curvature.kronecker import spectrum
from senn_cli.engine import traced
from senn_cli.engine.device import enable_compilation_cache
from senn_cli.engine.programs import Ledger, Program
enable_compilation_cache()
ledger = Ledger()
values = Program("spectrum", spectrum, ledger)(np.diag([4, 9]).astype(np.float32)).values
print(ledger.cache_hits, *np.sort(values))
"""


@pytest.mark.slow
def test_lapack_is_found_where_nothing_was_lowered() -> None:
    """An executable that calls LAPACK's functions before JAX knows them ends the process."""
    said = [
        subprocess.run([sys.executable, "-c", LAPACK], check=True, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [process.stdout for process in said] == ["0 4.0 9.0\n", "1 4.0 9.0\n"]
