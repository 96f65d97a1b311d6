"""Which policy grows best? The optimizer tuned alike for each, and the table of what came of it.

    python benchmarks/policies.py tune specs/compare-policies.yaml
    senn sweep specs/compare-policies.yaml              # with what `tune` has found in its list
    python benchmarks/policies.py table runs/compare-policies

`tune` trains every setting of the sweep with every point of one grid, the same for all, on seeds
that the sweep does not report, with a part of the training data held out; no test data decide. It
prints the mean validation loss of each, and each policy's point with the lowest as a line for the
list. It is a sweep itself, which goes on where it was stopped. `table` prints Markdown: means,
standard deviations and 95% intervals of differences of pairs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from senn_cli.report.comparison import Setting, paired, settings, summarised
from senn_cli.report.listing import find_runs
from senn_cli.report.record import read_record

VALIDATION = 0.2
"""The share of the training data that decides."""


def tuned(sweep: Path, grid: Sequence[str], seeds: str, folder: Path) -> tuple[Setting, ...]:
    """Every setting of a sweep with every point of the grid, trained with the seeds."""
    command = [sys.executable, "-m", "senn_cli", "sweep", str(sweep), "--dir", str(folder)]
    command += ["--seeds", seeds]
    for values in (*grid, f"data.validation={VALIDATION}"):
        command += ["--set", values]
    subprocess.run(command, check=True)
    return read(folder)


def read(folder: Path) -> tuple[Setting, ...]:
    """The settings of a sweep's folder."""
    return settings(read_record(run) for run in find_runs(folder))


def policy(setting: Setting) -> str:
    """What grows, in a word or two."""
    name = str(setting.options["expansion.policy"])
    dormant = setting.options.get("expansion.proposals") == "dormant"
    return f"{name}, dormant" if dormant else name


def choose(found: Sequence[Setting], grid: Sequence[str]) -> None:
    """Prints the validation losses of all, and of each policy the point with the lowest."""
    options = [values.partition("=")[0] for values in grid]
    best: dict[str, tuple[float, str]] = {}
    for setting in found:
        name = policy(setting)
        point = ", ".join(f"{option}: {setting.options[option]:g}" for option in options)
        loss, accuracy = (
            summarised(setting, f"validation_{key}").mean for key in ("loss", "accuracy")
        )
        runs = len(setting.finished)
        if loss is None or accuracy is None or runs < len(setting.records):
            print(f"{name}: {point}: not all runs have finished")
            continue
        print(f"{name}: {point}: {loss:.4f}, {accuracy:.2%} of {runs} runs")
        best[name] = min(best.get(name, (loss, point)), (loss, point))
    print("\nthe lowest validation loss of each:")
    for name, (loss, point) in best.items():
        print(f"{name}: {{{point}}}  # {loss:.4f}")


def table(found: Sequence[Setting]) -> None:
    """Prints means with deviations, and differences of pairs from the first setting."""
    first = found[0]
    base, runs = policy(first), len(first.finished)
    print(
        f"| policy | neurons | test accuracy % | less {base}'s | test loss | less {base}'s |\n"
        "|---|---|---|---|---|---|"
    )
    for setting in found:
        cells = [policy(setting), widths(setting)]
        for key, form, scale in (("test_accuracy", ".2f", 100), ("test_loss", ".4f", 1)):
            all_of = summarised(setting, key)
            assert all_of.mean is not None and all_of.deviation is not None
            cells.append(f"{scale * all_of.mean:{form}} ± {scale * all_of.deviation:{form}}")
            gap = paired(setting, first, key)
            low, mean, high = (scale * (x or 0.0) for x in (gap.low, gap.mean, gap.high))
            told = f"{mean:+{form}} ({low:{form}} to {high:{form}})"
            cells.append("" if setting is first else told)
        print("|", " | ".join(cells), "|")
    print(
        f"\n{runs} seeds; in brackets the 95% interval of the mean difference of pairs of one seed"
    )


def widths(setting: Setting) -> str:
    """The hidden neurons at the end, over the runs."""
    counts = sorted({sum((record.summary or {})["hidden"]) for record in setting.finished})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def main() -> None:
    """Tunes, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    tune = verbs.add_parser("tune")
    tune.add_argument("sweep", type=Path)
    tune.add_argument(
        "--grid",
        nargs="+",
        default=["optimizer.learning_rate=0.1,0.3,1.0", "optimizer.kl_clip=0.03,0.3"],
        metavar="OPTION=VALUE,VALUE",
        help="the points, every value with every other",
    )
    tune.add_argument("--seeds", default="10,11")
    tune.add_argument("--dir", type=Path, help="of the runs; by default runs/SWEEP-tuning")
    shown = verbs.add_parser("table")
    shown.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "table":
        table(read(arguments.folder))
        return
    folder = arguments.dir or Path("runs") / f"{arguments.sweep.stem}-tuning"
    found = tuned(arguments.sweep, arguments.grid, arguments.seeds, folder)
    choose(found, arguments.grid)


if __name__ == "__main__":
    main()
