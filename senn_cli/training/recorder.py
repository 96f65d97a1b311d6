"""Recordings for pictures: score landscapes and decision boundaries, as the spec wants them.

`recordings/landscape-<step>-<when>.npz` and `recordings/boundary-<step>-<when>.npz`, with `when`
one of `before` and `after` (a growth round) and `end`. Recording changes nothing that is computed.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from senn_cli.data.normalize import kind
from senn_cli.engine.arrays import examples
from senn_cli.engine.feed import handed
from senn_cli.engine.objective import objective_of
from senn_cli.engine.programs import Program
from senn_cli.errors import RunError
from senn_cli.growth.build import INPUT_DAMPING
from senn_cli.growth.landscape import grid, make_landscape, place_of, weights_at
from senn_cli.nets.registry import outputs
from senn_cli.runs.directory import RunDirectory
from senn_cli.runs.files import write_atomic
from senn_cli.spec import Spec
from senn_cli.spec.expansion import ScoredSpec, SearchSpec
from senn_cli.training.loop import Trainer
from senn_cli.training.network import Network
from senn_cli.training.observer import Observer, Start
from senn_cli.training.snapshot import Moment

When = Literal["before", "after", "end"]
FOLDER = "recordings"
_LINE = 200  # points of a network's function of one input
_PLANE = 121  # points of a decision boundary, in each direction


class Recorder(Observer):
    """Writes what the spec's `record` section names into a run directory."""

    def __init__(self, spec: Spec, directory: Path, trainer: Trainer) -> None:
        self.record, self.folder, self.trainer = spec.record, directory / FOLDER, trainer
        scores = spec.growth if isinstance(spec.growth, ScoredSpec) else SearchSpec()  # as would
        self.threshold, self.stop = scores.threshold, scores.stop
        sampled = scores if isinstance(scores, SearchSpec) else SearchSpec()
        self.directory = RunDirectory(directory)
        metric = trainer.optimizer.metric
        self._landscape = Program(
            "landscape",
            make_landscape(
                objective_of(spec),
                metric,
                damping_a=INPUT_DAMPING,
                damping_s=sampled.score_damping,
            ),
            trainer.ledger,
            static=(0,),
        )
        self._outputs = Program("outputs", outputs, trainer.ledger, static=(0,))

    def start(self, start: Start) -> None:
        """Before the first step, or where a run is resumed."""
        if self.record.boundary and self.trainer.step == 0:
            self._save_boundary(self.trainer.network, 0, "before")

    def round(self, events: Sequence[Mapping[str, Any]], before: Moment, after: Moment) -> None:
        """Around a growth round that adds."""
        added = [e for e in events if e.get("edit") == "add_neurons"]
        inserted = any(e.get("edit") == "insert_layer" for e in events)
        if self.record.landscape and added:
            self._save_landscape(before.network, before.step, "before", _places(added), [])
            self._save_landscape(after.network, after.step, "after", [], _rejected(events))
        if self.record.boundary and inserted:
            self._save_boundary(before.network, before.step, "before")

    def result(self, network: Network) -> None:
        """Of the network that the run ends with."""
        step = int(network.state.step)
        if self.record.landscape:
            # From the file: the last round may have been before a resumption.
            rounds = (event for event in self.directory.history() if "end" not in event)
            history = [event for event in rounds if event["step"] <= step]
            last = [event for event in history if event["step"] == history[-1]["step"]]
            self._save_landscape(network, step, "end", [], _rejected(last))
        if self.record.boundary:
            self._save_boundary(network, step, "end")

    def _save_landscape(
        self, network: Network, step: int, when: When, accepted: list[Any], rejected: list[Any]
    ) -> None:
        if not network.architecture.hidden:
            return
        data, dataset = self.trainer.train, self.trainer.dataset
        raw = np.asarray(dataset.train.x).reshape(-1)
        wide: Any = kind(raw)
        shift, scale = (wide(np.ravel(v)[0]) for v in (dataset.shift, dataset.scale))
        location, width = grid((raw - shift) * scale)
        places = weights_at(location[None, :], width[:, None]).reshape(-1, 2).astype(np.float32)
        rows = np.arange(min(examples(data), 8192), dtype=np.int32)
        shape = network.architecture.shape()
        args = (network.state.params, network.widths, *handed(data, rows), places)
        with self.trainer.ledger.phase("evaluate"):
            ratio, eta = self._landscape(shape, *args)
        ratio = np.asarray(ratio).reshape(len(width), len(location))
        line = np.linspace(raw.min(), raw.max(), _LINE, dtype=wide)
        order = np.argsort(dataset.test.x.reshape(-1))
        weights = jax.device_get(network.state.params["map_0"])
        used = network.architecture.widths[0]
        existing = np.stack([weights["bias"][:used], weights["kernel"][0, :used]], axis=-1)

        def units(places: Any) -> Any:
            """Locations and scales in the units of the data."""
            found = np.asarray(places, np.float32).reshape(-1, 2) / scale
            return found + np.array([shift, 0.0], wide)

        self._write(
            f"landscape-{step:08d}-{when}",
            location=location / scale + shift,
            scale=width / scale,
            ratio=ratio,
            eta=np.float32(eta),
            # The ratio that passes both tau and alpha.
            threshold=np.float32(max(self.threshold, self.stop / max(float(eta), 1e-30))),
            layer=np.int32(0),
            line_x=line,
            line_y=self._predict(network, (line[:, None] - shift) * scale)[:, 0],
            target_x=dataset.test.x.reshape(-1)[order],
            target_y=dataset.test.y.reshape(-1)[order],
            train_x=raw,
            train_y=dataset.train.y.reshape(-1),
            neurons=units(place_of(existing)),
            accepted=units(accepted),
            rejected=units(rejected),
        )

    def _predict(self, network: Network, x: Any) -> Any:
        """Predictions of a regression for scaled inputs `(N, 1)`, in the units of the targets."""
        dataset = self.trainer.dataset
        return self._run(network, x) / dataset.target_scale + dataset.target_shift

    def _save_boundary(self, network: Network, step: int, when: When) -> None:
        dataset = self.trainer.dataset
        points = np.asarray(dataset.train.x).reshape(-1, 2)
        points = points.astype(kind(points))
        low, high = points.min(axis=0), points.max(axis=0)
        margin = 0.1 * (high - low)
        x, y = np.linspace(low - margin, high + margin, _PLANE, dtype=points.dtype).T
        plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        scaled = (plane - np.ravel(dataset.shift)) * np.ravel(dataset.scale)
        logits = self._run(network, scaled).reshape(_PLANE, _PLANE, -1)
        exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
        self._write(
            f"boundary-{step:08d}-{when}",
            x=x,
            y=y,
            probabilities=(exponents / exponents.sum(axis=-1, keepdims=True)).astype(np.float16),
            train_x=points,
            train_y=dataset.train.y,
            hidden=np.asarray(network.architecture.widths, np.int32),
        )

    def _run(self, network: Network, x: Any) -> Any:
        shape = network.architecture.shape()
        with self.trainer.ledger.phase("evaluate"):
            x = x.astype(np.float32)
            return np.asarray(self._outputs(shape, network.state.params, x, network.widths))

    def _write(self, name: str, **arrays: Any) -> None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        path = self.folder / f"{name}.npz"
        try:
            self.folder.mkdir(exist_ok=True)
            write_atomic(path, buffer.getvalue())
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def _rejected(events: Sequence[Mapping[str, Any]]) -> list[Any]:
    return _places(event for event in events if not event["accepted"])


def _places(events: Any) -> list[Any]:
    """Locations and scales of the proposals of events for the first hidden layer."""
    found = []
    for event in events:
        best = next((c for c in event["candidates"] if c["site"] == "layer 0"), None)
        if best is not None and best.get("weights") is not None:
            found.append(place_of(np.asarray(best["weights"], np.float32)[:2]))
    return found
