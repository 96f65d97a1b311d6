from __future__ import annotations

import json
from pathlib import Path

import pytest

from senn_cli.errors import SpecError, UsageError
from senn_cli.spec import Spec, dump_spec
from senn_cli.sweep.controls import made, require_makeable
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.plan import Member, members
from tests.handmade import checkpoint, row, run_directory
from tests.sweep.sweeps import begun, read

NAMES = ("static", "static_same_compute", "random_growth", "width_only", "depth_only")


@pytest.fixture
def grown(tmp_path: Path) -> tuple[Folder, tuple[Member, ...]]:
    """A sweep whose run grew from 3 to 5 and 4 units; parameters are 20 at half of its 8 steps."""
    folder, members = begun(tmp_path, f"controls: [{', '.join(NAMES)}]")
    rows = [row(4, [3], parameters=20), row(8, [5, 4], parameters=80)]
    run = run_directory(folder.run(members[0]), metrics=rows)
    assert members[0].spec is not None
    (run / "spec.yaml").write_text(dump_spec(members[0].spec))
    summary = {"status": "finished", "hidden": [5, 4], "parameters": 80, "steps": 8}
    (run / "summary.json").write_text(json.dumps(summary))
    checkpoint(run, 8, [(5, 8), (4, 8)])
    return folder, members


def test_what_controls_share_with_their_run_and_what_not(
    grown: tuple[Folder, tuple[Member, ...]],
) -> None:
    folder, (origin, *controls) = grown
    assert origin.spec is not None
    found: dict[str, Spec] = {}
    for member in controls:
        spec = made(folder, member, origin).spec
        assert spec is not None and member.control is not None
        found[member.control] = spec
        assert (spec.seed, spec.data, spec.optimizer) == (
            origin.spec.seed,
            origin.spec.data,
            origin.spec.optimizer,
        )
        assert spec.name == member.setting
    for name in ("static", "static_same_compute"):
        assert found[name].network.hidden == (5, 4)
        assert found[name].expansion.policy == "none"
    assert found["static"].training == origin.spec.training
    # Four steps at a quarter of the final network's parameters and four at all of them.
    length = found["static_same_compute"].training.length()
    assert (length.steps, length.epochs) == (5, None)
    assert found["random_growth"].expansion == origin.spec.expansion.model_copy(
        update={"policy": "random", "max_hidden": 9}
    )
    for name, other in (("width_only", "depth"), ("depth_only", "width")):
        growth = found[name].growth
        assert growth is not None and growth.max_parameters == 80
        assert growth.width.enabled != growth.depth.enabled
        assert getattr(growth, other).enabled is False


def test_a_run_without_a_shape_makes_no_control(grown: tuple[Folder, tuple[Member, ...]]) -> None:
    folder, (origin, control, *_) = grown
    (folder.run(origin) / "checkpoints" / "8" / "complete").unlink()
    with pytest.raises(UsageError, match="no checkpoint that tells its final shape"):
        made(folder, control, origin)


def test_a_run_that_took_its_best_network_ended_with_that_shape(
    grown: tuple[Folder, tuple[Member, ...]],
) -> None:
    folder, (origin, static, *_) = grown
    run = folder.run(origin)
    checkpoint(run, 4, [(3, 8)], place="checkpoints/best")
    end = {"metric": "validation_loss", "step": 4, "value": 1.0, "stopped": False, "restored": True}
    line = {"step": 8, "end": end, "hidden": [3]}
    (run / "history.jsonl").write_text(json.dumps(line) + "\n")
    spec = made(folder, static, origin).spec
    assert spec is not None and spec.network.hidden == (3,)


def test_controls_that_no_run_could_make_are_refused_with_their_line(tmp_path: Path) -> None:
    text = "controls: [width_only, depth_only, random_growth]"
    sweep = read(tmp_path, text)
    require_makeable(sweep, members(sweep))
    policy = "{policy: dynamic_node_creation, max_hidden: 8}"
    sweep = read(tmp_path, f"grid: {{expansion: [{policy}]}}\n{text}")
    with pytest.raises(SpecError) as caught:
        require_makeable(sweep, members(sweep))
    lines = caught.value.message.splitlines()
    assert all(line.startswith(f"{tmp_path / 'sweep.yaml'}:3: controls has ") for line in lines)
    assert any("depth_only, which cannot be made of expansion-dynamic" in line for line in lines)
