"""How long does it take to look something up, and to look at a long run and at many runs?

    python benchmarks/looking.py RUN

Times `senn --help` and `senn validate`. Copies RUN, any finished run with growth, stretches its
history and its metrics to 10,000 rows and times `senn inspect`, `senn report` and `senn plot` on
it; then makes 200 copies of RUN and times `senn runs` on those. Each figure is the median of five
processes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS, RUNS, TIMES = 10_000, 200, 5


def stretched(path: Path) -> None:
    """Repeats the rows of a file, at later and later steps, until there are `ROWS`."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    last = rows[-1]["step"]
    longer = [
        json.dumps(
            {**rows[i % len(rows)], "step": rows[i % len(rows)]["step"] + i // len(rows) * last}
        )
        for i in range(ROWS)
    ]
    path.write_text("\n".join(longer) + "\n", encoding="utf-8")


def measure(*arguments: str | Path) -> str:
    """The median seconds of a command."""
    seconds = []
    for _ in range(TIMES):
        start = time.perf_counter()
        command = [sys.executable, "-m", "senn_cli", *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - start)
    return f"{statistics.median(seconds):.2f} s   senn {arguments[0]}"


def main() -> None:
    """Prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    run: Path = parser.parse_args().run
    print(measure("--help"))
    print(measure("validate", run / "spec.yaml"))
    with tempfile.TemporaryDirectory() as place:
        long = Path(shutil.copytree(run, Path(place) / "long"))
        # Only rejections repeat without end: widths that grow again and again make no sense.
        history = long / "history.jsonl"
        kept = [
            x
            for x in history.read_text(encoding="utf-8").splitlines()
            if not json.loads(x)["accepted"]
        ]
        history.write_text("\n".join(kept) + "\n", encoding="utf-8")
        stretched(history)
        stretched(long / "metrics.jsonl")
        for arguments in (["inspect"], ["inspect", "--json", "--rejected"], ["report"]):
            print(measure(arguments[0], long, *arguments[1:]), *arguments[1:], f"({ROWS:,} rows)")
        print(measure("plot", "scores", long), f"scores ({ROWS:,} rows)")
        many = Path(place) / "many"
        for index in range(RUNS):
            shutil.copytree(run, many / f"run-{index}", ignore=shutil.ignore_patterns("checkp*"))
        print(measure("runs", many), f"({RUNS} runs)")


if __name__ == "__main__":
    main()
