"""Runs against each other: seeds of one setting together, figures with their spread over them.

Runs have one setting if their specs differ in `seed` and `name` alone, or if a sweep has made them
for one: controls of different seeds differ in shape. A spec that lacks an option,
as another version of senn resolved it, counts as if it had the default that the option has now.
What specs have is compared as it is: a default that has changed is a difference. Figures are those
of the runs that have finished; curves are those of all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from senn_cli.errors import UsageError
from senn_cli.report.curves import axis_of, curve, main_curve, places
from senn_cli.report.options import flattened, present_defaults
from senn_cli.report.record import Record
from senn_cli.runs.sweeps import place_in_sweep

FORMAT = 1
"""Version of the JSON document; a change of what a key means would raise it."""

SEEDS = ("seed", "name")
"""Options that make no other setting."""

Figure = Literal["accuracy", "mse"]


@dataclass(frozen=True)
class Setting:
    """Runs whose specs differ in the seed and the name alone, or that are one setting of a sweep.

    Attributes:
      label: a letter.
      options: what their specs share without those two, by dotted names.
      records: its runs, by their seeds.
      reference: the label of the setting that it is compared with in pairs; None for the first.
    """

    label: str
    options: dict[str, Any]
    records: tuple[Record, ...]
    reference: str | None = None

    @property
    def finished(self) -> tuple[Record, ...]:
        """The runs whose figures count."""
        return tuple(record for record in self.records if record.status == "finished")

    @property
    def seeds(self) -> tuple[Any, ...]:
        """The seed of every run."""
        return tuple(record.spec.get("seed") for record in self.records)

    @property
    def repeated(self) -> tuple[Any, ...]:
        """Seeds that several finished runs share, which are no independent samples."""
        seeds = [record.spec.get("seed") for record in self.finished]
        return tuple(dict.fromkeys(seed for seed in seeds if seeds.count(seed) > 1))


@dataclass(frozen=True)
class Statistics:
    """Values in short.

    Attributes:
      n: how many there are.
      mean, low, high: None without values.
      deviation: the sample standard deviation (divided by n - 1); None for fewer than two values.
    """

    n: int
    mean: float | None
    deviation: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, values: Iterable[float]) -> Statistics:
        """The statistics of finite values."""
        import statistics

        known = [float(value) for value in values]
        if not known:
            return cls(0, None, None, None, None)
        # Exact sums: equal values have no deviation, not one of rounding.
        deviation = statistics.stdev(known) if len(known) > 1 else None
        return cls(len(known), statistics.mean(known), deviation, min(known), max(known))

    def to_json(self) -> dict[str, float | None]:
        """As the JSON document has it."""
        spread = {"sd": self.deviation, "min": self.low, "max": self.high}
        return {"n": self.n, "mean": self.mean} | spread


def settings(records: Iterable[Record]) -> tuple[Setting, ...]:
    """Groups runs by their settings, in the order of their first runs."""
    groups: dict[str, tuple[dict[str, Any], list[Record]]] = {}
    origins: dict[str, str | None] = {}
    every = list(records)
    for record, options in zip(every, _options(every), strict=True):
        place = place_in_sweep(record.path)
        folder = str(record.path.parent)
        key = _text(options) if place is None else _text([folder, place.setting])
        origins[key] = _text([folder, place.of]) if place is not None and place.of else None
        known, found = groups.setdefault(key, (options, []))
        found.append(record)
        for option in [o for o in known if _text(known[o]) != _text(options.get(o))]:
            del known[option]  # of a sweep's setting what its runs share
    labels = {key: _letters(index) for index, key in enumerate(groups)}
    first = next(iter(labels.values()), None)
    return tuple(
        Setting(
            labels[key],
            options,
            tuple(sorted(found, key=_by_seed)),
            None if labels[key] == first else labels.get(origins[key] or "", first),
        )
        for key, (options, found) in groups.items()
    )


def _options(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The options of every run but seeds, without those that some lack and others leave as is."""
    found = [
        {k: v for k, v in flattened(record.spec).items() if k not in SEEDS} for record in records
    ]
    shared = set(found[0]).intersection(*found[1:]) if found else set()
    for record, options in zip(records, found, strict=True):
        own = set(options) - shared
        if own:
            usual = present_defaults(record.spec)
            for name in own & set(usual):
                if _text(options[name]) == _text(usual[name]):
                    del options[name]
    return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def differences(found: Sequence[Setting]) -> dict[str, dict[str, Any]]:
    """The options that are not the same in all settings: by label, the value in those with it."""
    names = dict.fromkeys(name for setting in found for name in setting.options)
    differing = {}
    for name in names:
        values = {s.label: s.options[name] for s in found if name in s.options}
        texts = {_text(value) for value in values.values()}
        if len(texts) > 1 or len(values) < len(found):
            differing[name] = values
    return differing


def figure_of(records: Sequence[Record]) -> Figure | None:
    """What the runs measure beside the loss; None where no file tells.

    Raises:
      UsageError: some measure accuracy and others squared errors.
    """
    told: dict[Figure, Record] = {}
    for record in records:
        figure = _measured(record)
        if figure is not None:
            told.setdefault(figure, record)
    if len(told) > 1:
        raise UsageError(
            f"{told['accuracy'].path} is a classification (accuracy) and {told['mse'].path} a "
            "regression (mse); no figure compares them",
            hint="Compare runs of the one and of the other apart.",
        )
    return next(iter(told), None)


def figures(records: Sequence[Record]) -> tuple[str, ...]:
    """The figures that `value` knows and one of the runs has, in their order."""
    figure = figure_of(records)
    measured = (f"test_{figure}", "test_loss", f"validation_{figure}", "train_loss")
    sizes = ("hidden_neurons", "parameters", "events", "steps", "seconds_total", "seconds_compile")
    return tuple(k for k in (*measured, *sizes) if any(value(r, k) is not None for r in records))


def value(record: Record, key: str) -> float | None:
    """A figure of a finished run, None where it has none or it is not finite.

    Of `validation_...` and `train_loss` it is that of the last row of metrics, otherwise that of
    the summary; `hidden_neurons` counts those of all hidden layers.
    """
    summary, last = record.summary or {}, record.metrics[-1] if record.metrics else {}
    found: Any
    if key == "hidden_neurons":
        hidden = summary.get("hidden")
        found = None if hidden is None else sum(hidden)
    elif key.startswith("seconds_"):
        found = (summary.get("seconds") or {}).get(key.removeprefix("seconds_"))
    elif key.startswith("validation_") or key == "train_loss":
        found = last.get(key)
    else:
        found = summary.get(key)
    return float(found) if found is not None and math.isfinite(found) else None


def summarised(setting: Setting, key: str) -> Statistics:
    """A figure over the finished runs of a setting."""
    values = (value(record, key) for record in setting.finished)
    return Statistics.of(one for one in values if one is not None)


@dataclass(frozen=True)
class Paired:
    """Differences of a figure between two settings, run by run of the same seed.

    Attributes:
      reference: the label of what is subtracted.
      n: pairs.
      mean: of the differences; None without pairs.
      low, high: the ends of its confidence interval by Student's t; None for fewer than two pairs.
    """

    reference: str
    n: int
    mean: float | None
    low: float | None
    high: float | None


CONFIDENCE = 0.95
"""Of the intervals of paired differences."""


def paired(setting: Setting, reference: Setting, key: str) -> Paired:
    """How much a figure is above another setting's, over the seeds that both have once.

    Pairs share what chance their seeds decide, such as the split, so that less of it is in their
    differences than in the settings' own spread.
    """
    ours, theirs = (_by_seeds(each, key) for each in (setting, reference))
    gaps = [value - theirs[seed] for seed, value in ours.items() if seed in theirs]
    found = Statistics.of(gaps)
    if found.mean is None or found.deviation is None:
        return Paired(reference.label, found.n, found.mean, None, None)
    from scipy.special import stdtrit

    quantile = float(stdtrit(found.n - 1, (1 + CONFIDENCE) / 2))
    half = quantile * found.deviation / math.sqrt(found.n)
    return Paired(reference.label, found.n, found.mean, found.mean - half, found.mean + half)


def _by_seeds(setting: Setting, key: str) -> dict[Any, float]:
    known = ((r.spec.get("seed"), value(r, key)) for r in setting.finished)
    return {seed: v for seed, v in known if v is not None and seed not in setting.repeated}


def pairs(found: Sequence[Setting]) -> list[tuple[Setting, Setting]]:
    """The settings that are compared in pairs, each with its reference."""
    by_label = {setting.label: setting for setting in found}
    return [(s, by_label[s.reference]) for s in found if s.reference is not None]


def document(found: Sequence[Setting]) -> dict[str, Any]:
    """What `senn compare --json` prints.

    Keys: `format`; `figure` (`accuracy`, `mse` or null); `settings`, each with `label`, `runs`
    (`path`, `name`, `seed`, `status`, `hidden`, and `figures` by name, null unless finished) and
    `figures`, by name `n`, `mean`, `sd`, `min`, `max`; `differences`, by option the values by
    label, without those that lack the option; `repeated_seeds` by label; `paired`, by label and
    name the attributes of `Paired`; `devices`; and `curves`, null or `figure`, `axis`, `places`,
    and `settings`, by label the attributes of `Curve`.
    """
    records = [record for setting in found for record in setting.records]
    names, figure = figures(records), figure_of(records)
    key, axis, at = main_curve(records, figure), axis_of(records), places(records)
    curves = None
    if key is not None:
        drawn = {s.label: asdict(curve(s.records, key, axis, at)) for s in found}
        curves = {"figure": key, "axis": axis, "places": at, "settings": drawn}
    return {
        "format": FORMAT,
        "figure": figure,
        "settings": [
            {
                "label": setting.label,
                "runs": [_run(record, names) for record in setting.records],
                "figures": {name: summarised(setting, name).to_json() for name in names},
            }
            for setting in found
        ],
        "differences": differences(found),
        "repeated_seeds": {s.label: list(s.repeated) for s in found if s.repeated},
        "paired": {
            one.label: {name: asdict(paired(one, other, name)) for name in names}
            for one, other in pairs(found)
        },
        "devices": devices(records),
        "curves": curves,
    }


def devices(records: Sequence[Record]) -> list[str]:
    """The devices that the runs were made on, each once; seconds of one tell little of another."""
    told = (record.environment.get("device") for record in records)
    return list(dict.fromkeys(str(device) for device in told if device is not None))


def last_hidden(record: Record) -> list[int] | None:
    """Widths of the hidden layers at the end, or as the newest row tells them."""
    rows = sorted((*record.history[-1:], *record.metrics[-1:]), key=lambda row: -row["step"])
    for row in (record.summary or {}, *rows):
        if row.get("hidden") is not None:
            return [int(width) for width in row["hidden"]]
    return None


def _run(record: Record, names: Sequence[str]) -> dict[str, Any]:
    counts = record.status == "finished"
    return {
        "path": str(record.path),
        "name": record.name,
        "seed": record.spec.get("seed"),
        "status": record.status,
        "hidden": last_hidden(record),
        "figures": {name: value(record, name) if counts else None for name in names},
    }


def _measured(record: Record) -> Figure | None:
    keys = {key for row in (*record.metrics, record.summary or {}) for key in row}
    known: tuple[Figure, ...] = ("accuracy", "mse")
    return next((f for f in known if {f"test_{f}", f"validation_{f}"} & keys), None)


def _by_seed(record: Record) -> tuple[float, str]:
    seed = record.spec.get("seed")
    number = float(seed) if isinstance(seed, int | float) else math.inf
    return (number, str(record.path))


def _letters(index: int) -> str:
    """A, ..., Z, AA, AB, ..."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("A") + rest) + text
    return text
