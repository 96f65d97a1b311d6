"""The decisions of a run as lines, and whether the score told the truth."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from senn_cli.cli.inspection.columns import Column, lay_out
from senn_cli.cli.inspection.screen import Line, Screen, Style
from senn_cli.report.audit import Audit
from senn_cli.report.record import Record
from senn_cli.report.timeline import Entry, threshold_of
from senn_cli.report.unscored import unscored
from senn_cli.report.verdict import audit_words
from senn_cli.report.words import widths
from senn_cli.words import plural

_LONGEST = 20  # letters that widths may take


def history(
    entries: Sequence[Entry],
    screen: Screen,
    *,
    reasons: bool = False,
    notes: Mapping[int, str] | None = None,
) -> list[Line]:
    """The table of decisions, with `reasons` in words; `notes` stand before rows."""
    tau, glyphs = threshold_of(entries), screen.glyphs
    heading = glyphs.ratio if tau is None else f"{glyphs.ratio}, {glyphs.tau} {tau:g}"
    styles: list[Style] = ["" if entry.accepted else "dim" for entry in entries]
    columns = [
        Column("step", [str(entry.step) for entry in entries], True),
        Column("site", [entry.site for entry in entries], rank=1 if reasons else 0),
        Column("edit", [_edit(entry) for entry in entries]),
        Column(heading, [_ratio(entry, tau, glyphs.gap) for entry in entries], True, 2),
        Column("predicted", [_gain(entry.predicted) for entry in entries], True, 3),
        Column("realised", [_gain(entry.realised) for entry in entries], True, 4),
        *_told_if_any(entries),
        Column("hidden", [_widths(entry.hidden, glyphs.gap) for entry in entries], False, 6),
        Column("parameters", [_count(entry.parameters) for entry in entries], True, 5),
    ]
    if reasons:
        columns.append(Column("reason", [screen.text(e.reason) for e in entries], folds=True))
    return lay_out(columns, screen, styles, notes)


def _told_if_any(entries: Sequence[Entry]) -> list[Column]:
    """What changes of the function and forks tell, where a run has them."""
    columns = [
        Column("at once", [_losses(entry.losses) for entry in entries], True, 3),
        Column("own", [_gain(entry.own) for entry in entries], True, 4),
        Column("exact", [_gain(entry.exact) for entry in entries], True, 5),
        Column("newborn", [_gain(entry.starved) for entry in entries], True, 4),
        Column("inactive", [_gain(entry.inactive) for entry in entries], True, 6),
    ]
    return [column for column in columns if any(column.cells)]


def legend(record: Record, screen: Screen) -> list[Line]:
    """What the columns of `history` mean in this run."""
    ratio, tau = screen.glyphs.ratio, screen.glyphs.tau
    text = _proposals(record, ratio, tau)
    increase = "the sum of those increases" if record.buds else "the increase"
    text += f" Predicted: half {increase}, in units of the loss."
    if not record.buds:
        text += (
            " Realised: loss gained from this round to the next measurement, on the round's last "
            "edit."
        )
    if any(event.get("keeps_function") is False for event in record.accepted):
        text += (
            " At once: the loss of the deciding sample before and after an addition that changes "
            "the function."
        )
    if any(event.get("fork") for event in record.accepted):
        text += (
            " Own: what the round's edits gained by themselves, beside a copy that trained on "
            "without them. At the end of that, newborn: the gradients of the new units by those of "
            "incumbents; inactive: the share of the new units that do nothing."
        )
    if any("exact" in (event.get("fork") or {}) for event in record.accepted):
        text += " Exact: their gain by the whole Fisher matrix of the deciding sample."
    if any(event.get("edit") == "prune_neurons" for event in record.accepted):
        text += (
            f" Of a pruning: {ratio} is what the removal costs, accepted below the bar; predicted "
            "and realised is the loss gained at once, compensation included, so negative where the "
            "loss rises."
        )
    return [(line, "dim") for line in textwrap.wrap(text, min(screen.width, 100))]


def ended(record: Record, screen: Screen) -> list[Line]:
    """Why nothing was scored in the last part of the run, where that is so."""
    text = unscored(record) or ""
    return [(line, "dim") for line in textwrap.wrap(text, min(screen.width, 100))]


def _proposals(record: Record, ratio: str, tau: str) -> str:
    """What was proposed and how its score was compared, in words."""
    if record.proposals == "search":
        return (
            f"{ratio}: increase of the score by the score that the map has, for a layer divided by "
            f"its cost; accepted above {tau}."
        )
    if not record.buds:
        return (
            f"Proposals are dormant: {record.unit}s that are allocated but not in use. {ratio}: "
            f"increase of the score by the score of all maps together; above {tau} a "
            f"{record.unit} is taken into use by chance. Rounds that changed nothing are recorded "
            "once an epoch."
        )
    factor = record.spec.get("expansion", {}).get("dormant", {}).get("bud_factor")
    bar = f"{factor:g} {tau}" if isinstance(factor, int | float) else f"more than {tau}"
    return (
        "Proposals are dormant: channels that are allocated but not in use, and buds, which may "
        f"become layers. {ratio}: increase of the score by the score of all maps together, a mean "
        f"over the channels that were taken into use, or over those of the bud; above {tau} a "
        f"channel is taken into use by chance, above {bar} a bud becomes a layer. Rounds that "
        "changed nothing are recorded once an epoch."
    )


def score_audit(audit: Audit, screen: Screen) -> list[Line]:
    """Whether the predicted gains came true."""
    text = " ".join(["Score audit:", *audit_words(audit)])
    return [(line, "") for line in textwrap.wrap(text, min(screen.width, 100))]


def _edit(entry: Entry) -> str:
    units = plural(entry.neurons, entry.unit)
    match entry.edit:
        case None:
            return "rejected"
        case "add_neurons":
            return f"+{units}"
        case "prune_neurons":
            return f"-{units}"
        case "insert_layer":
            return f"+layer of {entry.neurons}"
        case "enlarge_capacity":
            return f"capacity {entry.capacity}"
        case other:
            return other


def _ratio(entry: Entry, tau: float | None, gap: str) -> str:
    if not entry.ratios:
        return ""
    low, high = min(entry.ratios), max(entry.ratios)
    text = f"{high:.3g}" if low == high else f"{low:.2g}{gap}{high:.2g}"
    if tau is None and entry.threshold is not None:
        text += f" {'>' if low > entry.threshold else '<='} {entry.threshold:g}"
    return text


def _gain(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _losses(values: tuple[float, float] | None) -> str:
    return "" if values is None else " to ".join(map(_gain, values))


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _widths(hidden: Sequence[int], gap: str) -> str:
    text = widths(hidden)
    return text if len(text) <= _LONGEST else f"{sum(hidden)} in {len(hidden)} layers"
