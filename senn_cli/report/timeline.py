"""The history of a run as a timeline: what each decision did, promised, and really gained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from senn_cli.report.audit import Audit
from senn_cli.report.record import Record

KEYS = (
    "step",
    "epoch",
    "edit",
    "accepted",
    "reason",
    "site",
    "neurons",
    "delta_eta",
    "delta_eta_lower",
    "bias",
    "eta",
    "score",
    "ratio",
    "threshold",
    "stop",
    "bound",
    "predicted_gain",
    "predicted_change",
    "realised_change",
    "train_loss",
    "loss_before",
    "loss_after",
    "fork",
    "newborn",
    "hidden",
    "capacities",
    "parameters",
    "seconds",
)
"""What the JSON form of an event has of its line in `history.jsonl`, null where that has none."""


@dataclass(frozen=True)
class Entry:
    """A decision, or several like edits of one round at one site.

    Attributes:
      step: when.
      edit: as in `history.jsonl`; None for a rejection.
      site: such as `layer 0`; empty where the decision names none.
      neurons: added, pruned, or those of the new layer.
      capacity: the new one, where the edit enlarged it.
      ratios: Delta eta / eta_c of every edit (for a layer divided by its cost), where known.
      threshold: tau, None where it is not known.
      predicted: the sum of Delta eta / 2, None where there is none; of prunings the loss that
        they should gain, mostly below 0.
      realised: what the round gained until the loss was measured again, on its last edit alone; of
        prunings what they gained at once.
      until: the step of that measurement.
      hidden: widths afterwards.
      parameters: afterwards; None where the line does not tell.
      reason: in words.
      event: the line of the history, the last one for several.
      unit: what `neurons` counts: neurons or channels.
      losses: of the deciding sample before and after an addition that changes the function at once;
        None of others.
      own: what the round's edits gained by themselves, on its last edit alone; None without forks.
      exact: what they gain by the whole Fisher matrix; likewise.
      starved: the gradients of the new units by those of incumbents; inactive: the share of the new
        units that do nothing; both at the end of the fork, None without.
    """

    step: int
    edit: str | None
    site: str
    neurons: int
    capacity: int | None
    ratios: tuple[float, ...]
    threshold: float | None
    predicted: float | None
    realised: float | None
    until: int | None
    hidden: tuple[int, ...]
    parameters: int | None
    reason: str
    event: dict[str, Any]
    unit: str = "neuron"
    losses: tuple[float, float] | None = None
    own: float | None = None
    exact: float | None = None
    starved: float | None = None
    inactive: float | None = None

    @property
    def accepted(self) -> bool:
        """Whether it changed the network."""
        return self.edit is not None

    def to_json(self) -> dict[str, Any]:
        """`KEYS` of the event, then `realised_gain` and `realised_until` (null but as above)."""
        known = {key: self.event.get(key) for key in KEYS}
        return known | {
            "site": self.site or None,
            "realised_gain": self.realised,
            "realised_until": self.until,
        }


def timeline(record: Record, audit: Audit, *, rejected: bool = False) -> tuple[Entry, ...]:
    """An entry for every accepted edit of a run, with `rejected` for every decision, in order."""
    gains = {found.step: found for found in audit.rounds}
    last = {event["step"]: index for index, event in enumerate(record.history) if _predicts(event)}
    entries = []
    for index, event in enumerate(record.history):
        if not (rejected or event.get("accepted")):
            continue
        entry = replace(entry_of(event), unit=record.unit)
        if last.get(entry.step) == index and entry.step in gains:
            found = gains[entry.step]
            entry = replace(entry, realised=found.realised, until=found.until, own=found.own)
            entry = replace(entry, exact=found.exact)
        entries.append(entry)
    return tuple(entries)


def entry_of(event: dict[str, Any]) -> Entry:
    """The entry of one line of the history, without what was realised."""
    ratio, edit = event.get("ratio"), event.get("edit")
    return Entry(
        step=int(event["step"]),
        edit=edit if event.get("accepted") else None,
        site=_site(event),
        neurons=1 if edit == "prune_neurons" else int(event.get("neurons") or 0),
        capacity=event.get("capacity"),
        ratios=() if ratio is None else (float(ratio),),
        threshold=event.get("threshold"),
        predicted=event.get("predicted_gain", _negative(event.get("predicted_change"))),
        realised=None if _predicts(event) else _negative(event.get("realised_change")),
        until=None,
        hidden=tuple(event.get("hidden") or ()),
        parameters=event.get("parameters"),
        reason=str(event.get("reason") or ""),
        event=event,
        losses=_losses(event),
        starved=_newborn(event, "gradient_ratio"),
        inactive=_newborn(event, "inactive"),
    )


def merged(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Neighbouring edits of one kind, step and site put together: their neurons and gains added."""
    result: list[Entry] = []
    for entry in entries:
        before = result[-1] if result else None
        alike = ("add_neurons", "prune_neurons")
        if before is not None and entry.edit in alike and _key(before) == _key(entry):
            gains = [p for p in (before.predicted, entry.predicted) if p is not None]
            came = [r for r in (before.realised, entry.realised) if r is not None]
            result[-1] = replace(
                entry,
                neurons=before.neurons + entry.neurons,
                ratios=before.ratios + entry.ratios,
                predicted=sum(gains) if gains else None,
                realised=sum(came) if came else None,
                losses=_joined(before.losses, entry.losses),
                starved=_pooled(before, before.starved, entry, entry.starved),
                inactive=_pooled(before, before.inactive, entry, entry.inactive),
            )
        else:
            result.append(entry)
    return tuple(result)


def threshold_of(entries: Sequence[Entry]) -> float | None:
    """The tau that all entries share; None where they differ or know none."""
    known = {entry.threshold for entry in entries if entry.threshold is not None}
    return known.pop() if len(known) == 1 else None


def _key(entry: Entry) -> tuple[object, ...]:
    return entry.step, entry.edit, entry.site


def _negative(change: float | None) -> float | None:
    """The gain that a change of the loss is."""
    return None if change is None else -change


def _losses(event: dict[str, Any]) -> tuple[float, float] | None:
    """The losses of the deciding sample around an addition that changes the function."""
    before, change = event.get("train_loss"), event.get("predicted_change")
    if event.get("keeps_function", True) or before is None or change is None:
        return None
    return float(before), float(before) + float(change)


def _joined(
    first: tuple[float, float] | None, second: tuple[float, float] | None
) -> tuple[float, float] | None:
    """The losses around two additions, one after the other."""
    return None if first is None or second is None else (first[0], second[1])


def _newborn(event: dict[str, Any], name: str) -> float | None:
    found = (event.get("newborn") or {}).get(name)
    return None if found is None else float(found)


def _pooled(one: Entry, its: float | None, other: Entry, others: float | None) -> float | None:
    """The mean over the units of two entries of what is a mean over those of each."""
    if its is None or others is None:
        return None
    count = one.neurons + other.neurons
    return (one.neurons * its + other.neurons * others) / count


def _predicts(event: dict[str, Any]) -> bool:
    return bool(event.get("accepted")) and event.get("predicted_gain") is not None


def _site(event: dict[str, Any]) -> str:
    if event.get("site") is not None:
        return str(event["site"])
    for key in ("layer", "map"):
        if event.get(key) is not None:
            return f"{key} {event[key]}"
    return ""
