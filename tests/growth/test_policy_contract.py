"""One contract for every policy with every kind of network that it serves, in whole runs.

The history has every edit with what it did to the loss: growth keeps it, or declares that it does
not. The optimizer goes on with what it had. A run that was stopped beside a growth round and
resumed is the run that was not, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.spec import InvalidSpecError, parse_spec
from senn_cli.training.observer import Observer
from senn_cli.training.snapshot import Moment, arrays_of
from tests import toy
from tests.resuming import Executables, check_same, go, resume, rows, shared_programs, steps

pytestmark = pytest.mark.slow

DATA = {
    "mlp": "{source: moons, train: 100, test: 50}",
    "toy": "{source: moons, train: 100, test: 50}",
    "densenet": "{source: digits, normalize: global, subset: 120}",
}
NETWORKS = {
    "mlp": "{kind: mlp, hidden: [2], capacity: {initial: [6]}}",
    "toy": "{kind: toy, hidden: [2, 2, 3], room: 4}",
    "densenet": "{kind: densenet, blocks: [[3]], bud: 0, capacity: {initial: 6, in_use: 0.9}}",
}
START = {"mlp": 2, "toy": 7, "densenet": 3}
SEARCH = "proposals: search, price: 0, samples: 80, width: {per_round: 1, proposals: 32, steps: 3}"
DORMANT = "proposals: dormant, width: {per_round: 1}, dormant: {activate: 1.0, prune: 0.0}"
EXPANSIONS = {
    "none": "{policy: none}",
    "senn, search": f"{{policy: senn, {SEARCH}, LIMITS}}",
    "random, search": f"{{policy: random, {SEARCH}, LIMITS}}",
    "senn, dormant": f"{{policy: senn, {DORMANT}, LIMITS}}",
}
LIMITS = "threshold: 0, stop: 0, noise: 0, depth: false, max_hidden: {}, every: {{steps: 2}}"
GIVEN = {
    "dynamic_node_creation": "window: 1 steps, flat: 1000",
    "net2net": "jitter: 0",
    "net2net, deeper": "jitter: 0, width: false, depth: {max_layers: 4}",
    "net2net, jitter": "jitter: 0.3",
    "splitting": "window: 1 steps, flat: 1000, step: 0.3",
    "gradmax": "samples: 100",
    "tiny": "samples: 100, least: 0",
    "firefly": "samples: 100, candidates: 3, steps: 2",
}
"""Policies of given times and places, with the options that have them add something here."""
EXPANSIONS |= {
    name: f"{{policy: {name.partition(',')[0]}, {options}, max_hidden: MOST, every: {{steps: 2}}}}"
    for name, options in GIVEN.items()
}
CHANGES = {"dynamic_node_creation", "net2net, jitter", "splitting", "tiny", "firefly"}
"""Those that do not keep the function."""
DENSE = ("splitting", "net2net, deeper", "gradmax", "tiny", "firefly")
REFUSED = {("densenet", name) for name in DENSE}
SERVED = [(k, name) for k in DATA for name in EXPANSIONS if (k, name) not in REFUSED]


@pytest.fixture(scope="module", autouse=True)
def third() -> Iterator[None]:
    with toy.known():
        yield


@dataclass
class Carried(Observer):
    """Checks in every round that Adam goes on: its count, and the moments of the first map's units
    where there were some."""

    rounds: int = 0

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        if not any(event["accepted"] for event in events):
            return
        self.rounds += 1
        old, new = (arrays_of(moment) for moment in (before, after))
        first = f"/{before.network.architecture.maps[0].name}/"
        for name in (name for name in old if name.startswith("optimizer/")):
            was, now = np.asarray(old[name]), np.asarray(new[name])
            if was.ndim == 0:
                assert was == now
            elif first in name:
                here = tuple(slice(size) for size in was.shape)
                assert was.any()
                assert (now[here] != 0)[was != 0].all(), name


@pytest.mark.parametrize(("kind", "name"), SERVED)
def test_growth_keeps_the_loss_and_resumes(kind: str, name: str, tmp_path: Path) -> None:
    most, network = START[kind] + (20 if "deeper" in name else 2), NETWORKS[kind]
    if name == "none" and kind == "densenet":
        network = "{kind: densenet, blocks: [[3]]}"  # nothing would read the rest
    if name in GIVEN:
        network = network.replace("bud: 0, ", "")  # they propose no layers
    text = f"""
name: contract
data: {DATA[kind]}
network: {network}
optimizer: {{kind: adam, learning_rate: 1e-2, schedule: constant}}
expansion: {EXPANSIONS[name].replace("LIMITS", LIMITS.format(most)).replace("MOST", str(most))}
training: {{steps: 10, batch_size: 40}}
"""
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    executables: Executables = {}
    with shared_programs(executables):
        run = go(text, whole, observers=(carried := Carried(),))
        edits = [row for row in rows(whole / "history.jsonl") if "edit" in row]
        if name == "none":
            assert not edits
            assert sum(run.architecture.widths) == START[kind]
        else:
            deeper = name.endswith("deeper")
            wanted = "insert_layer" if deeper else "add_neurons"
            added = [row for row in edits if row["edit"] == wanted]
            assert added
            assert deeper or sum(run.architecture.widths) == most
            assert carried.rounds == len({row["step"] for row in added})
            for row in added:
                before, after = row["loss_before"], row["loss_after"]
                assert row.get("keeps_function", True) == (name not in CHANGES)
                kept = math.isclose(before, after, rel_tol=1e-5, abs_tol=1e-6)
                assert kept != (name in CHANGES)
        stop = edits[0]["step"] if edits else 5
        go(text, halved, until=steps(max(1, stop - 1)))
        resume(halved)
        check_same(halved, whole)


@pytest.mark.parametrize(("kind", "name"), sorted(REFUSED))
def test_what_does_not_serve_a_kind_is_refused_by_name(kind: str, name: str) -> None:
    text = f"data: digits\nnetwork: {kind}\nexpansion: {EXPANSIONS[name].replace('MOST', '99')}"
    with pytest.raises(InvalidSpecError) as found:
        parse_spec(text)
    assert f"kind {kind}" in found.value.message
    assert name.partition(",")[0] in found.value.message
