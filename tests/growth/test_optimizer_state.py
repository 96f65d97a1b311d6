"""Which states of optimizers are carried through an edit, and that others are refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import optax.contrib
import pytest

from senn_cli.data.registry import load_dataset
from senn_cli.engine.frozen import FrozenState
from senn_cli.engine.objective import CLASSIFICATION
from senn_cli.engine.programs import Ledger
from senn_cli.errors import UsageError
from senn_cli.growth.optimizer_state import declare, moved, require_known
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
    "{kind: adamw}",
    "{kind: rmsprop, momentum: 0.5}",
    "{kind: lion, schedule: cosine}",
    "{kind: muon}",
]


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_every_optimizer_of_a_spec_can_train_a_network_that_grows(text: str) -> None:
    spec = parse_spec(f"data: moons\nnetwork: mlp\noptimizer: {text}\n")
    for freezing in (False, True):
        found = make_optimizer(spec.optimizer, CLASSIFICATION, 100, 10, freezing=freezing)
        require_known(found.transform.init(PARAMS))


@pytest.mark.parametrize(
    ("transform", "name"),
    [
        # Means over rows and columns have no entry for every weight.
        (optax.scale_by_factored_rms(), "FactoredState"),
        # A second copy of the weights: new ones would have to begin at the new weights.
        (optax.contrib.schedule_free_adamw(), "ScheduleFreeState"),
        (optax.chain(optax.trace(0.9), optax.scale_by_novograd()), "ScaleByNovogradState"),
        (optax.masked(optax.scale_by_novograd(), True), "ScaleByNovogradState"),
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
    def factored(*args: Any, **options: Any) -> Optimizer:
        return replace(make_optimizer(*args, **options), transform=optax.scale_by_factored_rms())

    monkeypatch.setattr(assemble, "make_optimizer", factored)
    with pytest.raises(UsageError, match="FactoredState") as caught:
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
        (optax.TraceState(PARAMS), optax.EmptyState()),
        optax.ScaleByAdamState(count, PARAMS, PARAMS),
        optax.MaskedState(optax.ScaleByScheduleState(count)),
        FrozenState(PARAMS),
    )
    (trace, empty), adam, masked, frozen = moved(state, change, natural=natural)
    assert adam == optax.ScaleByAdamState(count, momentum, "square")
    assert (trace.trace, empty) == (momentum, optax.EmptyState())
    assert masked == optax.MaskedState(optax.ScaleByScheduleState(count))
    assert frozen == FrozenState("vector")


def test_behind_what_yields_steps_momentum_is_one_of_steps() -> None:
    def change(tree: Any, kind: str) -> Any:
        return kind

    state = (
        optax.TraceState(PARAMS),
        optax.ScaleByRmsState(PARAMS),
        (optax.EmptyState(), optax.TraceState(PARAMS)),
    )
    before, rms, (_, behind) = moved(state, change, natural=False)
    assert (before.trace, rms.nu, behind.trace) == ("covector", "square", "vector")


def test_trees_of_kernels_or_of_the_rest_are_made_whole_for_an_edit() -> None:
    """Muon's: every edit sees bias and kernel of a map together."""
    spec = parse_spec("data: moons\nnetwork: mlp\noptimizer: muon\n")
    transform = make_optimizer(spec.optimizer, CLASSIFICATION, 100, 10).transform
    _, state = transform.update(PARAMS, transform.init(PARAMS), PARAMS)
    seen: list[tuple[str, set[str], float]] = []

    def twice(tree: Any, kind: str) -> Any:
        seen.append((kind, set(tree["map_0"]), float(tree["map_0"]["kernel"].mean())))
        wider = {leaf: np.concatenate([v, v], axis=-1) for leaf, v in tree["map_0"].items()}
        return {"map_0": wider}

    after = moved(jax.device_get(state), twice, natural=False)
    assert {kind for kind, _, _ in seen} == {"covector", "square"}
    assert all(leaves == {"kernel", "bias"} for _, leaves, _ in seen)
    # Where Adam's squares of the biases are moved, the kernel stands at their mean.
    ((_, _, level),) = [one for one in seen if one[0] == "square"]
    np.testing.assert_allclose(level, 1e-3, rtol=1e-6)
    wide = {"map_0": {"kernel": np.ones((2, 6), np.float32), "bias": np.ones(6, np.float32)}}
    _, again = transform.update(wide, after, wide)
    shapes = jax.tree.map(np.shape, (transform.init(wide), again))
    assert shapes[0] == shapes[1]


def test_a_declaration_names_every_field() -> None:
    with pytest.raises(ValueError, match="ScaleByAdamState has the fields"):
        declare(optax.ScaleByAdamState, mu="momentum")
