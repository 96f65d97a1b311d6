"""New units that gain at once: the closed form, the line search, and what is told of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from senn_cli.growth.compiled import Compiled
from senn_cli.growth.edits import AddUnits
from senn_cli.growth.realise import SIZES, Realised, closed_form
from senn_cli.growth.target import prepare
from senn_cli.spec import InvalidSpecError, parse_spec
from tests.growth.test_senn import ONE, OUTPUTS, SETTINGS, TWO, Problem, edits
from tests.resuming import MOONS, check_same, go, resume, shared_programs, steps, timeless

__all__ = ["SETTINGS"]

SHARE = 1e-3


@pytest.fixture(scope="module")
def planted(nets: Any) -> Problem:
    return Problem(nets, ONE, "planted")


def test_the_closed_form_is_the_natural_gradient_of_the_new_rows() -> None:
    """A dense Fisher matrix S (x) A_pp of all their weights, in double precision."""
    rng = np.random.default_rng(0)
    a, g = rng.standard_normal((50, 9)), rng.standard_normal((50, 3)) @ rng.standard_normal((3, 3))
    a[:, 7] = 0.0  # silent on the sample
    s = g.T @ g / len(g)
    new = np.isin(np.arange(9), (5, 6, 7))
    target = prepare(
        *(np.float32(v) for v in (a, g, s)),
        active_in=np.int32(9),
        active_out=np.int32(3),
        share_a=SHARE,
        share_s=SHARE,
    )
    found = np.asarray(closed_form(target, np.float32(g), new))
    power = a[:, 5:7].T @ a[:, 5:7] / 50
    power += SHARE * np.diag(np.diag(power))
    fisher = np.kron(power, s + SHARE * np.trace(s) / 3 * np.eye(3))
    gradient = (a[:, 5:7].T @ g / 50).ravel()
    np.testing.assert_allclose(found[5:7].ravel(), -np.linalg.solve(fisher, gradient), rtol=1e-4)
    assert not found[[0, 1, 2, 3, 4, 7, 8]].any()


def loss(problem: Problem, shape: Any, params: Any) -> float:
    error = problem.nets.run(shape, params, problem.x.astype(np.float64)).outputs - problem.y
    return float(0.5 * np.mean(np.sum(error**2, axis=1)))


def test_of_a_linear_problem_it_is_the_least_squares_fit(planted: Problem, decide: Any) -> None:
    """The Gauss-Newton matrix of output weights under the squared loss is A_pp itself."""
    found = decide(planted.view(), realise=True)
    shape, params = planted.apply(found.decisions)[-1]
    a = planted.nets.run(shape, params, planted.x.astype(np.float64)).reads[-1]
    new = a[:, 1 + ONE[0][0] :]
    assert new.shape[1] >= 2
    fit = np.linalg.lstsq(new, planted.y.astype(np.float64), rcond=None)[0]
    kernel = np.concatenate([e.outgoing["map_1"][:, 0, :OUTPUTS] for e in edits(found)])
    np.testing.assert_allclose(kernel, fit, atol=0.02 * np.abs(fit).max())
    best = 0.5 * np.mean(np.sum((new @ fit - planted.y) ** 2, axis=1))
    assert loss(planted, shape, params) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("hidden", [ONE, TWO])
def test_the_function_changes_by_what_is_declared(nets: Any, decide: Any, hidden: Any) -> None:
    problem = Problem(nets, hidden, "planted")
    rng = np.random.default_rng(3)
    problem.params = problem.nets.draw(rng, problem.shape, np.float32)
    found = decide(problem.view(), realise=True, stop=1e-4, threshold=1e-3, per_round=4)
    added = [d for d in found.decisions if isinstance(d.edit, AddUnits)]
    assert added and len({d.edit.layer for d in added}) == 1  # elsewhere by another look
    losses = [loss(problem, *network) for network in problem.apply(tuple(added))]
    assert losses[-1] < losses[0]
    for decision, before, after in zip(added, losses[:-1], losses[1:], strict=True):
        assert not decision.keeps and decision.change is not None
        assert decision.loss == pytest.approx(before, rel=1e-5)
        assert decision.change == pytest.approx(after - before, rel=1e-3, abs=1e-5 * before)
        assert decision.reason.endswith(f"from {before:.4g} to {after:.4g}")
    plain = decide(problem.view(), stop=1e-4, threshold=1e-3, per_round=4)
    for ours, theirs in zip(edits(found), edits(plain), strict=False):
        np.testing.assert_array_equal(ours.incoming, theirs.incoming)
        assert theirs.outgoing is None
    assert all(d.keeps and d.change is None for d in plain.decisions)


@pytest.mark.parametrize(("factor", "size"), [(1.0, 1.0), (256.0, 2.0**-8), (-1.0, 0.0)])
def test_the_line_search_never_raises_the_loss(
    planted: Problem, compiled: Compiled, factor: float, size: float
) -> None:
    """Gradients that are too large, or point the wrong way, are found out by the loss itself."""
    view, index = planted.view(), 1
    rows = np.arange(len(planted.x), dtype=np.int32)
    network = (view.architecture.shape(), view.params, view.widths)
    sample = compiled.observe(*network, view.data, rows)
    a_p = np.maximum(planted.x @ np.ones(4, np.float32), 0)
    a = np.asarray(sample.a[index]).copy()
    a[:, 4] = a_p
    args = (a, sample.g[index], sample.s[index], np.int32(5), np.int32(OUTPUTS))
    target, g = compiled.target(*args), factor * np.asarray(sample.g[index])
    found: Realised = jax.device_get(
        compiled.realise(
            network[0], "map_1", *network[1:], view.data, rows, target, g, np.int32(4), np.int32(1)
        )
    )
    full = np.asarray(closed_form(target, g, np.arange(a.shape[1]) == 4))
    np.testing.assert_allclose(found.weights, size * full, rtol=1e-5, atol=1e-7)
    y = planted.y.astype(np.float64)
    tried = [0.5 * np.mean(np.sum((s * a @ full - y) ** 2, axis=1)) for s in SIZES]
    assert SIZES[np.argmin(tried)] == size
    assert found.losses[0] == pytest.approx(tried[0], rel=1e-5)
    assert found.losses[1] == pytest.approx(min(tried), rel=1e-5) and min(tried) <= tried[0]


REALISED = ("expansion.realise=true",)


@pytest.mark.slow
def test_a_run_declares_its_changes_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    with shared_programs({}):
        go(MOONS, tmp_path / "whole", *REALISED)
        go(MOONS, tmp_path / "halved", *REALISED, until=steps(7))
        resume(tmp_path / "halved")
    check_same(tmp_path / "halved", tmp_path / "whole")
    events = timeless(tmp_path / "whole" / "history.jsonl")
    changed = [e for e in events if e.get("keeps_function") is False]
    assert changed and all(e["edit"] == "add_neurons" for e in changed)
    for step in {e["step"] for e in changed}:
        assert sum(e["predicted_change"] for e in changed if e["step"] == step) < 0
    assert all({"predicted_gain", "realised_change", "train_loss"} <= e.keys() for e in changed)
    layers = [e for e in events if e["edit"] == "insert_layer"]
    assert layers and all("keeps_function" not in e for e in layers)


def test_another_kind_or_policy_refuses_it_by_name() -> None:
    for other, word in (
        ("network: densenet\nexpansion: {proposals: search, realise: true}", "network.kind: mlp"),
        ("network: densenet\nexpansion: {realise: true}", "proposals: search"),
        ("network: mlp\nexpansion: {policy: tiny, realise: true}", "tiny"),
    ):
        with pytest.raises(InvalidSpecError) as found:
            parse_spec(f"data: digits\n{other}")
        assert "expansion.realise" in found.value.message and word in found.value.message
