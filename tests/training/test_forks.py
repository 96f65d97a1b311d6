"""Forks tell what edits gained by themselves, and the run has the same bits with and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy.special import logsumexp

from senn_cli.data.registry import load_dataset
from senn_cli.engine.programs import Ledger
from senn_cli.nets.registry import outputs
from senn_cli.spec import parse_spec
from senn_cli.training.assemble import assemble
from senn_cli.training.loop import Trainer
from senn_cli.training.network import on_device
from senn_cli.training.observer import Observer
from senn_cli.training.run import Run
from senn_cli.training.snapshot import Moment
from senn_cli.training.step import FAULTS
from tests.resuming import (
    MOONS,
    Executables,
    check_same,
    check_same_weights,
    go,
    resume,
    shared_programs,
    steps,
    timeless,
)
from tests.training.test_growing_densenet import SPEC as DENSENET
from tests.training.test_pruning import LOOKS, STANDING

GIVEN = """
data: {source: moons, train: 200, test: 50}
network: {kind: mlp, hidden: [2, 2], activation: tanh}
optimizer: {kind: adam, learning_rate: 1e-2}
training: {epochs: 5, batch_size: 60}
"""
# Few programs: a unit is copied in every round, its copies apart a little.
COPIES = GIVEN + "expansion: {policy: net2net, every: {steps: 3}, jitter: 0.3, max_hidden: 7}\n"
STEPS = 3  # an epoch, and from one round to the next
AUDITED = (f"record.audit={STEPS} steps", "checkpoints.growth=true")
OWN = ("fork", "newborn")


@dataclass(frozen=True)
class Made:
    plain: Run
    audited: Run
    executables: Executables

    @property
    def grown(self) -> list[dict[str, Any]]:
        """The events of the audited run that changed the network."""
        events = timeless(self.audited.path / "history.jsonl")
        return [e for e in events if e["edit"] in ("add_neurons", "insert_layer")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    place, executables = tmp_path_factory.mktemp("forks"), Executables()
    with shared_programs(executables):
        plain = go(COPIES, place / "plain")
        return Made(plain, go(COPIES, place / "audited", *AUDITED), executables)


def test_the_run_is_the_same_bits_as_without_forks(made: Made) -> None:
    plain, audited = made.plain.path, made.audited.path
    check_same_weights(plain, audited)
    assert timeless(plain / "metrics.jsonl") == timeless(audited / "metrics.jsonl")
    told = timeless(audited / "history.jsonl")
    assert timeless(plain / "history.jsonl") == [
        {key: value for key, value in event.items() if key not in OWN} for event in told
    ]
    assert made.plain.summary["events"] == len(made.grown) >= 3


def test_no_step_is_compiled_anew(made: Made) -> None:
    """The plain run has compiled all else."""
    assert set(made.audited.summary["compiled"]) == {"vitals"}


def test_a_fork_with_the_edit_is_the_run_up_to_its_next_round(made: Made) -> None:
    """They take the same steps, so that it ends with the loss that the next one begins with."""
    forks = {event["step"]: event["fork"] for event in made.grown}
    pairs = [(forks[at], forks[at + STEPS]) for at in forks if at + STEPS in forks]
    assert len(pairs) >= 2
    for fork, following in pairs:
        assert fork["steps"] == STEPS
        assert fork["with"] == following["loss"]
        assert fork["without"] != fork["with"]


def test_a_fork_without_the_edit_is_a_run_that_does_not_grow(made: Made, tmp_path: Path) -> None:
    """By hand: a branch off the checkpoint before the round, in which nothing passes."""
    event = made.grown[1]
    with shared_programs(made.executables):
        branch = resume(
            made.audited.path,
            "expansion.width.max_width=2",
            step=event["step"],
            branch=tmp_path / "branch",
            before_growth=True,
            until=steps(event["step"] + STEPS),
        )
    spec = parse_spec(COPIES)
    part = load_dataset(spec.data, spec.seed)
    x = ((part.train.x - part.shift) * part.scale).reshape(len(part.train), -1)
    widths = np.asarray(branch.architecture.widths, np.int32)
    logits = np.asarray(
        outputs(branch.architecture.shape(), branch.params, x.astype(np.float32), widths)
    ).astype(float)
    losses = logsumexp(logits, axis=1) - logits[np.arange(len(x)), part.train.y]
    assert branch.summary["steps"] == event["step"] + STEPS
    assert event["fork"]["without"] == pytest.approx(losses.mean(), rel=1e-6)


def test_a_stopped_run_resumes_bit_for_bit(made: Made, tmp_path: Path) -> None:
    with shared_programs(made.executables):
        go(COPIES, tmp_path / "run", *AUDITED, until=steps(7))
        resume(tmp_path / "run")
    check_same(tmp_path / "run", made.audited.path)


def test_newborn_units_are_told_of_every_addition(made: Made) -> None:
    for event in made.grown:
        assert event["newborn"]["units"] == event["neurons"]
        assert 0 <= event["newborn"]["inactive"] <= 1
    assert all(event["newborn"]["gradient_ratio"] > 0 for event in made.grown[1:])
    rejected = [e for e in timeless(made.audited.path / "history.jsonl") if not e["accepted"]]
    assert not any(key in event for event in rejected for key in OWN)


def test_a_fork_that_diverges_tells_no_loss(made: Made) -> None:
    """Where its first step is at fault; the run itself goes on."""
    calm, heard = made.grown[0]["fork"], Rounds()
    assert calm.keys() == {"steps", "loss", "with", "without"}
    with shared_programs(made.executables):
        run = trainer(COPIES, STEPS, *AUDITED)
    inner = run.advanced

    def faulty(network: Any, progress: Any, stop: int, **known: Any) -> Any:
        network, progress = inner(network, progress, stop, **known)
        grown = sum(network.architecture.widths) > 4
        fault = np.int32(FAULTS.index("gradient") if grown else 0)
        return network, progress._replace(fault=fault)

    run.advanced = faulty  # type: ignore[method-assign]
    run.run(heard)
    (event,) = heard.events
    assert event["fork"] == {k: v for k, v in calm.items() if k != "with"}
    assert "newborn" not in event


class Rounds(Observer):
    """Keeps the events of rounds with the moment before each."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.before: dict[int, Moment] = {}

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        self.events += [dict(event) for event in events]
        # A copy: later steps use it up.
        network, memory = before.network, replace(before.memory, pending=False)
        state, progress = (
            jax.tree.map(np.array, jax.device_get(of)) for of in (network.state, before.progress)
        )
        copied = on_device(network.architecture, state)
        self.before[before.step] = Moment(copied, jax.device_put(progress), memory, before.best)


def trainer(text: str, until: int | None, *overrides: str) -> Trainer:
    spec = parse_spec(text, overrides=overrides)
    stop = None if until is None else steps(until)
    return assemble(spec, load_dataset(spec.data, spec.seed), Ledger(), stop)


WAYS = {
    "search": MOONS,
    "standing": STANDING,
    "looks": LOOKS,
    "densenet": DENSENET,
    "net2net": GIVEN + "expansion: {policy: net2net, every: {steps: 3}}\n",
    "dynamic_node_creation": GIVEN
    + "expansion: {policy: dynamic_node_creation, every: {steps: 3}, window: {steps: 3}}\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_grow_has_forks(way: str) -> None:
    """Without the edits a fork is the run's own loop from the moment before the round, in which
    no round is carried out; a fork ends where the run does."""
    heard = Rounds()
    with shared_programs({}):
        run = trainer(WAYS[way], None, "record.audit=7 steps")
        run.run(heard)
        grown = [event for event in heard.events if "fork" in event]
        assert {"add_neurons"} <= {event["edit"] for event in grown}
        total = run.timetable.total or 0
        for event in (grown[0], grown[-1]):
            step, fork = event["step"], event["fork"]
            assert fork["steps"] == min(7, total - step)
            assert ("exact" in fork) == (way == "search")  # a sample, and it is small
            other = trainer(WAYS[way], step + fork["steps"])
            other._grow = lambda observer: None  # type: ignore[method-assign]
            other.go_to(heard.before[step])
            assert fork["loss"] == other.measure(other.sample, other.network)[0]
            other.run(Observer())
            assert fork["without"] == other.measure(other.sample, other.network)[0]
        for event in grown:
            if event["edit"] == "prune_neurons":
                assert "newborn" not in event
            elif event["step"] + 7 <= total:
                assert event["newborn"]["units"] == event["neurons"]
