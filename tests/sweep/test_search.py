from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from senn_cli.errors import SpecError, UsageError
from senn_cli.sweep.folder import opened
from senn_cli.sweep.plan import Member
from senn_cli.sweep.search import Searched, sample
from tests.handmade import run_directory
from tests.sweep.sweeps import read

pytest.importorskip("optuna")

TEXT = """\
search:
  optuna: 8
  options: {expansion.threshold: {low: 1e-4, high: 1.0, scale: log}}
"""


def begun(place: Path) -> Searched:
    sweep = read(place, TEXT)
    described = sweep.described.model_dump(mode="json")
    folder, _ = opened(place / "folder", described, ())
    return Searched(folder, sweep, described, pytest.fail)


def train(work: Searched, member: Member, *losses: float, ends: bool = True) -> None:
    """Writes what a run with these validation losses leaves."""
    rows = [{"step": k + 1, "validation_loss": loss} for k, loss in enumerate(losses)]
    summary = {"status": "finished"} if ends else None
    run_directory(work._folder.run(member), metrics=rows, summary=summary)


def threshold(member: Member) -> float:
    assert member.spec is not None
    found: Any = member.spec.expansion
    return float(found.threshold)


def searched(work: Searched) -> list[float]:
    """The rest of a search for a threshold near 0.01."""
    found = []
    while (member := work.take()) is not None:
        found.append(threshold(member))
        train(work, member, abs(threshold(member) - 0.01))
        work.ended(member, failed=False)
    return found


def test_a_search_that_is_killed_goes_on_as_it_would_have(tmp_path: Path) -> None:
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    whole = begun(tmp_path / "whole")
    found = searched(whole)
    assert len(found) == len(set(found)) == 8
    assert all(1e-4 <= each <= 1 for each in found)
    nearest = min(found, key=lambda each: abs(each - 0.01))
    assert whole.best is not None and f"threshold-{nearest:g}-seed-0" in whole.best
    killed = []
    for ends in (False, True):  # in the middle of a run, and before its end was told
        work = begun(tmp_path / "killed")
        member = work.take()
        assert member is not None
        train(work, member, abs(threshold(member) - 0.01), ends=ends)
        killed.append(threshold(member))
    assert killed == [found[0], found[0]]
    # What had ended is told first, and is not trained again.
    assert searched(begun(tmp_path / "killed")) == found[1:]
    listed = json.loads((tmp_path / "killed" / "folder" / "sweep.json").read_text())
    assert [each["name"][:4] for each in listed["members"]] == [f"{k:03d}-" for k in range(8)]


def test_what_is_behind_the_median_is_stopped(tmp_path: Path) -> None:
    work = begun(tmp_path)
    for _ in range(5):  # Optuna's pruner judges by no fewer
        member = work.take()
        assert member is not None
        for losses in ([3.0], [3.0, 1.0]):
            train(work, member, *losses, ends=len(losses) > 1)
            assert not work.hopeless(member)
        work.ended(member, failed=False)
    good, bad = work.take(), work.take()
    assert good is not None and bad is not None
    train(work, good, 3.0, 0.5, ends=False)
    train(work, bad, 3.0, 2.0, ends=False)
    assert (work.hopeless(good), work.hopeless(bad)) == (False, True)
    work._folder.prune(bad)
    assert work._folder.standing(bad) == "pruned"
    work.ended(bad, failed=False)
    assert work.left() == 1
    states = [trial.state.name for trial in work._study.get_trials()]
    assert states == [*["COMPLETE"] * 5, "RUNNING", "PRUNED"]


def test_what_cannot_be_searched_is_refused(tmp_path: Path) -> None:
    text = TEXT.replace("threshold", "treshold")
    with pytest.raises(SpecError, match=r"sweep\.yaml:4: expansion\.treshold is unknown"):
        sample(read(tmp_path, text))
    with pytest.raises(SpecError, match=r"sweep\.yaml:2: search needs validation_loss"):
        sample(read(tmp_path, f"{TEXT}set: {{data.validation: 0}}"))
    with pytest.raises(SpecError, match=r"sweep\.yaml:5: seeds should be one seed"):
        read(tmp_path, f"{TEXT}seeds: 2")
    begun(tmp_path)
    sweep = read(tmp_path, TEXT.replace("8", "9"))
    with pytest.raises(UsageError, match="its search, or the spec that is varied in it, differs"):
        opened(tmp_path / "folder", sweep.described.model_dump(mode="json"), ())
