"""Numbers, names and growth events in the words that all views share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from senn_cli.words import hidden_units, plural

if TYPE_CHECKING:
    from senn_cli.training.observer import Start


def printable(text: str, encoding: str = "utf-8") -> str:
    """`text` in one line that the encoding can show and that cannot steer a terminal.

    Control characters (newlines, escapes) become `?`, letters that `encoding` lacks become their
    backslash escape.
    """
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean.encode(encoding, errors="backslashreplace").decode(encoding)


def printable_lines(text: str, encoding: str = "utf-8") -> str:
    """`printable` for every line of a text of several."""
    return "\n".join(printable(line, encoding) for line in text.split("\n"))


def score_sign(encoding: str = "utf-8") -> str:
    """`η`, or `score` where the encoding lacks it: beside a remaining time `eta` is misread."""
    return "η" if printable("η", encoding) == "η" else "score"


def duration(seconds: float) -> str:
    """Seconds as `0:07`, `12:34` or `1:02:03`; whole seconds, rounded."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def widths(hidden: Sequence[int]) -> str:
    """Widths of the hidden layers as `16-24`, or `none` for a linear model."""
    return "-".join(str(width) for width in hidden) or "none"


def measures(row: Mapping[str, Any], encoding: str = "utf-8") -> list[str]:
    """What a row of metrics says of the network: loss, validation measure, sizes, score."""
    texts: list[str] = []
    if row.get("train_loss") is not None:
        texts.append(f"loss {row['train_loss']:.4g}")
    if row.get("validation_accuracy") is not None:
        texts.append(f"validation accuracy {row['validation_accuracy']:.2%}")
    elif row.get("validation_mse") is not None:
        texts.append(f"validation mse {row['validation_mse']:.4g}")
    elif row.get("validation_loss") is not None:
        texts.append(f"validation loss {row['validation_loss']:.4g}")
    if row.get("hidden") is not None:
        texts.append(f"hidden {widths(row['hidden'])}")
    if row.get("eta") is not None:
        texts.append(f"{score_sign(encoding)} {row['eta']:.3g}")
    return texts


def opening(start: Start) -> list[str]:
    """The first lines of every view: the device first, then the run, its data and its network."""
    where = f", in {start.run_directory}" if start.run_directory else ""
    network = hidden_units(start.hidden, start.unit)
    return [
        f"device: {start.device}",
        f"run: {start.name}{where}",
        f"examples: {start.train} training, {start.validation} validation, {start.test} test; "
        f"{network}, {plural(start.parameters, 'parameter')}",
    ]


def rounds(events: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The events of a history by growth round; all events of a round have its step."""
    return [list(group) for _, group in groupby(events, key=lambda event: event.get("step"))]


def grown(events: Sequence[Mapping[str, Any]]) -> str | None:
    """What a growth round changed as one line, or None where it changed nothing.

    Such as `grown: step 10, layer 0 +4, now 8, loss 0.7288`. Growing keeps the function, so that
    there is one loss; a pruning changes it, and there are two.

    Args:
      events: of one round; what they do not tell is left out.
    """
    accepted = [event for event in events if event.get("accepted")]
    if not accepted:
        return None
    changes = _changes(accepted)
    pruned = any(change.removed for change in changes.values())
    head = "grown" if any(change.added or change.inserted for change in changes.values()) else None
    head = head or ("pruned" if pruned else "enlarged")
    texts = [] if accepted[0].get("step") is None else [f"step {accepted[0]['step']}"]
    texts += [f"{site} {change.text}" for site, change in changes.items()]
    if accepted[-1].get("hidden") is not None:
        texts.append(f"now {widths(accepted[-1]['hidden'])}")
    before = [e["loss_before"] for e in accepted if e.get("loss_before") is not None]
    after = [e["loss_after"] for e in accepted if e.get("loss_after") is not None]
    if before and after:
        first = f"{before[0]:.4g} to " if pruned else ""
        texts.append(f"loss {first}{after[-1]:.4g}")
    return f"{head}: " + ", ".join(texts)


@dataclass
class _Change:
    """What a round did at one site."""

    added: int = 0
    removed: int = 0
    inserted: int = 0
    room: int = 0
    other: str = ""

    @property
    def counts(self) -> list[str]:
        """What came and went, such as `+4` and `-1`."""
        counts = [f"+layer of {self.inserted}"] if self.inserted else []
        counts += [f"+{self.added}"] if self.added else []
        counts += [f"-{self.removed}"] if self.removed else []
        return counts + ([self.other] if self.other else [])

    @property
    def text(self) -> str:
        """Such as `+4 -1`."""
        return " ".join(self.counts) or f"room for {self.room}"


def _changes(accepted: Sequence[Mapping[str, Any]]) -> dict[str, _Change]:
    """The changes by site, in order; room that was made for new units alone is not told."""
    changes: dict[str, _Change] = {}
    for event in accepted:
        change = changes.setdefault(_site(event), _Change())
        edit, units = event.get("edit"), event.get("neurons")
        if edit == "add_neurons":
            change.added += 1 if units is None else int(units)
        elif edit == "insert_layer":
            change.inserted += 1 if units is None else int(units)
        elif edit == "prune_neurons":
            change.removed += 1
        elif edit == "enlarge_capacity":
            change.room = event.get("capacity") or 0
        else:
            change.other = str(edit)
    return {site: change for site, change in changes.items() if change.counts} or changes


def _site(event: Mapping[str, Any]) -> str:
    """Where an edit was made: `layer 0`, `map 1`, `block 0 layer 2`."""
    if event.get("site") is not None:
        return str(event["site"])
    place = "map" if event.get("map") is not None else "layer"
    return f"{place} {event.get(place, '?')}"


def best_evaluation(summary: Mapping[str, Any]) -> str:
    """The best evaluation of a run that watched for it, and whether the run ends with it."""
    found = summary["best"]
    told = f"{found['metric']} {found['value']:.4g} at step {found['step']:,}"
    restored = summary.get("weights_step") == found["step"]
    return f"{told}, whose weights the run ends with" if restored else told
