"""PAPER.md: what computes each place of the paper exists and says so."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import senn_cli

TEXT = (Path(senn_cli.__file__).parent / "PAPER.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| place"))
]
NAMES = [(row[0], name) for row in ROWS for name in re.findall(r"`([a-z_.]+\.\w+)`", row[-1])]

# The \label of every equation, theorem, lemma and corollary, and of the figures.
LABELS = [
    "eqn:eta_as_loss_second_order_truncation",
    "lemma:positive_eta",
    "lemma:tau_rate_bound",
    "theorem:rate_bound",
    "lemma:block_residual_inverse",
    "corollary:schur_form_eta",
    "lemma:residual_interchange",
    "lemma:schur_complement_succeq",
    "eq:hess_slp_x",
    "eq:ubah_x",
    "eqn:sherman",
    "eqn:rank_one_iroot",
    "fig:addition_diagram",
    "fig:regression",
    "fig:classification",
    "fig:mnist",
    "fig:cifar10",
    "fig:timnet",
]
NUMBERED = [
    *(f"equation {n}" for n in range(1, 21)),
    *(f"ingredient {n}" for n in range(1, 5)),
    *(f"section 3.{n}" for n in range(1, 6)),
    *(f"appendix {letter}" for letter in "BCDE"),
    *(f"figure {n}" for n in range(1, 7)),
    *("Lemma A.1", "Lemma A.2", "Theorem A.3", "Lemma A.4", "Corollary A.5", "Lemma A.6"),
    *("Lemma A.7", "Theorem A.8", "Theorem 1 (3.1)", "Theorem 2 (3.2)"),
]


def found(name: str) -> tuple[Any, Any]:
    """What the dotted name is, and its module."""
    try:
        module = import_module(f"senn_cli.{name}")
        return module, module
    except ModuleNotFoundError:
        within, attribute = name.rsplit(".", 1)
        module = import_module(f"senn_cli.{within}")
        return getattr(module, attribute), module


@pytest.mark.parametrize(("place", "name"), NAMES)
def test_what_computes_a_place_cites_it(place: str, name: str) -> None:
    thing, module = found(name)
    cited = re.sub(r" \(.*\)", "", place)
    # "sections 3.4 and 3.5" cites both.
    text = f"{thing.__doc__} {module.__doc__}"
    assert re.search(rf"\b{re.escape(cited)}(?![0-9])", " ".join(text.split()), re.IGNORECASE), (
        f"{name} does not cite {cited}"
    )


def test_every_place_has_a_row_and_an_answer() -> None:
    places = [row[0] for row in ROWS]
    assert set(NUMBERED) <= set(places)
    labels = re.findall(r"`([a-z]+:\w+)`", TEXT)
    assert sorted(labels) == sorted(LABELS)
    for row in ROWS:
        assert row[-1].startswith("not ") or re.search(r"`[a-z_.]+\.\w+`", row[-1]), row
