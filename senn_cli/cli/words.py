"""Numbers, names and growth events in the words that all views share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

EDITS = {
    "add_neurons": "added neurons",
    "insert_layer": "inserted a layer",
    "prune_neurons": "pruned neurons",
    "enlarge_capacity": "enlarged the capacity",
}
"""The kinds of edit in `history.jsonl` as a sentence says them."""


def printable(text: str, encoding: str = "utf-8") -> str:
    """`text` in one line that the encoding can show and that cannot steer a terminal.

    Control characters (newlines, escapes) become `?`, letters that `encoding` lacks become their
    backslash escape.
    """
    clean = "".join(letter if letter.isprintable() else "?" for letter in text)
    return clean.encode(encoding, errors="backslashreplace").decode(encoding)


def duration(seconds: float) -> str:
    """Seconds as `0:07`, `12:34` or `1:02:03`; whole seconds, rounded."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def widths(hidden: Sequence[int]) -> str:
    """Widths of the hidden layers as `16-24`, or `none` for a linear model."""
    return "-".join(str(width) for width in hidden) or "none"


def measures(row: Mapping[str, Any]) -> list[str]:
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
        texts.append(f"eta {row['eta']:.3g}")
    return texts


def growth(event: Mapping[str, Any]) -> str:
    """An accepted growth event as one line; what the event does not tell is left out."""
    texts: list[str] = []
    if event.get("step") is not None:
        texts.append(f"step {event['step']}")
    if event.get("epoch") is not None:
        texts.append(f"epoch {event['epoch']:.4g}")
    edit = str(event.get("edit"))
    what = EDITS.get(edit, edit)
    if event.get("site") is not None:
        what += f" at {event['site']}"
    if event.get("hidden") is not None:
        what += f", now {widths(event['hidden'])}"
    texts.append(what)
    before, after = event.get("loss_before"), event.get("loss_after")
    if before is not None and after is not None:
        texts.append(f"loss {before:.4g} to {after:.4g}")
    change, came = event.get("predicted_change"), event.get("realised_change")
    if change is not None and came is not None:
        texts.append(f"change of the loss {came:+.3g}, predicted {change:+.3g}")
    return "grown: " + ", ".join(texts)
