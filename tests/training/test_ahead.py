"""What the first round and rows of metrics need is compiled while the first steps are."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine import effort
from senn_cli.engine.programs import KEPT, Ledger, Program
from senn_cli.growth.policies.search import SearchGrowth
from senn_cli.spec import parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.loop import Trainer
from senn_cli.training.observer import Observer
from tests.resuming import DIGITS, MOONS

SEARCH = {"observe", "target", "search_width", "activate", "score_width", "append"}
DENSENET = """
name: images
data: {source: digits, subset: 200, validation: 40}
network: {kind: densenet, blocks: [[2], [2]], capacity: {initial: 4}}
training: {epochs: 2, batch_size: 32}
expansion: {threshold: 1e-6, stop: 0, price: 0, every: {steps: 2}}
"""


def join() -> None:
    """Waits for all that is compiled ahead."""
    for thread in threading.enumerate():
        if thread.name == "compile ahead":
            thread.join()


class Round(Observer):
    """Ends a run behind its first round."""

    def __init__(self) -> None:
        self.rounds = 0

    def round(self, *told: object) -> None:
        self.rounds += 1

    def stops(self) -> bool:
        join()
        return self.rounds > 0


def started(text: str, *overrides: str) -> Trainer:
    KEPT.clear()  # nothing is there from an earlier run
    spec = parse_spec(text, overrides=overrides)
    trainer = assemble(spec, load_dataset(spec.data, spec.seed), Ledger(), begin=True)
    trainer._prepare()
    join()
    return trainer


@pytest.mark.parametrize(
    ("text", "overrides", "small", "programs"),
    [
        pytest.param(DIGITS, ("data.validation=40",), True, SEARCH, id="units of small data"),
        pytest.param(
            *(MOONS, (), False, {"observe", "target", "search_depth", "score_depth"}),
            marks=pytest.mark.slow,
            id="layers of large data",
        ),
        pytest.param(
            DENSENET,
            ("expansion.proposals=search",),
            True,
            {"observe", "search_width", "score_width"},
            marks=pytest.mark.slow,
            id="channels that are searched for",
        ),
        pytest.param(
            DENSENET, (), True, {"score"}, marks=pytest.mark.slow, id="standing proposals"
        ),
    ],
)
def test_a_round_compiles_nothing_that_is_not_there_already(
    text: str,
    overrides: tuple[str, ...],
    small: bool,
    programs: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not small:
        monkeypatch.setattr(effort, "SMALL", 0)
    trainer = started(text, *overrides)
    before = dict(trainer.ledger.compiled)
    found: list[str] = []
    made = Program._made

    def seen(self: Program, *args: Any) -> Any:
        found.append(f"{threading.current_thread().name}: {self.name}")
        return made(self, *args)

    monkeypatch.setattr(Program, "_made", seen)
    trainer.run(Round())
    # A layer that has come is another shape to measure.
    assert set(found) & {f"MainThread: {name}" for name in ("train", *programs)} == set()
    counted = {k for k, n in trainer.ledger.compiled.items() if n > before.get(k, 0)}
    assert counted >= programs


@pytest.mark.parametrize(("price", "coming"), [(0, 1), (100, 0)])
def test_a_search_for_layers_is_compiled_for_where_the_loss_at_the_start_could_pay(
    price: float, coming: int
) -> None:
    trainer = started(MOONS, f"expansion.price={price}")
    assert isinstance(trainer.policy, SearchGrowth)
    compiled = trainer.policy.compiled
    assert [len(p._coming) for p in (compiled.search_depth, compiled.score_depth)] == [coming] * 2
    assert len(compiled.observe._coming) == 1


def test_nothing_is_compiled_for_a_round_that_will_not_come() -> None:
    trainer = started(DIGITS, "expansion.until={steps: 1}")
    assert isinstance(trainer.policy, SearchGrowth)
    assert not trainer.policy.compiled.observe._coming
