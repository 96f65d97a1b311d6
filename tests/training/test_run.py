"""Whole runs on small data: what they leave behind, that they repeat, and how they end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.engine.programs import PHASES, Ledger
from senn_cli.errors import DataError, DivergedError, UsageError
from senn_cli.runs.jsonl import to_json
from senn_cli.runs.weights import load_weights
from senn_cli.spec import load_spec, parse_spec
from senn_cli.training import run as run_module
from senn_cli.training.observer import Observer, Start
from senn_cli.training.run import Run, train_run
from tests.resuming import DIGITS, MOONS

COMPILED = "/jax/core/compile/backend_compile_duration"

SMALL = """
name: small
data: {source: moons, train: 100, test: 50}
network: {kind: mlp, hidden: [3], activation: tanh}
optimizer: {kind: adam, learning_rate: 1e-2}
expansion: {policy: none}
training: {epochs: 3, batch_size: 30}
"""

EVENT = {
    "step", "epoch", "edit", "accepted", "reason", "threshold", "stop", "bound", "train_loss",
    "hidden", "capacities", "parameters", "candidates", "seconds",
}  # fmt: skip
CHOSEN = {"site", "delta_eta", "delta_eta_lower", "bias", "eta", "score", "ratio"}
PLACE = {
    "add_neurons": {"layer", "neurons"},
    "insert_layer": {"map", "side", "neurons"},
    "prune_neurons": {"layer", "neuron"},
    "enlarge_capacity": {"layer", "capacity", "site"},
}
CANDIDATE = CHOSEN | {"kind", "passes"}  # and weights, where few inputs are read
SUMMARY = {
    "name", "status", "policy", "seed", "test_accuracy", "test_loss", "hidden", "parameters",
    "events", "growth_ended", "compilations", "compiled", "cache_hits", "programs", "effort",
    "steps", "epochs", "seconds", "run_directory",
}  # fmt: skip
ROW = {
    "step", "epoch", "seconds", "train_loss", "validation_loss", "validation_accuracy", "hidden",
    "parameters", "learning_rate", "eta", "kl", "reduction_ratio",
}  # fmt: skip


@dataclass
class Watched(Observer):
    """An observer that keeps everything in order, compilations included."""

    log: list[tuple[str, Any]] = field(default_factory=list)

    def start(self, start: Start) -> None:
        self.log.append(("start", start))

    def phase(self, name: str, what: str = "") -> None:
        self.log.append(("phase", name))

    def metrics(self, row: Mapping[str, Any]) -> None:
        self.log.append(("metrics", dict(row)))

    def round(self, events: Sequence[Mapping[str, Any]], before: Any, after: Any) -> None:
        self.log += [("event", dict(event)) for event in events]

    def end(self, summary: Mapping[str, Any]) -> None:
        self.log.append(("end", dict(summary)))

    def all(self, kind: str) -> list[Any]:
        return [value for name, value in self.log if name == kind]


@dataclass(frozen=True)
class Watch:
    """A finished run and what was heard of it."""

    run: Run
    log: Watched

    def rows(self, name: str) -> list[dict[str, Any]]:
        return strict_rows(self.run.path / name)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def strict_rows(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [strict(line) for line in text.splitlines()]


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def lasting(summary: dict[str, Any]) -> dict[str, Any]:
    passing = ("seconds", "run_directory", "name", "cache_hits", "programs")
    return {k: v for k, v in summary.items() if k not in passing}


def go(text: str, root: Path, *overrides: str, **options: Any) -> Run:
    return train_run(parse_spec(text, overrides=overrides), root=root, **options)


def watched(text: str, root: Path) -> Watch:
    log = Watched()

    def heard(event: str, seconds: float, **_: Any) -> None:
        if event == COMPILED:
            log.log.append(("compilation", seconds))

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        return Watch(go(text, root, observers=[log]), log)
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    return watched(DIGITS, tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="session")
def moons(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    return watched(MOONS, tmp_path_factory.mktemp("moons"))


@pytest.fixture(params=["digits", "moons"])
def either(request: pytest.FixtureRequest) -> Watch:
    found: Watch = request.getfixturevalue(request.param)
    return found


def test_the_run_directory(either: Watch) -> None:
    path = either.run.path
    assert {entry.name for entry in path.iterdir()} == {
        "spec.yaml",
        "environment.json",
        "preprocessing.json",
        "metrics.jsonl",
        "history.jsonl",
        "summary.json",
        "weights",
        "checkpoints",
    }
    environment = strict((path / "environment.json").read_text())
    assert environment["device"].startswith("CPU")
    assert len(environment["devices"]) == jax.device_count()
    assert strict((path / "summary.json").read_text()) == either.run.summary


def test_rows_of_metrics(either: Watch) -> None:
    rows = either.rows("metrics.jsonl")
    steps = [row["step"] for row in rows]
    per_epoch = either.log.all("start")[0].steps_per_epoch
    assert steps == [per_epoch * epoch for epoch in range(1, 6)]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4, 5]
    # What a step does is compared with what was foretold in one of five.
    assert all(row.keys() | {"reduction_ratio"} == ROW for row in rows)
    assert rows[-1].keys() == ROW and rows[-1]["kl"] > 0
    assert all(0 <= row["validation_accuracy"] <= 1 for row in rows)
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]


def test_the_summary(either: Watch) -> None:
    summary, architecture = either.run.summary, either.run.architecture
    assert summary.keys() == SUMMARY
    assert summary["status"] == "finished"
    assert summary["hidden"] == list(architecture.widths)
    assert summary["hidden"] == either.rows("history.jsonl")[-1]["hidden"]
    # (1 + inputs) * outputs for every map, three coefficients for every rational neuron.
    sizes = [architecture.inputs, *summary["hidden"], architecture.outputs]
    maps = sum((1 + a) * b for a, b in pairwise(sizes))
    assert summary["parameters"] == maps + 3 * sum(summary["hidden"])
    assert summary["compilations"] == sum(summary["compiled"].values())
    assert 0 <= summary["cache_hits"] <= summary["compilations"]
    programs = summary["programs"]
    assert {name: program["times"] for name, program in programs.items()} == summary["compiled"]
    assert sum(program["cached"] for program in programs.values()) == summary["cache_hits"]
    assert {program["effort"] for program in programs.values()} == {"quick"}
    # What is compiled within a phase counts for none but `compile`; each was rounded on its own.
    compiling = sum(program["seconds"] for program in programs.values())
    assert compiling == pytest.approx(
        summary["seconds"]["compile"], abs=1e-3 * len(programs) + 0.05
    )
    seconds = summary["seconds"]
    assert set(seconds) == {*PHASES, "total"}
    assert sum(seconds.values()) - seconds["total"] <= seconds["total"] + 0.01


def test_events_have_the_documented_fields(either: Watch) -> None:
    events = either.rows("history.jsonl")
    assert {event["edit"] for event in events if not event["accepted"]} <= {None}
    for event in events:
        wanted = set(EVENT)
        if event["candidates"]:
            wanted |= CHOSEN | {"predicted_gain"}
        if event["accepted"]:
            wanted |= PLACE[event["edit"]] | {"loss_before", "loss_after"}
        assert event.keys() - {"next_round"} == wanted
        for candidate in event["candidates"]:
            assert candidate.keys() - {"weights", "layer"} == CANDIDATE
            assert candidate["kind"] == "depth" or isinstance(candidate["layer"], int)
        assert event["seconds"].keys() >= {"score"}
        assert all(w <= c for w, c in zip(event["hidden"], event["capacities"], strict=True))
    # The last one of a round names the next, the last one of all that none comes.
    last = [
        one for one, after in pairwise([*events, {"step": None}]) if after["step"] != one["step"]
    ]
    assert [event for event in events if "next_round" in event] == last
    assert [event["next_round"] for event in last] == [*(e["step"] for e in last[1:]), None]
    added = [event for event in events if event["edit"] == "add_neurons"]
    assert added
    assert all(event["predicted_gain"] == event["delta_eta"] / 2 for event in added)


def test_growth_keeps_the_function(either: Watch) -> None:
    accepted = [event for event in either.rows("history.jsonl") if event["accepted"]]
    for event in accepted:
        np.testing.assert_allclose(event["loss_after"], event["loss_before"], rtol=1e-5)
    grown = [event for event in accepted if event["edit"] != "enlarge_capacity"]
    assert either.run.summary["events"] == len(grown) > 0


def test_every_kind_of_growth_occurs(moons: Watch) -> None:
    edits = [event["edit"] for event in moons.rows("history.jsonl") if event["accepted"]]
    assert edits[0] == "insert_layer"
    assert set(edits) == {"insert_layer", "add_neurons", "enlarge_capacity"}
    widths = [event["hidden"] for event in moons.rows("history.jsonl") if event["accepted"]]
    assert widths[0] == [2]  # the narrower side of a map from two inputs to two classes


def test_the_limit_of_a_round_is_kept(digits: Watch) -> None:
    events = digits.rows("history.jsonl")
    for step in {event["step"] for event in events}:
        accepted = [event for event in events if event["step"] == step and event["accepted"]]
        assert len(accepted) <= 2


def test_an_observer_is_told_what_is_written(either: Watch) -> None:
    assert to_json(either.log.all("metrics")) == either.rows("metrics.jsonl")
    assert to_json(either.log.all("event")) == either.rows("history.jsonl")
    assert either.log.all("end") == [either.run.summary]
    (start,) = either.log.all("start")
    assert start.run_directory == str(either.run.path)
    assert (start.step, start.total_steps) == (0, 5 * start.steps_per_epoch)
    assert {"train", "evaluate", "score", "compile", "surgery"} <= set(either.log.all("phase"))


def test_growth_within_capacity_compiles_nothing(digits: Watch) -> None:
    compiled = digits.run.summary["compiled"]
    assert compiled["train"] == compiled["observe"] == 1
    assert compiled["evaluate"] == 1  # of the training, validation and test part
    # JAX's own account, from the end of the first round to the last event.
    events = [i for i, (kind, _) in enumerate(digits.log.log) if kind == "event"]
    steps = [digits.log.log[i][1]["step"] for i in events]
    first_round = [i for i, step in zip(events, steps, strict=True) if step == steps[0]]
    assert steps[-1] > steps[0]
    between = digits.log.log[first_round[-1] : events[-1]]
    assert [kind for kind, _ in between if kind == "compilation"] == []
    assert sum(kind == "compilation" for kind, _ in digits.log.log) > 0


def test_the_stored_spec_runs_again_to_the_same_bits(either: Watch, tmp_path: Path) -> None:
    again = train_run(load_spec(either.run.path / "spec.yaml"), root=tmp_path)
    for name in ("metrics.jsonl", "history.jsonl"):
        assert timeless(strict_rows(again.path / name)) == timeless(either.rows(name))
    assert lasting(again.summary) == lasting(either.run.summary)
    for name, leaves in either.run.params.items():
        for symbol, array in leaves.items():
            np.testing.assert_array_equal(again.params[name][symbol], array)
    assert (again.path / "spec.yaml").read_bytes() == (either.run.path / "spec.yaml").read_bytes()


def test_another_seed_is_another_run(digits: Watch, tmp_path: Path) -> None:
    other = go(DIGITS, tmp_path, "seed=1")
    assert other.summary["seed"] == 1
    metrics = strict_rows(other.path / "metrics.jsonl")
    assert timeless(metrics) != timeless(digits.rows("metrics.jsonl"))


def test_the_policy_none_keeps_the_architecture(tmp_path: Path) -> None:
    run = go(SMALL, tmp_path)
    assert run.summary["hidden"] == [3]
    assert run.summary["events"] == 0
    assert run.summary["policy"] == "none"
    assert not (run.path / "history.jsonl").exists()


def test_the_policy_random_grows(digits: Watch, tmp_path: Path) -> None:
    run = go(DIGITS, tmp_path, "expansion.policy=random", "training.epochs=3")
    events = [e for e in strict_rows(run.path / "history.jsonl") if e["accepted"]]
    assert len(events) == run.summary["events"] > 0
    assert run.summary["hidden"] == [4 + len(events)]
    for event in events:
        np.testing.assert_allclose(event["loss_after"], event["loss_before"], rtol=1e-5)


def test_a_batch_larger_than_the_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"batch_size is 101.* 90 examples") as caught:
        go(SMALL, tmp_path, "training.batch_size=101")
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        go(SMALL, tmp_path, run_directory=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def check_diverged(error: DivergedError, root: Path) -> int:
    """The step that is named, after a look at what is left."""
    assert error.exit_code == 3
    match = re.search(r"(train_loss|gradient|update) at step (\d+)", error.message)
    assert match
    (path,) = root.iterdir()
    summary = strict((path / "summary.json").read_text())
    assert summary["status"] == "diverged"
    assert summary["steps"] == int(match[2]) - 1
    _, params = load_weights(path / "weights")
    assert all(np.isfinite(array).all() for leaves in params.values() for array in leaves.values())
    return int(match[2])


@pytest.mark.parametrize("optimizer", ["{kind: adam, learning_rate: 1e6}", "{learning_rate: 1e6}"])
def test_a_learning_rate_that_is_far_too_large(tmp_path: Path, optimizer: str) -> None:
    natural = "kind" not in optimizer
    optimizer = optimizer.replace("{", "{kl_clip: null, ") if natural else optimizer
    with pytest.raises(DivergedError) as caught:
        go(SMALL, tmp_path, f"optimizer={optimizer}", "training.epochs=20")
    assert check_diverged(caught.value, tmp_path) >= 2
    # What is advised is what the optimizer has.
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("lower optimizer.learning_rate")
    assert ("optimizer.damping" in caught.value.hint) is natural


@pytest.mark.parametrize("kind", ["adam", "natural_gradient"])
def test_nan_in_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    load = run_module.load

    def poisoned(*arguments: Any) -> Any:
        dataset = load(*arguments)
        x = dataset.train.x.copy()
        x[17, 0] = np.nan
        return replace(dataset, train=replace(dataset.train, x=x))

    monkeypatch.setattr(run_module, "load", poisoned)
    with pytest.raises(DivergedError, match="step") as caught:
        go(SMALL, tmp_path, f"optimizer={{kind: {kind}}}")
    assert check_diverged(caught.value, tmp_path) <= 3  # every example comes in the first epoch


def test_a_run_of_so_many_minutes_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Watched):
        def metrics(self, row: Mapping[str, Any]) -> None:
            super().metrics(row)
            seconds.append(seconds[-1] + 1)

    seconds = [0.0]
    monkeypatch.setattr(Ledger, "total", lambda self: seconds[-1])
    run = go(SMALL, tmp_path, "training={minutes: 0.05, batch_size: 30}", observers=[Slow()])
    assert run.summary["status"] == "finished"
    # A second an evaluation and an evaluation an epoch: after three epochs, three seconds are over.
    assert (run.summary["epochs"], run.summary["seconds"]["total"]) == (3, 3)


@pytest.fixture
def halted() -> Iterator[Watched]:
    class Halt(Watched):
        def metrics(self, row: Mapping[str, Any]) -> None:
            raise KeyboardInterrupt

    yield Halt()


def test_what_was_written_stays_after_an_interrupt(tmp_path: Path, halted: Watched) -> None:
    with pytest.raises(KeyboardInterrupt):
        go(SMALL, tmp_path, observers=[halted])
    (path,) = tmp_path.iterdir()
    assert [row["step"] for row in strict_rows(path / "metrics.jsonl")] == [3]
    assert not (path / "summary.json").exists()
