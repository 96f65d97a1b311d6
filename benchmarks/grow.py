"""What a growth round holds training up for: from the decision to the next step, on MNIST.

    python -m benchmarks grow --rounds 8

A run of `specs/mnist.yaml` with a cheap search, which is not what is measured. After every round
that has changed the network: the time from the decision to the dispatch of the next steps, as wall
time and as CPU-seconds of all threads, in all and by phase (`surgery` is the edits with their way
from the device and back, `evaluate` the losses before and after for the history, `save` the
checkpoints), and how many programs were compiled meanwhile. Rounds within the capacity and those
that enlarge it are told apart; the first round counts for neither, as much of it happens once a
process.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seeds import machine

from senn_cli.spec import load_spec
from senn_cli.training.observer import Observer
from senn_cli.training.run import train_run

SPEC = Path(__file__).parent.parent / "specs" / "mnist.yaml"
CHEAP = (
    "expansion.width.proposals=64",
    "expansion.samples=2048",
    "expansion.width.per_round=2",
    "expansion.every={steps: 10}",
    "training.evaluate={steps: 20}",
)
BETWEEN = ("surgery", "score", "evaluate", "save", "compile")
"""Phases that can follow the decision, up to the next steps."""


@dataclass
class Pause:
    """Seconds from a decision to the next step, by phase, and programs compiled in them."""

    wall: dict[str, float] = field(default_factory=lambda: dict.fromkeys(BETWEEN, 0.0))
    cpu: dict[str, float] = field(default_factory=lambda: dict.fromkeys(BETWEEN, 0.0))
    programs: int = 0
    within: bool = True


class Pauses(Observer):
    """Takes the time of every pause."""

    def __init__(self, rounds: int) -> None:
        self.rounds, self.found = rounds, list[Pause]()
        self._pause: Pause | None = None
        self._phase, self._at = "", (0.0, 0.0)

    def phase(self, name: str, what: str = "") -> None:
        """A pause begins with the first edit, and ends with the next steps."""
        now = time.perf_counter(), time.process_time()
        if self._pause is not None:
            self._pause.wall[self._phase] += now[0] - self._at[0]
            self._pause.cpu[self._phase] += now[1] - self._at[1]
        self._phase, self._at = name, now
        if name == "train":
            self._pause = None
        elif name == "compile" and self._pause is not None:
            self._pause.programs += 1
        elif name == "surgery" and self._pause is None:
            self._pause = Pause()
            self.found.append(self._pause)

    def round(self, events: Sequence[Mapping[str, Any]], before: Any, after: Any) -> None:
        """Whether the round made room."""
        if any(event["accepted"] for event in events):
            self.found[-1].within = all(e["edit"] != "enlarge_capacity" for e in events)

    def stops(self) -> bool:
        """Whether there were enough."""
        return self._pause is None and len(self.found) > self.rounds


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--set", action="append", default=[], help="an override of the spec")
    chosen = parser.parse_args()
    spec, pauses = load_spec(SPEC, [*CHEAP, *chosen.set]), Pauses(chosen.rounds)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        train_run(spec, run_directory=Path(folder) / "run", observers=[pauses])
    for title, within in (("within capacity", True), ("at a change of it", False)):
        some = [pause for pause in pauses.found[1:] if pause.within is within]
        if not some:
            continue
        programs = ", ".join(str(pause.programs) for pause in some)
        print(f"{title}: {len(some)} rounds; programs compiled: {programs}")
        for name in ("all", *BETWEEN):
            wall, cpu = (
                statistics.median(
                    1000 * (sum(of.values()) if name == "all" else of[name]) for of in ofs
                )
                for ofs in ([p.wall for p in some], [p.cpu for p in some])
            )
            if wall:
                print(f"  {name:9} {wall:7.1f} ms, CPU {cpu:7.1f} ms")


if __name__ == "__main__":
    main()
