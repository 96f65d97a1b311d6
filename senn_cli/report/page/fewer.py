"""Which of many rows a page carries, so that it stays small: what a picture would show of them.

Rows are looked at in stretches whose length is a power of two, so that a run that goes on keeps
what was chosen before, until all stretches double.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_ROWS = 6_000
MOST_DECISIONS = 20_000
MOST_ROUNDS = 4_000
"""What a page carries in all, of metrics, decisions and rounds that changed the network."""

LEAST = 400
"""What it carries of every run, however many there are."""


def share(most: int, runs: int) -> int:
    """What one of so many runs gets of `most`."""
    return max(LEAST, most // runs)


def extremes(columns: Sequence[Sequence[float | None]], most: int) -> list[int]:
    """Places of at most about `most` rows: of every stretch the least and the greatest values.

    The first and the last row are among them.

    Args:
      columns: of one length, None where a row has no value; the first are the steps, of which
        nothing but the place counts.
    """
    count = len(columns[0]) if columns else 0
    if count <= most:
        return list(range(count))
    kept = {0, count - 1}
    for stretch in _stretches(count, most // (2 * len(columns[1:]) or 1)):
        for column in columns[1:]:
            known = [place for place in stretch if column[place] is not None]
            if known:
                kept.add(min(known, key=lambda place: column[place] or 0.0))
                kept.add(max(known, key=lambda place: column[place] or 0.0))
    return sorted(kept)


def foremost(first: Sequence[bool], scores: Sequence[float | None], most: int) -> list[int]:
    """Places of at most `most` rows: those that come first, then of every stretch the highest.

    Of those that come first, where they alone are too many, the last ones.

    Args:
      first: which rows come first.
      scores: by which of the others one is chosen; None is the lowest.
    """
    if len(first) <= most:
        return list(range(len(first)))
    kept = [place for place, before in enumerate(first) if before][-most:]
    others = [place for place, before in enumerate(first) if not before]
    if len(kept) < most and others:
        for stretch in _stretches(len(others), most - len(kept)):
            those = [others[place] for place in stretch]
            kept.append(max(those, key=lambda place: _rank(scores[place])))
    return sorted(kept)


def _stretches(count: int, most: int) -> list[range]:
    """At most so many neighbouring stretches of places, all but the last of one length."""
    length = 1
    while -(-count // length) > max(1, most):
        length *= 2
    return [range(start, min(start + length, count)) for start in range(0, count, length)]


def _rank(score: float | None) -> float:
    return -float("inf") if score is None else score
