"""Runs made by hand, whose figures are known, and checks of what a reader sees of a figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import yaml
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from senn_cli.report.record import Record, read_record


def candidate(kind: str, number: int, ratio: float | None) -> dict[str, Any]:
    site = "layer" if kind == "width" else "map"
    return {"kind": kind, "site": f"{site} {number}", "ratio": ratio}


def event(step: int, edit: str | None, hidden: Sequence[int], **more: Any) -> dict[str, Any]:
    usual = {
        "step": step, "epoch": step / 5, "edit": edit, "accepted": edit is not None,
        "threshold": 1.0, "hidden": list(hidden), "candidates": [], "train_loss": 1.0,
    }  # fmt: skip
    return usual | more


# Linear; a layer (2 neurons), one more neuron, a layer before it (3), and a neuron pruned again.
# The loss falls by 1/8 in every interval of ten steps between the rounds.
HISTORY = (
    event(10, None, [], candidates=[candidate("depth", 0, 0.5)], train_loss=1.0),
    event(
        20, "insert_layer", [2], map=0, candidates=[candidate("depth", 0, 4.0)], train_loss=0.875,
        predicted_gain=0.2,
    ),
    event(
        30, "add_neurons", [3], layer=0, neurons=1, train_loss=0.75, predicted_gain=0.05,
        candidates=[
            candidate("width", 0, 2.0), candidate("depth", 1, -0.1), candidate("depth", 0, None),
        ],
    ),
    event(
        40, "insert_layer", [3, 3], map=0, train_loss=0.625, predicted_gain=0.1,
        candidates=[candidate("depth", 0, 8.0), candidate("width", 0, 0.25)],
    ),
    event(
        50, "prune_neurons", [3, 2], layer=1, train_loss=0.5,
    ),
)  # fmt: skip
METRICS = tuple(
    {
        "step": step,
        "epoch": step / 5,
        "train_loss": 1.0 - step / 100 + (0.05 if step == 60 else 0.0),
        "validation_loss": 1.1 - step / 100,
        "validation_accuracy": 0.5 + step / 200,
        "hidden": hidden,
    }
    for step, hidden in zip(range(10, 70, 10), ([], [2], [3], [3, 3], [3, 2], [3, 2]), strict=True)
)
SUMMARY = {
    "status": "finished",
    "test_accuracy": 0.8,
    "seconds": {"train": 6.0, "score": 3.0, "total": 10.0},
}
SPEC = {"name": "half", "seed": 0, "data": {"validation": 0.2}, "network": {"hidden": []}}


def made_run(
    path: Path,
    *,
    history: Sequence[Mapping[str, Any]] = HISTORY,
    metrics: Sequence[Mapping[str, Any]] = METRICS,
    summary: Mapping[str, Any] | None = SUMMARY,
    **spec: Any,
) -> Record:
    """A run in `path`, read back."""
    path.mkdir(parents=True)
    (path / "spec.yaml").write_text(yaml.safe_dump(SPEC | spec, allow_unicode=True))
    for name, rows in (("history", history), ("metrics", metrics)):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if summary is not None:
        (path / "summary.json").write_text(json.dumps(summary))
    return read_record(path)


def save_landscape(run: Path, step: int, when: str, **arrays: Any) -> None:
    """A landscape with one hill of height 10 over location 0.5 and scale 1."""
    location, scale = np.linspace(-2, 2, 41), np.geomspace(0.1, 10, 21)
    x = np.linspace(-2, 2, 30)
    hill = -(((location - 0.5) / 0.5) ** 2) - np.log10(scale)[:, None] ** 2 * 4
    usual: dict[str, Any] = {
        "location": location, "scale": scale, "ratio": 10 * np.exp(hill), "threshold": 1.0,
        "layer": 0, "line_x": x, "line_y": np.sin(x), "target_x": x, "target_y": np.cos(x),
        "train_x": x[::3], "train_y": np.cos(x[::3]), "neurons": [[-1.0, 1.0], [np.inf, 2.0]],
        "accepted": [[0.5, 1.0]], "rejected": np.zeros((0, 2)),
    }  # fmt: skip
    (run / "recordings").mkdir(exist_ok=True)
    np.savez(run / f"recordings/landscape-{step:08d}-{when}.npz", **usual | arrays)


def save_boundary(run: Path, step: int, when: str, **arrays: Any) -> None:
    """Two classes with the boundary x = 0.25."""
    x, y = np.linspace(-1, 1, 41), np.linspace(-2, 2, 31)
    first = np.broadcast_to(1 / (1 + np.exp(8 * (x - 0.25))), (31, 41))
    points = np.stack([np.linspace(-0.9, 0.9, 20), np.linspace(-1.5, 1.5, 20)], axis=-1)
    usual: dict[str, Any] = {
        "x": x, "y": y, "probabilities": np.stack([first, 1 - first], axis=-1),
        "train_x": points, "train_y": (points[:, 0] > 0.25).astype(int),
        "hidden": np.array([3, 2]),
    }  # fmt: skip
    (run / "recordings").mkdir(exist_ok=True)
    np.savez(run / f"recordings/boundary-{step:08d}-{when}.npz", **usual | arrays)


def with_recordings(path: Path) -> Record:
    """A run with landscapes around the steps 20 and 30 and boundaries before 20 and 40."""
    record = made_run(path, record={"landscape": True, "boundary": True})
    for step, when in ((20, "before"), (20, "after"), (30, "before"), (30, "after"), (60, "end")):
        save_landscape(path, step, when)
    linear = np.zeros(0, np.int32)
    for step, when in ((0, "before"), (20, "before"), (40, "before"), (60, "end")):
        hidden = {"hidden": linear} if step <= 20 else {}
        save_boundary(path, step, when, **hidden)
    return record


def lines(figure: Figure, gid: str) -> list[Line2D]:
    """The lines that were drawn under a name."""
    return [line for axes in figure.axes for line in axes.lines if line.get_gid() == gid]


def xy(line: Line2D) -> list[tuple[float, float]]:
    """The points of a line."""
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


@contextmanager
def _drawn() -> Iterator[list[Text]]:
    """Collects the texts that are really drawn: an axis has ticks beyond its ends, too."""
    found: list[Text] = []
    original = Text.draw

    def draw(self: Text, renderer: Any, *args: Any, **kwargs: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            found.append(self)
        original(self, renderer, *args, **kwargs)

    with mock.patch.object(Text, "draw", draw):
        yield found


def assert_readable(figure: Figure) -> None:
    """No two texts overlap, none leaves the figure, and none is smaller than 7 points."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # the layout settles
    with _drawn() as texts:
        canvas.draw()
    assert texts
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in texts]
    for text in texts:
        assert text.get_fontsize() >= 7, text.get_text()
    for index, (text, box) in enumerate(boxes):
        inside = figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1
        assert inside and figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1, text
        for other, beside in boxes[:index]:
            apart = (
                box.x1 <= beside.x0 + 0.5
                or beside.x1 <= box.x0 + 0.5
                or box.y1 <= beside.y0 + 0.5
                or beside.y1 <= box.y0 + 0.5
            )
            assert apart, f"{text!r} overlaps {other!r}"
    for legend in figure.legends:
        box = legend.get_window_extent(canvas.get_renderer())
        for axes in figure.axes:
            assert not box.overlaps(axes.get_window_extent(canvas.get_renderer()))


def assert_labelled(figure: Figure) -> None:
    """The lowest axes of every column name what is along x, and some of every row along y."""
    assert any(axes.get_xlabel() for axes in figure.axes)
    assert any(axes.get_ylabel() for axes in figure.axes) or figure.axes[0].get_yticklabels()
