"""What the paper says of its figures 2 and 3, of the sweeps that stand for them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import senn_cli
from senn_cli.report.plots.boundary import phases
from senn_cli.report.plots.recordings import Landscape, Moment, landscapes
from senn_cli.report.record import read_record
from senn_cli.spec import dump_spec
from senn_cli.sweep.begin import planned
from senn_cli.sweep.figures import sweep_of
from senn_cli.sweep.read import read_sweep


def trained(figure: str, number: int, place: Path, *overrides: str) -> Path:
    """The run of a member of a figure's sweep, with other values."""
    spec = planned(read_sweep(sweep_of(figure, small=False)))[number].spec
    assert spec is not None
    file = place / "member.yaml"
    file.write_text(dump_spec(spec, place), encoding="utf-8")
    return senn_cli.train(file, overrides=overrides, run_directory=place / "run").path


def beside(shown: Landscape, neuron: np.ndarray) -> float:
    """The best score in the cell of a landscape that a neuron is in, and in those around it."""
    location, scale = neuron
    row = int(np.abs(np.log(shown.scale / scale)).argmin())
    column = int(np.abs(shown.location - location).argmin())
    around = [slice(max(each - 1, 0), each + 2) for each in (row, column)]
    return float(np.nanmax(shown.ratio[tuple(around)]))


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_figure_2_the_score_falls_near_an_added_neuron(number: int, tmp_path: Path) -> None:
    """Section 4.1: accepted where the score is high; there it is dramatically reduced after."""
    run = trained("figure-2", number, tmp_path, "training={steps: 130, batch_size: full}")
    found = {each.moment: each for each in landscapes(read_record(run))}
    added = 0
    for moment, before in found.items():
        after = found.get(Moment(moment.step, "after"))
        if moment.when != "before" or after is None:
            continue
        falls = []
        for neuron in before.accepted:
            assert beside(before, neuron) > before.threshold  # what passes ...
            falls.append(beside(after, neuron) / beside(before, neuron))
            assert falls[-1] < 0.1  # ... is redundant as soon as it is there,
        # and what is farther away less so.
        assert min(falls) < np.nanmedian(after.ratio / before.ratio)
        added += len(falls)
    assert added >= 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_figure_3_the_score_of_a_layer_rises_and_drops(number: int, tmp_path: Path) -> None:
    """Section 4.2: the score rises until a layer is inserted, and drops when the first one is.

    Layers are looked for 90 steps after one came: behind later ones the score has risen again.
    """
    run = trained("figure-3", number, tmp_path)
    record = read_record(run)
    found = phases(record)
    assert sum(phase.inserted for phase in found) >= 2
    for phase in found:
        if phase.inserted:
            assert phase.ratios[-1] == max(phase.ratios) > 1  # tau
    rising = [phase for phase in found if phase.inserted and len(phase.steps) > 1]
    assert rising and all(phase.ratios[-1] > phase.ratios[0] for phase in rising)
    best: dict[int, float] = {}
    for event in record.history:
        scores = [c["score"] for c in event.get("candidates") or () if c["kind"] == "depth"]
        step = int(event["step"])
        best[step] = max([best.get(step, -math.inf), *scores])
    assert best[found[1].steps[0]] < 0.5 * best[found[0].steps[-1]]
