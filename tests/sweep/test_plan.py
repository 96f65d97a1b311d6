from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from senn_cli.errors import SpecError
from senn_cli.spec.sweep import DrawSpec, RangeSpec
from senn_cli.sweep.draws import points, value_at
from senn_cli.sweep.plan import members, require_paths
from senn_cli.sweep.read import read_sweep, split
from tests.sweep.sweeps import SPEC, read, written


def told(place: Path, text: str, *overrides: str, seeds: str | None = None) -> list[str]:
    return [member.name for member in members(read(place, text, *overrides, seeds=seeds))]


def values(place: Path, text: str, *overrides: str) -> list[tuple[Any, ...]]:
    """Threshold, hidden widths and seed of all members."""
    found = members(read(place, text, *overrides))
    specs = [member.spec for member in found if member.spec is not None]
    return [(s.expansion.threshold, s.network.hidden, s.seed) for s in specs]  # type: ignore[union-attr]


def test_every_combination_with_every_seed(tmp_path: Path) -> None:
    text = "grid: {expansion.threshold: [0.1, 0.2], network.hidden: [[4], [5, 6]]}\nseeds: [3, 1]"
    assert values(tmp_path, text) == [
        (threshold, hidden, seed)
        for threshold in (0.1, 0.2)
        for hidden in ((4,), (5, 6))
        for seed in (3, 1)
    ]
    assert told(tmp_path, text)[:3] == [
        "000-threshold-0.1-hidden-4-seed-3",
        "001-threshold-0.1-hidden-4-seed-1",
        "002-threshold-0.1-hidden-5-6-seed-3",
    ]


def test_side_by_side_one_by_one_and_in_all(tmp_path: Path) -> None:
    together = "zip: {expansion.threshold: [0.1, 0.2], network.hidden: [[4], [5]]}"
    assert values(tmp_path, together) == [(0.1, (4,), 0), (0.2, (5,), 0)]
    single = "list: [{expansion.threshold: 0.1}, {network.hidden: [7]}]\nset: {network.hidden: [9]}"
    assert values(tmp_path, single) == [(0.1, (9,), 0), (0.01, (7,), 0)]


def test_a_policy_takes_the_place_of_how_it_would_grow(tmp_path: Path) -> None:
    found = members(read(tmp_path, "grid: {expansion.policy: [none, random, senn]}"))
    assert [member.spec.expansion.policy for member in found if member.spec] == [
        "none",
        "random",
        "senn",
    ]


def test_what_the_command_line_says_takes_the_place_of_the_file(tmp_path: Path) -> None:
    text = "grid: {expansion.threshold: [0.1, 0.2]}"
    found = values(tmp_path, text, "expansion.threshold=0.3", "network.hidden=[4],[5, 5]")
    assert found == [(0.3, (4,), 0), (0.3, (5, 5), 0)]
    single = "list: [{network.hidden: [7], expansion.threshold: 0.1}, {network.hidden: [9]}]"
    found = values(tmp_path, single, "expansion.threshold=0.3,0.4")
    assert found == [(0.3, (7,), 0), (0.4, (7,), 0), (0.3, (9,), 0), (0.4, (9,), 0)]
    assert len(told(tmp_path, single, "network.hidden=[5]")) == 2
    assert len(told(tmp_path, text, seeds="3")) == 6
    assert [name[-1] for name in told(tmp_path, "", seeds="2,5")] == ["2", "5"]
    assert split("a,'b,c',{d: 1, e: 2}") == ["a", "'b,c'", "{d: 1, e: 2}"]


def test_a_spec_is_a_sweep_of_itself(tmp_path: Path) -> None:
    written(tmp_path, "")
    sweep = read_sweep(tmp_path / "small.yaml", (), "2")
    assert [m.name for m in members(sweep)] == ["000-small-seed-0", "001-small-seed-1"]


def test_controls_are_of_what_grows(tmp_path: Path) -> None:
    text = "grid: {expansion.policy: [senn, none]}\nseeds: 2\ncontrols: [static, random_growth]"
    found = members(read(tmp_path, text))
    assert [(m.control, m.of) for m in found[4:]] == [
        (control, f"00{seed}-policy-senn-seed-{seed}")
        for control in ("static", "random_growth")
        for seed in (0, 1)
    ]
    assert [m.name for m in found[4:6]] == ["004-static-seed-0", "005-static-seed-1"]
    with pytest.raises(SpecError, match=r"sweep\.yaml:3: controls should be left out"):
        members(read(tmp_path, "set: {expansion.policy: none}\ncontrols: [static]"))


def test_members_that_start_from_one_origin(tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(f"{SPEC}seed: 3\n".replace("small", "first"))
    text = "origin: first.yaml\nlist: [{}, {expansion: none}]\ncontrols: [static]"
    found = members(read(tmp_path, text))
    first = "002-first-seed-3"
    assert [(m.name, m.awaits) for m in found] == [
        ("000-small-seed-0", first),
        ("001-expansion-none-seed-0", first),
        (first, None),
        ("003-static-seed-0", "000-small-seed-0"),
    ]
    (tmp_path / "first.yaml").write_text("data: moons\nnetwork: {kind: mlp, hiden: [3]}\n")
    with pytest.raises(SpecError, match=r"first\.yaml:2: network\.hiden is unknown"):
        members(read(tmp_path, "origin: first.yaml"))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("seeds: 0", 2, "seeds should be a number of seeds from 1 to 10000"),
        ("seeds: [1, 1]", 2, "seeds should name every seed once"),
        ("gird: {}", 2, "gird is unknown; did you mean grid?"),
        ("seeds: 2\ngrid:\n  network.hidden: 4", 4, "grid.network.hidden should be a list"),
        ("zip: {a: [1], b: [1, 2]}", 2, "a has 1, b has 2"),
        ("controls: [statik]", 2, "did you mean static?"),
        ("controls: [static, static]", 2, "every control once"),
        ("draw: {count: 2, options: {a: {low: 2, high: 1}}}", 2, "low below high"),
        ("draw: {count: 2, options: {a: {low: 0, high: 1, scale: log}}}", 2, "above 0"),
        ("draw: {count: 2, options: {a: {low: 0.5, high: 2, whole: true}}}", 2, "whole low"),
        ("draw: {count: 2, options: {a: {low: 0, choices: [1]}}}", 2, "choices alone"),
        ("search: {optuna: 3, options: {a: {choices: [1]}}}\ngrid: {b: [1]}", 3, "beside search"),
        ("search: {optuna: 3, options: {a: {choices: [1]}}}\norigin: b.yaml", 3, "its best"),
        ("seeds: [1", 2, "not closed"),
        ("set: {seed: 1}", 2, "its own key is seeds"),
        ("set: {a..b: 1}", 2, "dotted name"),
        ("\ngrid:\n  expansion.threshold: [1,\n    -1]", 5, "should be at least 0"),
        ("grid: {expansion.thresh: [1, 2]}", 2, "unknown; did you mean threshold?"),
        ("list:\n  - {optimizer: {kind: adam,\n      lr: 1}}", 4, "optimizer.lr is unknown"),
    ],
)  # fmt: skip
def test_faults_have_their_lines(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        sweep = read(tmp_path, text)
        require_paths(sweep)
        members(sweep)
    assert f"{tmp_path / 'sweep.yaml'}:{line}: " in caught.value.message
    assert message in caught.value.message
    assert len(caught.value.message.splitlines()) == 1  # once, whatever number of members has it


def test_faults_of_the_spec_have_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "spec: small.yaml\nseeds: 3", SPEC.replace("1e-2", "x"))
    with pytest.raises(SpecError, match=r"small\.yaml:4: expansion\.threshold should be a number"):
        members(read_sweep(path))
    with pytest.raises(SpecError, match="no such file"):
        members(read_sweep(written(tmp_path, "spec: other.yaml")))


def test_sobol_points_fill_every_part_of_the_cube_alike() -> None:
    options = {name: RangeSpec(low=0.0, high=1.0) for name in "abc"}
    for seed in (0, 1):
        found = points(DrawSpec(count=64, seed=seed, options=options))
        assert found.shape == (64, 3)
        assert found.min() >= 0 and found.max() < 1
        # Shifted by a vector, 64 points have 8 of each eighth up to one at either end.
        counts = np.stack([np.histogram(column, 8, (0, 1))[0] for column in found.T])
        assert np.abs(counts - 8).max() <= 1
    again, other = (points(DrawSpec(count=5, seed=s, options=options)) for s in (1, 2))
    assert (found[:5] == again).all()
    assert (again != other).all()


def test_values_of_ranges() -> None:
    logarithmic = RangeSpec(low=1e-4, high=1.0, scale="log")
    assert [value_at(logarithmic, place) for place in (0.0, 0.5)] == pytest.approx([1e-4, 1e-2])
    whole = RangeSpec(low=1, high=4, whole=True)
    assert [value_at(whole, place / 8) for place in range(8)] == [1, 1, 2, 2, 3, 3, 4, 4]
    chosen = RangeSpec(choices=["a", "b"])
    assert [value_at(chosen, place) for place in (0.0, 0.49, 0.5, 0.99)] == ["a", "a", "b", "b"]


def test_draws_are_members(tmp_path: Path) -> None:
    options = "{expansion.threshold: {low: 0.1, high: 0.2}, network.hidden: {choices: [[1], [2]]}}"
    found = values(tmp_path, f"draw: {{count: 4, kind: random, seed: 1, options: {options}}}")
    assert len(found) == len(set(found)) == 4
    assert all(0.1 <= threshold < 0.2 for threshold, _, _ in found)
    # Independently: the generator that NumPy's seed names.
    drawn = np.random.default_rng(1).random((4, 2))
    assert [h for _, h, _ in found] == [(1,) if place < 0.5 else (2,) for place in drawn[:, 1]]
    assert [t for t, _, _ in found] == pytest.approx(0.1 + 0.1 * drawn[:, 0], rel=1e-5)
