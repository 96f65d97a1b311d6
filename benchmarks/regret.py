"""What does one grown run lose beside the best of a sweep of static sizes, and what does it save?

    python benchmarks/regret.py --dir runs/regret                       # what suits a small machine
    python benchmarks/regret.py --dir runs/regret --data iris mnist-1 --seeds 5
    python benchmarks/regret.py --dir runs/regret --again grown         # anew, of a later senn

For every data set and seed, on the same split, with the same optimizer and epochs:

  grown   a spec of three lines, data, network and seed: all else by default (a DenseNet: its spec)
  random  the same with `expansion.policy: random`, ended by itself (a DenseNet has no such control)
  shape   a static network of the shape that the grown one ended with
  static  a sweep of eight sizes or more

Each is a sweep in `DIR/DATA/KIND/SEED`, its members ordinary runs. A second call does what is
missing, and `--table` prints what is there. Members are trained one after another in this process,
where they share compiled programs, or with `--jobs N` as processes. The best static size has the
lowest validation loss in the mean over the seeds; test scores are told and choose nothing. Where
data are neither at hand nor to be had, a line says so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _regret import Case, tables
from tables import TABLES, scikit_learn, write

import senn_cli
from senn_cli.data.registry import load
from senn_cli.errors import DivergedError, InterruptedRun, SennError
from senn_cli.nets.registry import kind_of
from senn_cli.report.record import read_record
from senn_cli.sweep.begin import planned, run_here
from senn_cli.sweep.folder import opened
from senn_cli.sweep.read import read_sweep

KINDS = ("grown", "random", "shape", "static")
SMALL = ((), (4,), (8,), (16,), (32,), (64,), (8, 8), (16, 16))
LARGE = ((8,), (16,), (32,), (64,), (128,), (256,), (32, 32), (64, 64))
BLOCKS = tuple(((n,) * d,) * 3 for n, d in itertools.product((4, 8, 12, 16), (1, 2)))
SHIPPED = Path(__file__).resolve().parent.parent / "specs" / "cifar10-small.yaml"


@dataclass(frozen=True)
class Source:
    """Data, as a spec has them.

    Attributes:
      data: the section; empty for a table, and where a shipped spec is taken.
      sizes: of the static networks.
      also: options of all kinds of runs, as `senn sweep --set` takes them.
      network: these with one of them, as JSON.
    """

    data: str
    sizes: Sequence[Sequence[Any]]
    also: Sequence[str] = ()
    network: str = '{"kind": "mlp", "hidden": %s}'


SOURCES: Mapping[str, Source] = {
    **{name: Source("", SMALL) for name in (*TABLES, "housing")},
    "moons": Source("{source: moons, noise: 0.3}", SMALL),
    "digits": Source("digits", LARGE),
    "mnist-1": Source("{source: mnist, subset: 1%}", LARGE),
    "mnist-10": Source("{source: mnist, subset: 10%}", LARGE),
    "cifar10-gray": Source("{source: cifar10, channels: 1, size: 16, subset: 10000}", LARGE),
    "mnist-100": Source("mnist", LARGE, ["training={epochs: 10, batch_size: 1024}"]),
    "fashion-mnist": Source("fashion_mnist", LARGE),
    "cifar10-small": Source("", BLOCKS, (), '{"kind": "densenet", "blocks": %s}'),
}
DEFAULT = tuple(SOURCES)[:9]


def housing(path: Path, rows: int = 2000) -> None:
    """Writes a table like that of California's house prices, which would have to be downloaded.

    Eight columns of the like names and ranges; the price rises with income, falls with the distance
    from two coastal towns and with crowding, saturates at 5 as the original does, and has noise.
    """
    draw = np.random.default_rng(0)
    income = draw.lognormal(1.2, 0.45, rows)
    age, rooms = draw.uniform(1, 52, rows), draw.lognormal(1.6, 0.25, rows)
    bedrooms, people = rooms * draw.normal(0.2, 0.03, rows), draw.lognormal(7, 0.7, rows)
    crowd = draw.lognormal(1.0, 0.3, rows)
    north, east = draw.uniform(32, 42, rows), draw.uniform(-124, -114, rows)
    near = sum(np.exp(-((north - a) ** 2) - (east - b) ** 2) for a, b in ((34, -118), (37.7, -122)))
    price = (
        0.45 * income + 1.5 * near + 0.005 * age - 0.4 * np.log(crowd) + draw.normal(0, 0.3, rows)
    )
    names = "income,age,rooms,bedrooms,people,crowd,north,east,price"
    columns = (income, age, rooms, bedrooms, people, crowd, north, east, np.clip(price, 0.15, 5))
    np.savetxt(path, np.stack(columns, 1), "%.5g", ",", header=names, comments="")


def spec_of(name: str, place: Path) -> Path:
    """The spec that a data set's grown runs have but for the seed, written unless it is there."""
    if name == "cifar10-small":
        return SHIPPED
    path = place / f"{name}.yaml"
    if not path.exists():
        place.mkdir(parents=True, exist_ok=True)
        data = SOURCES[name].data
        if name == "housing":
            housing(place / "housing.csv")
            data = "{source: csv, path: housing.csv, target: price, task: regression}"
        elif name in TABLES:
            target, task = write(name, place)
            data = f"{{source: csv, path: {name}.csv, target: {target}, task: {task}}}"
        path.write_text(f"data: {data}\nnetwork: mlp\nseed: 0\n", encoding="utf-8")
    return path


def known(name: str, place: Path, spec: Path, seeds: int) -> dict[str, Any]:
    """What is known of the data before training: sizes, and what a linear model of standardised
    columns reaches on the splits.

    Raises:
      SennError: they cannot be had.
    """
    path = place / "data.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not found:
        data = load(senn_cli.load_spec(spec))
        outputs = len(data.classes) or data.train.y.shape[1]
        found = {"examples": len(data.train), "outputs": outputs, "linear": []}
    for seed in range(len(found["linear"]), seeds if name in TABLES else 0):
        own = place / "linear.yaml"
        text = spec.read_text(encoding="utf-8").replace("seed: 0", f"seed: {seed}")
        own.write_text(text, encoding="utf-8")
        found["linear"].append(scikit_learn(own, seed)["linear, std"])
    place.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found), encoding="utf-8")
    return dict(found)


def overrides(kind: str, name: str, place: Path, seed: int) -> list[str]:
    """What a kind of run changes in the spec, as `senn sweep --set` takes it."""
    source = SOURCES[name]
    if kind == "random":
        return [*source.also, "expansion.policy=random"]
    if kind == "static":
        networks = [source.network % json.dumps(size) for size in source.sizes]
    elif kind == "shape":
        architecture = read_record(next((place / "grown" / str(seed)).glob("0*"))).architecture
        assert architecture is not None
        made = kind_of(architecture)
        networks = [json.dumps({"kind": made.name, **made.section(architecture)})]
    else:
        return [*source.also]
    return [*source.also, "expansion={policy: none}", f"network={','.join(networks)}"]


def train(kind: str, name: str, place: Path, spec: Path, seed: int, jobs: int) -> None:
    """Trains what is missing of a kind with one seed, and adds up the CPU-seconds."""
    folder = place / kind / str(seed)
    spent = folder / "cpu.json"
    before = json.loads(spent.read_text(encoding="utf-8")) if spent.exists() else 0.0
    sweep = read_sweep(spec, overrides(kind, name, place, seed), f"[{seed}]")
    start = _cpu()
    try:
        if jobs:
            run_here(sweep, folder, jobs, _say)
            return
        held, members = opened(folder, sweep.described.model_dump(mode="json"), planned(sweep))
        for member in members:
            run = held.run(member)
            if held.standing(member) != "unfinished":
                continue
            try:
                if (run / "spec.yaml").is_file():
                    senn_cli.resume(run)
                else:
                    senn_cli.train(held.spec(member), run_directory=run)
            except DivergedError:
                pass  # which its summary says
            _say(f"{name}, {kind}, {member.name}: {_cpu() - start:.0f} CPU-seconds since the start")
    finally:
        if folder.exists() and (used := _cpu() - start) > 0.5:
            spent.write_text(json.dumps(round(before + used, 2)), encoding="utf-8")


def _cpu() -> float:
    """CPU-seconds of this process and of those that it has waited for."""
    found = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in found)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def set_aside(path: Path) -> None:
    """Renames a folder to the first free name beside it."""
    if path.exists():
        free = (path.with_name(f"{path.name}-{n}") for n in itertools.count(1))
        path.rename(next(each for each in free if not each.exists()))


def main() -> None:
    """Trains what is missing, and prints the table of what is there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dir", type=Path, default=Path("runs/regret"))
    parser.add_argument("--data", nargs="+", choices=SOURCES, default=DEFAULT, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--again", nargs="+", choices=KINDS, default=(), help="train these anew")
    parser.add_argument("--jobs", type=int, default=0, help="processes; 0 to train in this one")
    parser.add_argument("--table", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    cases = []
    for name in arguments.data:
        place = arguments.dir.absolute() / name
        again = set(arguments.again) | ({"shape"} if "grown" in arguments.again else set())
        for kind in again:
            set_aside(place / kind)
        try:
            spec = spec_of(name, place)
            about = known(name, place, spec, arguments.seeds)
            for seed, kind in itertools.product(range(arguments.seeds), KINDS):
                no_control = kind == "random" and name == "cifar10-small"
                if kind in arguments.kinds and not arguments.table and not no_control:
                    train(kind, name, place, spec, seed, arguments.jobs)
        except InterruptedRun as error:
            sys.exit(error.exit_code)  # the same command goes on
        except SennError as error:
            print(f"{name}: {error}\n")
            continue
        cases.append(Case(name, place, about))
    print(tables(cases))


if __name__ == "__main__":
    main()
