"""`senn bench`: what a spec takes on this machine, by a short run of it in a temporary folder."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from senn_cli.cli.place import SeedOption, with_seed
from senn_cli.cli.validate import SetOption
from senn_cli.errors import InterruptedRun
from senn_cli.training.observer import Observer, Observers, Start
from senn_cli.words import in_bytes

if TYPE_CHECKING:
    from senn_cli.spec import Spec

PARTS = {
    "step": ("train",),
    "look": ("track",),
    "round": ("score", "surgery"),
    "evaluation": ("evaluate",),
    "save": ("save",),
}
"""What a run does, and the phases whose seconds that takes."""

Report = dict[str, Any]


def bench(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The spec file.")],
    overrides: SetOption = None,
    seed: SeedOption = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            min=0,
            metavar="S",
            help="Train so long, compilation aside, or to the end of the run.",
        ),
    ] = 20.0,
    compilation: Annotated[
        bool, typer.Option("--compile", help="Show every program that was compiled, too.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print it as one JSON object, the programs included.")
    ] = False,
) -> None:
    """Measure what SPEC takes on this machine: steps, growth rounds, compilation and memory.

    It is trained for a while as `senn train` does it, in a temporary folder and without the outputs
    of `track`. A first bench of a spec compiles, a later one finds most programs in the cache.
    """
    from senn_cli.cli import console
    from senn_cli.cli.live import make_view
    from senn_cli.spec import load_spec

    loaded = load_spec(spec, with_seed(overrides, seed))
    view = make_view(console.stderr())
    view.phase("import")
    try:
        report = measured(loaded, seconds, view)
    except InterruptedRun as error:
        raise InterruptedRun("stopped before it was measured", exit_code=error.exit_code) from error
    finally:
        view.close()
    if as_json:
        print(json.dumps(report, indent=2, ensure_ascii=True))
    else:
        print_report(report, console.stdout(), programs=compilation)


class Watch(Observer):
    """Counts what a run does, and stops it after some seconds of anything but compilation."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds, self.clock = seconds, clock
        self.spent = 0.0
        self.times, self.rounds = dict.fromkeys(PARTS, 0), 0
        self._phase, self._since = "", 0.0

    def start(self, start: Start) -> None:
        """The seconds count from here."""
        self.started, self._since = start, self.clock()
        self.spent = 0.0

    def phase(self, name: str, what: str = "") -> None:
        """Another phase; one that a compilation has only interrupted goes on."""
        self._charge()
        if self._phase != "compile":
            for part, (first, *_) in PARTS.items():
                self.times[part] += name == first
        self._phase = name

    def round(self, events: Any, before: Any, after: Any) -> None:
        """A growth round: the phase alone would count the scores of evaluations, too."""
        self.rounds += 1

    def stops(self) -> bool:
        """Whether the seconds are over."""
        self._charge()
        return self.spent >= self.seconds

    def _charge(self) -> None:
        now = self.clock()
        self.spent += 0.0 if self._phase == "compile" else now - self._since
        self._since = now


def measured(spec: Spec, seconds: float, view: Observer) -> Report:
    """What a short run of `spec` took, ready for JSON.

    Args:
      seconds: to train for, compilation aside.
      view: told of the run.
    """
    from senn_cli.spec.track import TrackSpec
    from senn_cli.training.run import train_run

    watch = Watch(seconds)
    with tempfile.TemporaryDirectory(prefix="senn-bench-") as folder:
        run = train_run(
            spec.model_copy(update={"track": TrackSpec()}),
            run_directory=Path(folder) / "run",
            observers=[Observers([watch, view])],
        )
    start, summary = watch.started, run.summary
    times = watch.times | {"step": summary["steps"], "round": watch.rounds}
    parts = parts_of(summary["seconds"], times)
    batch = spec.training.batch_of(start.train)
    return {
        "name": spec.name,
        "device": start.device,
        "parameters": {"start": start.parameters, "end": run.architecture.parameters},
        "parts": parts,
        "examples_a_second": {
            "steps": _rate(batch * times["step"], parts["step"]["seconds"]),
            "all": _rate(batch * times["step"], sum(part["seconds"] for part in parts.values())),
        },
        "seconds": summary["seconds"],
        "programs": summary["programs"],
        "peak_memory": {"process": _peak(), "device": _peak_of_device()},
    }


def parts_of(seconds: Mapping[str, float], times: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """What a run has done, by part: how often, its seconds, ms each and ms a step of the run."""
    found = {}
    for part, phases in PARTS.items():
        spent, count = sum(seconds[phase] for phase in phases), times[part]
        found[part] = {
            "times": count,
            "seconds": round(spent, 3),
            "ms_each": _ms(spent, count),
            "ms_a_step": _ms(spent, times["step"]),
        }
    return found


def _ms(seconds: float, count: int) -> float | None:
    return round(1000 * seconds / count, 3) if count else None


def _rate(examples: int, seconds: float) -> float | None:
    return round(examples / seconds, 1) if seconds else None


def _peak() -> int | None:
    """The most memory that this process has taken, in bytes; None where the system doesn't tell."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _peak_of_device() -> int | None:
    """The same of the first device, where it has memory of its own."""
    import jax

    told = jax.local_devices()[0].memory_stats() or {}
    return told.get("peak_bytes_in_use")


def print_report(report: Report, to: Console, *, programs: bool) -> None:
    """Prints a report as tables; nothing is styled without a terminal.

    Args:
      programs: a row for every program that was compiled, too.
    """
    from senn_cli.cli.console import table
    from senn_cli.report.words import printable

    parameters, rates = report["parameters"], report["examples_a_second"]
    to.print(printable(f"{report['name']} on {report['device']}", to.encoding), soft_wrap=True)
    to.print(f"parameters: {parameters['start']:,}, at the end {parameters['end']:,}")
    rows = [
        (part, told["times"], told["seconds"], _shown(told["ms_each"]), _shown(told["ms_a_step"]))
        for part, told in report["parts"].items()
        if told["times"]
    ]
    to.print(table(("part", "times", "seconds", "ms each", "ms a step"), rows))
    to.print(f"examples a second: {_shown(rates['steps'])} in steps, {_shown(rates['all'])} in all")
    made = report["programs"]
    count, cached = (sum(one[key] for one in made.values()) for key in ("times", "cached"))
    spent = report["seconds"]["compile"]
    to.print(f"compilation: {spent:.1f} s, {count} programs, {cached} of them from the cache")
    peak = {name: most for name, most in report["peak_memory"].items() if most}
    to.print(
        "peak memory: " + ", ".join(f"{in_bytes(most)} ({name})" for name, most in peak.items())
    )
    if programs:
        slowest = sorted(made.items(), key=lambda item: -item[1]["seconds"])
        lines = [
            (name, one["times"], one["seconds"], one["effort"], one["cached"])
            for name, one in slowest
        ]
        to.print(table(("program", "compiled", "seconds", "XLA's effort", "from the cache"), lines))


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
