from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from senn_cli.engine import effort
from senn_cli.engine.compilation import compiled
from senn_cli.engine.effort import Effort, Efforts, efforts_of, options
from senn_cli.engine.programs import Ledger, Program


def test_only_small_data_on_a_cpu_make_all_programs_quick() -> None:
    digits = efforts_of(1437, 64, convolves=False, platform="cpu")
    assert digits == Efforts("quick", "quick", "quick")
    assert efforts_of(1437, 64, convolves=False, platform="gpu") == Efforts("full", "full", "full")
    mnist = efforts_of(60_000, 784, convolves=False, platform="cpu")
    assert mnist == Efforts("brisk", "brisk", "brisk")
    many = efforts_of(1_000_000, 100, convolves=False, platform="cpu")
    assert (many.of("train"), many.of("evaluate"), many.of("track")) == ("full",) * 3
    assert (many.of("search_depth"), many.of("target")) == ("brisk", "brisk")


def test_steps_of_convolutions_are_never_quick() -> None:
    small = efforts_of(100, 768, convolves=True, platform="cpu")
    assert (small.of("train"), small.of("evaluate")) == ("brisk", "brisk")
    assert (small.of("track"), small.of("score")) == ("quick", "quick")
    large = efforts_of(100, 3072, convolves=True, platform="cpu")
    assert large.of("track") == "brisk"


@pytest.mark.parametrize("effort", ["brisk", "quick"])
def test_xla_knows_the_options_of_an_effort(effort: Effort) -> None:
    lowered = jax.jit(lambda x: x + 1).lower(np.float32(1))
    assert float(lowered.compile(compiler_options=options(effort))(np.float32(1))) == 2


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "QUICK", {"xla_no_such_option": True})
    executable, _ = compiled(jax.jit(lambda x: x * 3).lower(np.float32(1)), "quick")
    assert float(executable(np.float32(2))) == 6


def test_a_program_is_compiled_with_the_effort_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def told(lowered: Any, effort: Any) -> Any:
        asked.append(effort)
        return lowered.compile(), False

    monkeypatch.setattr("senn_cli.engine.programs.compiled", told)
    ledger = Ledger()
    ledger.efforts = Efforts("full", "quick")
    for name in ("train", "track"):
        weights = np.arange(len(name), dtype=np.float32)  # not what another test has compiled
        function = Program(name, lambda x: jnp.tanh(x) @ x, ledger)
        np.testing.assert_allclose(function(weights), np.tanh(weights) @ weights, rtol=1e-6)
    assert asked == ["full", "quick"]
