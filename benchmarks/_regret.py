"""The tables of `regret.py`, made from the runs in its folders."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from senn_cli.report.flops import training
from senn_cli.report.record import Record, read_record
from senn_cli.spec import load_spec

SCORES = (
    "| | grown | parameters | best of the sweep | random | regret | beside its shape | beside the "
    "front | linear |\n|---|---|---|---|---|---|---|---|---|"
)
COSTS = (
    "| | hidden, a seed each | sweep's best | size over it | rows x outputs | last addition | "
    "CPU-seconds, grown / sweep | ratio | without compilation | operations |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)
NOT_TRAINING = ("compile", "total")


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
      shape: of its hidden layers at the end, as JSON.
      parameters: at the end.
      test: accuracy in percent, or the mean squared error.
      classes: whether it is an accuracy.
      validation: loss at the end.
      seconds: of wall time, without compilation.
      operations: of all steps.
      last: when it last added something, as a share of its steps; None where it never did.
    """

    shape: str
    parameters: int
    test: float
    classes: bool
    validation: float
    seconds: float
    operations: float
    last: float | None


@dataclass(frozen=True)
class Case:
    """A data set: its name, its folder, and what is known of its data."""

    name: str
    place: Path
    about: dict[str, Any]

    def runs(self, kind: str) -> dict[int, list[Run]]:
        """The runs of a kind by seed, those left out that are not finished or have diverged."""
        found: dict[int, list[Run]] = {}
        for path in sorted((self.place / kind).glob("*/0*/summary.json")):
            record = read_record(path.parent)
            if record.status != "finished":
                continue
            found.setdefault(int(path.parent.parent.name), []).append(self._run(record))
        return found

    def _run(self, record: Record) -> Run:
        summary = record.summary or {}
        classes = "test_accuracy" in summary
        batch = load_spec(record.path / "spec.yaml").training.batch_of(self.about["examples"])
        added = [e["step"] for e in record.accepted if e["edit"] in ("add_neurons", "insert_layer")]
        return Run(
            json.dumps(record.spec["network"].get("blocks") if record.buds else summary["hidden"]),
            summary["parameters"],
            100 * summary["test_accuracy"] if classes else summary["test_mse"],
            classes,
            record.metrics[-1].get("validation_loss", math.nan),
            sum(v for k, v in summary["seconds"].items() if k not in NOT_TRAINING),
            batch * (training(record) or math.nan),
            max(added) / summary["steps"] if added else None,
        )

    def cpu(self, kind: str, seeds: Iterable[int]) -> float:
        """CPU-seconds of a kind with these seeds; NaN where one was killed before it told them."""
        paths = [self.place / kind / str(seed) / "cpu.json" for seed in seeds]
        if not all(path.exists() for path in paths):
            return math.nan
        return math.fsum(json.loads(path.read_text(encoding="utf-8")) for path in paths)


def behind(one: Run, other: float) -> float:
    """How much worse a run is: points of accuracy, or percent of the other's squared error."""
    return other - one.test if one.classes else 100 * (one.test - other) / other


def front(runs: Sequence[Run], parameters: int) -> float:
    """The test score of static networks at a number of parameters, along their logarithm.

    It is interpolated between sizes of equal depth, and the best depth counts; beyond the ends of
    all the least depth goes on level.
    """
    depths = sorted({run.shape.count(",") for run in runs})
    found: list[float] = []
    for depth in depths:
        mine = sorted((r.parameters, r.test) for r in runs if r.shape.count(",") == depth)
        if mine[0][0] <= parameters <= mine[-1][0] or depth == depths[0]:
            sizes, scores = zip(*mine, strict=True)
            found.append(float(np.interp(math.log(parameters), np.log(sizes), scores)))
    return max(found) if runs[0].classes else min(found)


@dataclass(frozen=True)
class Rows:
    """What both tables have of a data set.

    Attributes:
      scores, costs: its rows.
      classes: whether its scores are accuracies.
      regret: in the mean over the seeds.
      cost: CPU-seconds over those of the sweep.
    """

    scores: str
    costs: str
    classes: bool
    regret: float
    cost: float


def rows(case: Case) -> Rows | None:
    """The rows of a data set in both tables; None where seeds lack a grown run or the sweep."""
    grown, static = case.runs("grown"), case.runs("static")
    most = max(map(len, static.values()), default=0)
    seeds = [s for s in sorted(grown) if len(static.get(s, ())) == most > 0]
    if not seeds:
        return None
    mine = {seed: grown[seed][0] for seed in seeds}
    random = [run for s, r in case.runs("random").items() for run in r if s in mine]
    shapes = {s: r[0].test for s, r in case.runs("shape").items() if s in mine}
    losses = [statistics.mean(static[s][i].validation for s in seeds) for i in range(most)]
    best = {seed: static[seed][min(range(most), key=losses.__getitem__)] for seed in seeds}
    chosen = best[seeds[0]]
    linear = [one for seed, one in enumerate(case.about["linear"]) if seed in mine]
    regrets = [behind(mine[s], best[s].test) for s in seeds]
    scores = (
        case.name + ("" if chosen.classes else " (mse)"),
        spread([r.test for r in mine.values()]),
        span([r.parameters for r in mine.values()]),
        spread([r.test for r in best.values()]),
        spread([r.test for r in random]),
        spread(regrets),
        spread([behind(mine[s], test) for s, test in shapes.items()]),
        spread([behind(mine[s], front(static[s], mine[s].parameters)) for s in seeds]),
        spread(linear),
    )
    last = [100 * run.last for run in mine.values() if run.last is not None]
    used, swept = (case.cpu(kind, seeds) / len(seeds) for kind in ("grown", "static"))
    own = [sum(r.seconds for r in runs) for runs in ([*mine.values()], _all(static, seeds))]
    done = [sum(r.operations for r in runs) for runs in ([*mine.values()], _all(static, seeds))]
    costs = (
        case.name,
        " / ".join(run.shape for run in mine.values()),
        f"{chosen.shape}, {chosen.parameters:,}",
        f"{statistics.mean(r.parameters for r in mine.values()) / chosen.parameters:.2f}",
        f"{case.about['examples'] * case.about['outputs']:,}",
        f"{max(last):.0f}%" if last else "none",
        f"{used:.0f} / {swept:.0f}",
        f"{used / swept:.2f}",
        f"{own[0] / own[1]:.2f}",
        f"{done[0] / len(seeds):.1e}, {done[0] / done[1]:.2f}",
    )
    first, second = (f"| {' | '.join(cells)} |" for cells in (scores, costs))
    return Rows(first, second, chosen.classes, statistics.mean(regrets), used / swept)


def _all(runs: dict[int, list[Run]], seeds: Iterable[int]) -> list[Run]:
    return [run for seed in seeds for run in runs[seed]]


def spread(values: Sequence[float]) -> str:
    """Mean and standard deviation; empty where there are none."""
    if not values:
        return ""
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.4g} ± {f'{sd:.0f}' if sd >= 10 else f'{sd:.2g}'}"


def span(values: Sequence[int]) -> str:
    """The least and the greatest value."""
    ends = dict.fromkeys((min(values), max(values)))
    return " to ".join(f"{value:,}" for value in ends)


def tables(cases: Iterable[Case]) -> str:
    """Both tables, of the data sets with a grown run and the sweep for a seed at least."""
    found = [made for case in cases if (made := rows(case)) is not None]
    if not found:
        return "No data set has a grown run and its sweep yet."
    lines = [SCORES, *(each.scores for each in found), "", COSTS, *(each.costs for each in found)]
    for classes, words in ((True, " points of accuracy"), (False, "% of the squared error")):
        if mine := [each for each in found if each.classes == classes]:
            regret = statistics.mean(each.regret for each in mine)
            cost = statistics.mean(each.cost for each in mine)
            told = f"{regret:.2f}{words}, at {cost:.2f} of the sweep's CPU-seconds"
            lines += ["", f"Mean regret over {len(mine)} data sets: {told}."]
    return "\n".join(lines)
