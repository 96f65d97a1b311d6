"""What a run holds beside its data: no program that it runs again and again copies them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from senn_cli.data.dataset import Dataset, Part
from senn_cli.engine import programs
from senn_cli.engine.programs import Ledger
from senn_cli.spec import parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.observer import Observer

ROWS, INPUTS, BATCH = 20_000, 100, 200

SPEC = """
data: digits
network: {kind: mlp, hidden: [4], capacity: {initial: [8]}}
expansion:
  {threshold: 1e30, every: {steps: 150}, patience: null, samples: 128, depth: false,
   width: {proposals: 16, polished: 4}}
training: {steps: 300, batch_size: 200, evaluate: {steps: 100}}
checkpoints: false
"""


def test_two_epochs_with_a_round_and_evaluations_copy_no_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)

    def part(n: int) -> Part:
        x = rng.standard_normal((n, INPUTS), np.float32)
        return Part(x, rng.integers(0, 3, n).astype(np.int32), np.arange(n))

    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    data = Dataset(
        "random",
        "classification",
        part(ROWS),
        None,
        part(BATCH),
        tuple("abc"),
        zero,
        one,
        zero,
        one,
    )
    made: list[Any] = []
    compiled = programs.compiled

    def seen(*args: Any) -> Any:
        executable, hit = compiled(*args)
        made.append(executable)
        return executable, hit

    monkeypatch.setattr(programs, "compiled", seen)
    monkeypatch.setattr(programs, "KEPT", programs.Kept())  # what other tests have compiled
    ledger = Ledger()
    trainer = assemble(parse_spec(SPEC), data, ledger)
    held = trainer.train.x
    assert held.nbytes == data.train.x.nbytes == 4 * ROWS * INPUTS
    trainer.timetable = replace(trainer.timetable, until=3 * ROWS // BATCH)
    trainer.run(Observer())
    assert trainer.step == 300
    assert {"train", "observe", "evaluate"} <= set(ledger.compiled)
    assert trainer.train.x is held
    for executable in made:
        used = executable.memory_analysis()
        new = used.temp_size_in_bytes + used.output_size_in_bytes - used.alias_size_in_bytes
        # An order of the rows takes some numbers a row; the data are a hundred a row.
        assert new < held.nbytes / 4, executable.as_text()[:200]
