"""What `step.py` compares: one fixed network on MNIST, trained by senn and by kfac-jax."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from _turns import CLOCKS, advance, trainer

from senn_cli.data.registry import load_dataset
from senn_cli.engine.feed import placed
from senn_cli.spec import parse_spec

SPEC = """
data: {{source: mnist, validation: 5000}}
network: {{kind: mlp, hidden: {hidden}, activation: silu}}
optimizer: {optimizer}
expansion: none
seed: {seed}
training: {{steps: {steps}, batch_size: {batch}, evaluate: {{steps: 1000000}}}}
checkpoints: false
"""
HEADS = {
    "adam": "kind: adam, schedule: cosine",
    "kfac": "kind: natural_gradient",
    "cg": "kind: natural_gradient, solver: cg, cg_tolerance: 0.1",
}
"""What the optimizers of senn begin with."""


class Setting(NamedTuple):
    """One of a grid."""

    kind: str
    written: str

    def __str__(self) -> str:
        return f"{self.kind} {self.written or 'by default'}"


class Found(NamedTuple):
    """What a network has learnt: losses in nats, accuracy in percent."""

    training: float
    validation: float
    test: float
    accuracy: float

    def __str__(self) -> str:
        return (
            f"training loss {self.training:.4f}, validation {self.validation:.4f}, "
            f"test {self.test:.4f}, test accuracy {self.accuracy:.2f}%"
        )


class Runner(Protocol):
    """One training."""

    def advance(self, steps: int) -> float:
        """Seconds of so many steps."""

    def found(self) -> Found:
        """What it has learnt."""


class Own:
    """One of senn's."""

    def __init__(self, chosen: argparse.Namespace, one: Setting, steps: int, seed: int = 0) -> None:
        written = ", ".join(filter(None, (HEADS[one.kind], one.written)))
        values = {"optimizer": f"{{{written}}}", "steps": steps, "seed": seed}
        spec = parse_spec(SPEC.format(hidden=chosen.hidden, batch=chosen.batch, **values))
        data = load_dataset(spec.data, 0)  # one division for all seeds
        self.trainer, self._clock = trainer(spec, data)[0], CLOCKS[chosen.clock]

    def advance(self, steps: int) -> float:
        """As of `Runner`."""
        return advance(self.trainer, steps, self._clock)

    def found(self) -> Found:
        """As of `Runner`."""
        one = self.trainer
        test, held = one.dataset.test, one.validation
        assert test is not None and held is not None
        parts = (one.train, held, placed(one.dataset, test))
        (training, _), (validation, _), (loss, accuracy) = (
            one.measure(data, one.network) for data in parts
        )
        return Found(training, validation, loss, 100 * accuracy)


class KfacJax:
    """kfac-jax in a process of its own, which trains one network after the other."""

    def __init__(self, chosen: argparse.Namespace, place: Path, seeds: Iterable[int]) -> None:
        for seed in seeds:
            one = Own(chosen, Setting("kfac", ""), 1, seed).trainer
            for layer, name in enumerate(sorted(one.network.state.params)):
                for leaf, value in one.network.state.params[name].items():
                    np.save(place / f"{leaf}_{seed}_{layer}.npy", np.asarray(value))
        data = one.dataset
        for name, part in (
            ("train", data.train),
            ("validation", data.validation),
            ("test", data.test),
        ):
            assert part is not None
            x = (np.asarray(part.x, np.float32) - data.shift) * data.scale
            np.save(place / f"{name}_x.npy", x.reshape(len(x), -1))
            np.save(place / f"{name}_y.npy", np.asarray(part.y, np.int32))
        script = str(Path(__file__).with_name("_kfac_jax.py"))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [chosen.kfac_jax, script, str(place), chosen.clock], stdin=pipe, stdout=pipe, text=True
        )
        self._batch = chosen.batch

    def make(self, written: str, steps: int, seed: int = 0) -> None:
        """Begins anew."""
        settings = {"steps": steps, "batch": self._batch, "seed": seed, **json.loads(written)}
        self._asked({"make": settings})

    def advance(self, steps: int) -> float:
        """As of `Runner`."""
        return float(self._asked({"advance": steps}))

    def found(self) -> Found:
        """As of `Runner`."""
        (training, _), (validation, _), (loss, accuracy) = (
            self._asked({"measure": part}) for part in ("train", "validation", "test")
        )
        return Found(training, validation, loss, 100 * accuracy)

    def _asked(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())
