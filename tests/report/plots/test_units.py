"""A figure of a DenseNet says channels; no other word is left in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.text import Text

from senn_cli.report.plots.kinds import draw
from tests.report.plots.made import made_run


@pytest.mark.parametrize("kind", ["growth", "scores", "widths", "anytime", "loss"])
def test_channels_are_called_channels(tmp_path: Path, kind: str) -> None:
    dense = made_run(tmp_path / "dense", network={"kind": "densenet", "hidden": []})
    figure = draw(kind, [dense])
    figure.canvas.draw()
    words = " ".join(text.get_text() for text in figure.findobj(Text))
    assert "channel" in words
    assert "neuron" not in words


def test_several_kinds_together_have_units(tmp_path: Path) -> None:
    dense = made_run(tmp_path / "dense", network={"kind": "densenet", "hidden": []})
    figure = draw("anytime", [dense, made_run(tmp_path / "half")])
    assert "units" in figure.axes[0].get_ylabel()
