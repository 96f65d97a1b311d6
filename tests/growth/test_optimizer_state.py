"""Which states of optimizers are carried through an edit, and that others are refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optax
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine.frozen import FrozenState
from senn_cli.engine.programs import Ledger
from senn_cli.errors import UsageError
from senn_cli.growth.optimizer_state import moved, require_known
from senn_cli.spec import parse_spec
from senn_cli.training import assemble
from senn_cli.training.optimizer import Optimizer, make_optimizer
from senn_cli.training.run import train_run
from tests.resuming import SMALL

PARAMS = {"map_0": {"kernel": np.ones((2, 3), np.float32), "bias": np.ones(3, np.float32)}}

OPTIMIZERS = [
    "{kind: adam}",
    "{kind: adam, schedule: {kind: cosine, warmup: 2 steps}}",
    "{kind: sgd}",
    "{kind: sgd, momentum: 0.9, nesterov: true}",
    "{kind: natural_gradient}",
    "{kind: natural_gradient, momentum: 0.5, schedule: one_cycle}",
    "{kind: natural_gradient, solver: cg}",
]


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_every_optimizer_of_a_spec_can_train_a_network_that_grows(text: str) -> None:
    spec = parse_spec(f"data: moons\nnetwork: mlp\noptimizer: {text}\n")
    for freezing in (False, True):
        found = make_optimizer(spec.optimizer, "classification", 100, 10, freezing=freezing)
        require_known(found.transform.init(PARAMS))


@pytest.mark.parametrize(
    ("transform", "name"),
    [
        # A mean square that was taken for a gradient could turn negative.
        (optax.scale_by_rms(), "ScaleByRmsState"),
        (optax.chain(optax.trace(0.9), optax.scale_by_lion()), "ScaleByLionState"),
        (optax.masked(optax.scale_by_rss(), True), "ScaleByRssState"),
        (optax.inject_hyperparams(optax.sgd)(learning_rate=0.1), "InjectStatefulHyperparamsState"),
    ],
)
def test_a_state_of_which_nothing_is_known_is_refused_by_its_name(
    transform: optax.GradientTransformation, name: str
) -> None:
    state = transform.init(PARAMS)
    for call in (require_known, lambda s: moved(s, lambda tree, kind: tree, natural=False)):
        with pytest.raises(UsageError, match=f"its state {name} changes with the network"):
            call(state)


def test_it_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rms(*args: Any, **options: Any) -> Optimizer:
        return replace(make_optimizer(*args, **options), transform=optax.scale_by_rms())

    monkeypatch.setattr(assemble, "make_optimizer", rms)
    with pytest.raises(UsageError, match="ScaleByRmsState") as caught:
        train_run(parse_spec(SMALL, overrides=["expansion={}"]), run_directory=tmp_path / "run")
    assert "expansion.policy: none" in str(caught.value.hint)
    assert not (tmp_path / "run").exists()
    fixed = parse_spec(SMALL)  # a network that stays as it is needs nothing of the kind
    assemble.assemble(fixed, load_dataset(fixed.data, 0), Ledger())


@pytest.mark.parametrize(("natural", "momentum"), [(False, "covector"), (True, "vector")])
def test_each_array_changes_as_what_it_is(natural: bool, momentum: str) -> None:
    def change(tree: Any, kind: str) -> Any:
        return kind

    count = np.int32(7)
    state = (
        optax.ScaleByAdamState(count, PARAMS, PARAMS),
        (optax.TraceState(PARAMS), optax.EmptyState()),
        optax.MaskedState(optax.ScaleByScheduleState(count)),
        FrozenState(PARAMS),
    )
    adam, (trace, empty), masked, frozen = moved(state, change, natural=natural)
    assert adam == optax.ScaleByAdamState(count, momentum, "square")
    assert (trace.trace, empty) == (momentum, optax.EmptyState())
    assert masked == optax.MaskedState(optax.ScaleByScheduleState(count))
    assert frozen == FrozenState("vector")
