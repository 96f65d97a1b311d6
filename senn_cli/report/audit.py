"""The score audit: did the predicted gains come true?

A growth round predicts a gain in loss of Delta eta / 2 for each edit that it accepts (equation 2:
eta / 2 is the loss that the quadratic model can still gain). What was really gained in the interval
that follows is the difference between the losses on the deciding samples of this round and of the
next; rounds by tracked scores, which have none, measure the loss of one sample of training examples
where they change the network. Edits of one round share their interval, so their predictions are
added up.

The network would have learned without the edit, too: `before` is what the interval before the round
gained, the honest control beside `realised`. Where a run has forks (`record.audit`), `own` is what
the round's edits gained by themselves: the loss of a copy that trained on without them less that of
one that trained on with them, from the same moment on the same batches. `exact` is what the edits
gain by the quadratic model with the whole Fisher matrix of the deciding sample in place of the
factors: between prediction and own effect it tells what is the fault of the factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from senn_cli.report.record import Record

UNMEASURED = (
    "Growth rounds of a former version did not measure the loss where the network was a DenseNet."
)
"""Why a run may have no rounds whose gain is known."""


@dataclass(frozen=True)
class AuditedRound:
    """The accepted edits of one growth round.

    Attributes:
      step: when.
      edits: how many were accepted.
      predicted: the sum of Delta eta / 2, in units of the loss.
      until: the step at which the loss was measured again, None where the run ended before.
      realised: the loss gained between the two; None where it was not measured again.
      before: the loss gained in the interval before the round, None for the first round.
      own: what the edits gained by themselves; None without forks, or where one diverged.
      forked: steps of the forks.
      exact: the gain by the whole Fisher matrix; None where it was too large.
    """

    step: int
    edits: int
    predicted: float
    until: int | None
    realised: float | None
    before: float | None
    own: float | None = None
    forked: int | None = None
    exact: float | None = None


@dataclass(frozen=True)
class Own:
    """What edits gained by themselves, over the rounds whose forks tell it.

    Attributes:
      count: of those rounds; positive: of those among them in which the edits lowered the loss.
      steps: of the forks, the most of any round.
      spearman: the correlation of ranks of predicted gains with own effects.
      ratio: the median of own effect over predicted gain.
      control: the correlation of ranks of own effects with what the interval before gained.
      exact: that with the gains by the whole Fisher matrix; factors: that of these with the
        predicted ones; None where they are not known.
    """

    count: int
    positive: int
    steps: int
    spearman: float | None
    ratio: float | None
    control: float | None = None
    exact: float | None = None
    factors: float | None = None


@dataclass(frozen=True)
class AtOnce:
    """Prunings of a run, or additions, whose change of the loss is predicted and measured at once.

    Attributes:
      count: those of which both are known.
      predicted: the sum of the changes that were predicted; above 0 where the loss rises.
      realised: the sum of those that were measured.
      agreeing: how many of them changed the loss in the direction that was predicted.
    """

    count: int
    predicted: float
    realised: float
    agreeing: int


@dataclass(frozen=True)
class Audit:
    """All rounds that accepted something, and how predictions and gains go together.

    Attributes:
      rounds: in order.
      pearson: their linear correlation; None for fewer than three rounds, or without spread.
      spearman: the correlation of their ranks.
      ratio: median of realised over predicted; None where there is none.
      control: the correlation of the ranks of what was realised with those of what the interval
        before gained; a score that deserves trust tells more than that.
      unmeasured: rounds that accepted something, but did not measure the loss.
      prunings: what was predicted of them, and what they did; None without any.
      additions: likewise of those that change the function.
      own: what the edits gained by themselves; None where no fork tells it.
    """

    rounds: tuple[AuditedRound, ...]
    pearson: float | None
    spearman: float | None
    ratio: float | None
    control: float | None
    unmeasured: int = 0
    prunings: AtOnce | None = None
    additions: AtOnce | None = None
    own: Own | None = None


def audit(record: Record) -> Audit:
    """Compares every round's predicted gain with the loss gained until the next measurement."""
    rounds = [list(g) for _, g in groupby(record.history, key=lambda event: event.get("step"))]
    losses = [(int(events[0]["step"]), _loss(events)) for events in rounds]
    found: list[AuditedRound] = []
    earlier: float | None = None
    unmeasured = 0
    pending = _next_measured(losses)
    for index, events in enumerate(rounds):
        told = [e.get("predicted_gain") for e in events if e.get("accepted")]
        gains = [gain for gain in told if gain is not None]
        step, loss = losses[index]
        if loss is None:
            unmeasured += bool(gains)
            continue
        before, earlier = earlier, loss
        if not gains:
            continue
        later = pending[index] or _in_metrics(record, step)
        own, forked, exact = _forked(events)
        found.append(
            AuditedRound(
                step=step,
                edits=len(gains),
                predicted=float(sum(gains)),
                until=None if later is None else later[0],
                realised=None if later is None else loss - later[1],
                before=None if before is None else before - loss,
                own=own,
                forked=forked,
                exact=exact,
            )
        )
    pairs = [(r.predicted, r.realised) for r in found if r.realised is not None]
    predicted, realised = [p for p, _ in pairs], [r for _, r in pairs]
    ratios = sorted(r / p for p, r in pairs if p > 0)
    both = [
        (r.before, r.realised) for r in found if r.before is not None and r.realised is not None
    ]
    return Audit(
        rounds=tuple(found),
        pearson=correlation(predicted, realised),
        spearman=correlation(ranks(predicted), ranks(realised)),
        ratio=_median(ratios),
        control=correlation(ranks([b for b, _ in both]), ranks([r for _, r in both])),
        unmeasured=unmeasured,
        prunings=_at_once(record, prunings=True),
        additions=_at_once(record, prunings=False),
        own=_own(found),
    )


def correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than three pairs, or where one does not vary.

    What differs by no more than the rounding of its values does not vary.
    """
    if len(x) < 3 or any(max(v) - min(v) <= 1e-12 * max(map(abs, v)) for v in (x, y)):
        return None
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    dx, dy = [v - mean_x for v in x], [v - mean_y for v in y]
    size = math.sqrt(math.fsum(v * v for v in dx) * math.fsum(v * v for v in dy))
    if size == 0 or not math.isfinite(size):
        return None
    return math.fsum(a * b for a, b in zip(dx, dy, strict=True)) / size


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of every value from 1 on; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    result = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for position in range(start, end + 1):
            result[order[position]] = (start + end) / 2 + 1
        start = end + 1
    return result


def _forked(events: Sequence[dict[str, Any]]) -> tuple[float | None, int | None, float | None]:
    """What a round's edits gained by themselves, steps of forks, and the gain by the whole F."""
    fork: dict[str, Any] = next((e["fork"] for e in events if e.get("fork")), {})
    steps = fork.get("steps")
    known = "with" in fork and "without" in fork
    own = float(fork["without"]) - float(fork["with"]) if known else None
    return own, None if steps is None else int(steps), fork.get("exact")


def _own(rounds: Sequence[AuditedRound]) -> Own | None:
    pairs = [(r.predicted, r.own) for r in rounds if r.own is not None]
    if not pairs:
        return None
    predicted, own = [p for p, _ in pairs], [o for _, o in pairs]
    both = [(r.before, r.own) for r in rounds if r.before is not None and r.own is not None]
    exact = [
        (r.exact, r.own, r.predicted) for r in rounds if r.exact is not None and r.own is not None
    ]
    return Own(
        count=len(pairs),
        positive=sum(o > 0 for o in own),
        steps=max(r.forked or 0 for r in rounds),
        spearman=correlation(ranks(predicted), ranks(own)),
        ratio=_median(sorted(o / p for p, o in pairs if p > 0)),
        control=correlation(ranks([b for b, _ in both]), ranks([o for _, o in both])),
        exact=correlation(ranks([e for e, _, _ in exact]), ranks([o for _, o, _ in exact])),
        factors=correlation(ranks([e for e, _, _ in exact]), ranks([p for _, _, p in exact])),
    )


def _at_once(record: Record, *, prunings: bool) -> AtOnce | None:
    events = [e for e in record.accepted if (e.get("edit") == "prune_neurons") == prunings]
    told = [(e.get("predicted_change"), e.get("realised_change")) for e in events]
    known = [(float(p), float(r)) for p, r in told if p is not None and r is not None]
    if not known:
        return None
    return AtOnce(
        count=len(known),
        predicted=math.fsum(p for p, _ in known),
        realised=math.fsum(r for _, r in known),
        agreeing=sum((p > 0) == (r > 0) for p, r in known),
    )


def _loss(events: Sequence[dict[str, Any]]) -> float | None:
    """The mean loss before the round changed anything, on the deciding sample if there was one."""
    told = (e.get(key) for key in ("train_loss", "loss_before") for e in events)
    return next((loss for loss in told if loss is not None), None)


def _next_measured(
    losses: Sequence[tuple[int, float | None]],
) -> list[tuple[int, float] | None]:
    """For every round, the next one's step and loss that were measured."""
    result: list[tuple[int, float] | None] = []
    following: tuple[int, float] | None = None
    for step, loss in reversed(losses):
        result.append(following)
        following = following if loss is None else (step, loss)
    return result[::-1]


def _in_metrics(record: Record, step: int) -> tuple[int, float] | None:
    """The next row's training loss, a mean over its steps, where no later round measured one."""
    rows = (r for r in record.metrics if r["step"] > step and r.get("train_loss") is not None)
    row = next(rows, None)
    return None if row is None else (int(row["step"]), float(row["train_loss"]))


def _median(values: Sequence[float]) -> float | None:
    if not values:
        return None
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
