"""What a round decides, from scores that are made by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from senn_cli.growth.edits import (
    Activate,
    Enlarge,
    PromoteBud,
    Redraw,
    RemoveUnit,
    edit_architecture,
)
from senn_cli.growth.policies.dormant_round import DormantRound, within
from senn_cli.growth.policy import Decision, View
from senn_cli.growth.settings import PruneSettings, Settings
from senn_cli.growth.tracked_scores import TrackedScores
from senn_cli.nets.architecture import Layer
from senn_cli.nets.densenet_architecture import DenseArchitecture
from senn_cli.nets.features import hidden_feature
from senn_cli.nets.mlp import MlpArchitecture
from tests.densenets import architecture

NET = architecture((6, 6, 1), 3, [[(3, 8), (2, 8)], [(4, 8)]], bud=2)
CHAIN = MlpArchitecture(
    5, 3, (Layer(3, 8, "silu"), Layer(2, 8, "silu"), Layer(4, 8, "silu")), spare="dormant"
)
"""As many units as `NET`, and no buds."""
Net = DenseArchitecture | MlpArchitecture
ALWAYS = Settings(
    threshold=0.1,
    stop=0.0,
    noise=0.0,
    prune=PruneSettings(min_width=1, per_round=None),
    activate=1.0,
    leave=1.0,
    bud_factor=3.0,
)
"""The total score is 1 in all of these tests, so that the threshold is 0.1."""


@pytest.fixture(params=[NET, CHAIN], ids=["densenet", "mlp"])
def net(request: pytest.FixtureRequest) -> Net:
    found: Net = request.param
    return found


def scores(
    net: Net = NET,
    gains: dict[tuple[int, int], float] | None = None,
    costs: dict[tuple[int, int], float] | None = None,
    buds: dict[int, float] | None = None,
    error: float = 0.0,
    eta: float = 1.0,
    eta_error: float = 0.0,
) -> TrackedScores:
    """Scores of 0 but for `gains`, costs of 1 but for `costs`; by layer and channel."""

    def filled(values: Any, default: float) -> tuple[np.ndarray, ...]:
        arrays = []
        for index, layer in enumerate(net.hidden):
            used = np.arange(layer.capacity) < layer.width
            array = np.where(used, default, 0.0)
            for (at, channel), value in (values or {}).items():
                if at == index:
                    array[channel] = value
            arrays.append(array)
        return tuple(arrays)

    def named(arrays: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        return {hidden_feature(net, index).name: array for index, array in enumerate(arrays)}

    standing = {
        f.name: np.full(f.capacity, (buds or {}).get(f.index, 0.0))
        for f in net.features
        if f.role == "bud"
    }
    capacities = {f.name: f.capacity for f in net.features if f.grows}
    return TrackedScores(
        etas={"one": 0.25 * eta, "two": 0.75 * eta},
        eta_errors={"one": 0.6 * eta_error, "two": 0.8 * eta_error},
        gains=named(filled(gains, 0.0)) | standing,
        errors={name: np.full(capacity, error) for name, capacity in capacities.items()},
        costs=named(filled(costs, 1.0)),
        changes=named(tuple(0.5 * c for c in filled(costs, 1.0))),
    )


def view(net: Net, step: int, **changes: Any) -> View:
    found = View(
        architecture=net,
        params={},
        widths=np.zeros(0),  # type: ignore[arg-type]
        data=None,  # type: ignore[arg-type]
        seed=0,
        step=step,
        asked=0,
        added=0,
        every=10,
        per_epoch=100,
        layer_allowed=True,
        input_spectrum=None,
    )
    return replace(found, **changes)


def decided(
    settings: Settings, found: TrackedScores, net: Net = NET, step: int = 110,
    **changes: Any,
) -> list[Decision]:  # fmt: skip
    decisions = list(DormantRound(settings, view(net, step, **changes), found).decisions())
    carried_out(net, decisions)
    return decisions


def carried_out(net: Net, decisions: list[Decision]) -> Net:
    """The network after all of them, in turn; each has to be possible after those before it."""
    for decision in decisions:
        edit: Any = decision.edit
        if edit is None or isinstance(edit, Redraw):
            continue
        if isinstance(edit, Activate):
            assert all(c >= net.widths[edit.layer] for c in edit.units)
        if isinstance(edit, RemoveUnit):
            assert edit.unit < net.widths[edit.layer]
        net = edit_architecture(net, edit)
    return net


def redrawn(edit: Redraw, net: Net, role: str = "hidden") -> list[tuple[int, ...]]:
    """The units that `edit` draws anew, layer by layer."""
    return [edit.units[f.name] for f in net.features if f.role == role]


def edits(decisions: list[Decision], kind: Any) -> list[Any]:
    return [d.edit for d in decisions if isinstance(d.edit, kind)]


def test_what_passes_is_activated_and_nothing_else(net: Net) -> None:
    gains = {(0, 3): 0.11, (0, 5): 0.09, (1, 2): 0.5, (1, 7): 0.2, (2, 4): 0.1}
    found = decided(ALWAYS, scores(net, gains=gains), net)
    assert {e.layer: set(e.units) for e in edits(found, Activate)} == {0: {3}, 1: {2, 7}}
    first = next(d for d in found if d.edit is not None)
    assert first.threshold == 0.1 and first.stop == 0.0
    assert first.candidates[0].score == pytest.approx(0.11)
    both = next(d for d in found if getattr(d.edit, "layer", None) == 1)
    # The score of several is their mean, the gain their sum.
    assert both.candidates[0].score == pytest.approx(0.35)
    assert both.candidates[0].delta_eta == pytest.approx(0.7)
    assert both.candidates[0].site.name == hidden_feature(net, 1).site


def test_the_absolute_threshold_and_the_noise_decide_too(net: Net) -> None:
    gains = {(0, 3): 0.3}
    for settings, error, passes in (
        (replace(ALWAYS, stop=0.29), 0.0, True),
        (replace(ALWAYS, stop=0.31), 0.0, False),
        (replace(ALWAYS, noise=2.0), 0.14, True),
        (replace(ALWAYS, noise=2.0), 0.16, False),
    ):
        found = decided(settings, scores(net, gains=gains, error=error), net)
        assert bool(edits(found, Activate)) is passes


def test_with_a_score_that_noise_has_made_negative_nothing_passes_by_being_less_negative(
    net: Net,
) -> None:
    found = decided(
        replace(ALWAYS, noise=1.0), scores(net, gains={(0, 3): 0.01}, error=0.1, eta=-1.0), net
    )
    assert not [d for d in found if d.edit is not None]


@pytest.mark.parametrize("eta", [-1.0, 0.0, 0.5])
def test_a_score_within_its_noise_bars_as_much_as_its_noise_does(net: Net, eta: float) -> None:
    # tau is 0.1, and the errors of two maps join to 3 standard errors of 1.
    gains, costs = {(0, 3): 0.31, (1, 2): 0.29}, {(0, 0): 0.29, (1, 0): 0.31}
    found = scores(net, gains=gains, costs=costs, eta=eta, eta_error=1.0)
    decisions = decided(replace(ALWAYS, noise=3.0), found, net)
    assert {e.layer: e.units for e in edits(decisions, Activate)} == {0: (3,)}
    assert {(e.layer, e.unit) for e in edits(decisions, RemoveUnit)} == {(0, 0)}
    told = next(c for d in decisions for c in d.candidates if isinstance(d.edit, Activate))
    assert (told.eta, told.ratio) == (pytest.approx(3.0), pytest.approx(0.31 / 3.0))


@pytest.mark.parametrize("every", [1, 10])
def test_probabilities_of_a_step_are_joined(every: int) -> None:
    p, rounds = 0.02, 3000
    settings = replace(ALWAYS, activate=p, leave=p, deepens=False)
    drawn = {"activate": 0, "prune": 0}
    # Costs just below the threshold; one channel each, so that rounds are independent trials.
    found = scores(gains={(0, 6): 0.2}, costs={(2, 1): 0.05})
    for number in range(rounds):
        # Not at the beginning of an epoch, where more happens.
        step = 1_000_001 + 100 * number + every
        result = list(DormantRound(settings, view(NET, step, every=every), found).decisions())
        drawn["activate"] += len(edits(result, Activate))
        drawn["prune"] += len(edits(result, RemoveUnit))
    joined = 1 - (1 - p) ** every
    assert within(p, every) == pytest.approx(joined, rel=1e-9)
    low, high = binom.ppf([1e-6, 1 - 1e-6], rounds, joined)
    for count in drawn.values():
        assert low <= count <= high


def test_joined_probabilities_at_the_ends() -> None:
    assert within(0.0, 7) == 0.0 and within(1.0, 7) == 1.0
    assert within(1.0, 0) == 0.0 and within(0.3, 0) == 0.0
    assert within(1e-12, 10) == pytest.approx(1e-11, rel=1e-6)


EVERYTHING = {(i, c): 0.2 + 0.01 * c for i, h in enumerate(NET.hidden) for c in range(h.width, 8)}


@pytest.mark.parametrize(
    ("limit", "value"),
    [("max_width", 4), ("max_hidden", 12), ("max_parameters", 400), ("per_round", 3)],
)
def test_no_activation_goes_beyond_a_limit(limit: str, value: int) -> None:
    changes: dict[str, Any] = {limit: value}
    settings = replace(ALWAYS, deepens=False, **changes)
    before = sum(NET.widths)
    after = carried_out(NET, decided(settings, scores(gains=EVERYTHING)))
    free = carried_out(NET, decided(replace(ALWAYS, deepens=False), scores(gains=EVERYTHING)))
    assert free.widths == (8, 8, 8)
    added = sum(after.widths) - before
    assert 0 < added < sum(free.widths) - before
    if limit == "max_width":
        assert after.widths == (4, 4, 4)  # the last layer was at the limit already
    elif limit == "max_hidden":
        assert sum(after.widths) == 12
    elif limit == "max_parameters":
        assert after.parameters <= 400
    else:
        assert added == 3


def test_the_best_are_activated_where_there_is_a_limit(net: Net) -> None:
    gains = {(0, 4): 0.3, (0, 6): 0.9, (1, 3): 0.5, (2, 7): 0.2}
    settings = replace(ALWAYS, per_round=2, deepens=False)
    found = edits(decided(settings, scores(net, gains=gains), net), Activate)
    assert {(e.layer, c) for e in found for c in e.units} == {(0, 6), (1, 3)}


def test_a_layer_that_may_not_grow_takes_no_place_of_others(net: Net) -> None:
    net = net.with_layer(0, width=4)
    gains = {(0, 4): 0.9, (0, 5): 0.8, (1, 3): 0.5}
    settings = replace(ALWAYS, per_round=1, max_width=4, deepens=False)
    found = edits(decided(settings, scores(net, gains=gains), net), Activate)
    assert [(e.layer, e.units) for e in found] == [(1, (3,))]


def test_the_cheapest_are_pruned_and_no_layer_below_its_least_width(net: Net) -> None:
    costs = {(2, 0): 0.05, (2, 1): 0.01, (2, 2): 0.02, (2, 3): 0.099, (1, 0): 0.1}
    one = decided(
        replace(ALWAYS, prune=PruneSettings(1, 1), deepens=False), scores(net, costs=costs), net
    )
    assert [(e.layer, e.unit) for e in edits(one, RemoveUnit)] == [(2, 1)]
    (decision,) = [d for d in one if d.edit is not None]
    assert decision.change == pytest.approx(0.005)
    for least in (1, 3, 4):
        found = decided(
            replace(ALWAYS, prune=PruneSettings(least, None), deepens=False),
            scores(net, costs=costs),
            net,
        )
        after = carried_out(net, found)
        assert after.widths[2] >= least and after.widths[:2] == net.widths[:2]
        assert (after.widths[2] == 4) is (least == 4)
    # A cost at the threshold is not below it.
    found = decided(
        replace(ALWAYS, deepens=False), scores(net, costs={(1, 0): 0.1, (0, 2): 0.11}), net
    )
    assert not edits(found, RemoveUnit)


def test_prunings_and_activations_of_a_layer_name_the_right_channels(net: Net) -> None:
    """Carried out in turn on a list of channels, what goes is what was cheap and nothing else."""
    costs = {(2, 0): 0.01, (1, 1): 0.02, (0, 2): 0.03}
    gains = {(2, 5): 0.4, (2, 7): 0.3, (0, 4): 0.2}
    decisions = decided(replace(ALWAYS, deepens=False), scores(net, gains=gains, costs=costs), net)
    channels = [list(range(8)) for _ in net.hidden]
    widths = list(net.widths)
    gone = []
    for decision in decisions:
        edit: Any = decision.edit
        if isinstance(edit, Activate):
            line, width = channels[edit.layer], widths[edit.layer]
            chosen = [line[c] for c in edit.units]
            rest = [c for c in line[width:] if c not in chosen]
            channels[edit.layer] = line[:width] + chosen + rest
            widths[edit.layer] += len(chosen)
        elif isinstance(edit, RemoveUnit):
            gone.append((edit.layer, channels[edit.layer].pop(edit.unit)))
            channels[edit.layer].insert(widths[edit.layer] - 1, gone[-1][1])
            widths[edit.layer] -= 1
    assert set(gone) <= set(costs) and gone
    in_use = {(i, c) for i, line in enumerate(channels) for c in line[: widths[i]]}
    start = {(i, c) for i, w in enumerate(net.widths) for c in range(w)}
    assert in_use == (start | set(gains)) - set(gone)
    assert len(edits(decisions, Activate)) == 2


def test_what_one_map_reads_together_is_not_pruned_in_one_round() -> None:
    costs = {(2, 0): 0.01, (2, 1): 0.02, (0, 0): 0.03, (1, 0): 0.04}
    found = edits(decided(replace(ALWAYS, deepens=False), scores(costs=costs)), RemoveUnit)
    readers = [
        {wire.name for wire, _ in NET.readers(e.layer) if wire.target.role != "bud"} for e in found
    ]
    assert len(found) >= 2
    for number, names in enumerate(readers):
        assert all(not names & others for others in readers[:number])


def test_channels_that_were_drawn_anew_wait_for_a_round() -> None:
    settings = replace(ALWAYS, redraw=0.5)
    gains = EVERYTHING
    drawn_anew = activated = 0
    for epoch in range(1, 60):
        found = decided(settings, scores(gains=gains, buds={1: 0.9}), step=100 * epoch)
        (redraw,) = edits(found, Redraw)
        assert isinstance(found[0].edit, Redraw)
        for edit in edits(found, Activate):
            assert not set(edit.units) & set(redrawn(redraw, NET)[edit.layer])
            activated += len(edit.units)
        for index, layer in enumerate(NET.hidden):
            assert all(c >= layer.width for c in redrawn(redraw, NET)[index])  # none that is in use
            drawn_anew += len(redrawn(redraw, NET)[index])
        # The bud that becomes a layer stays as it was scored.
        (promoted,) = edits(found, PromoteBud)
        assert promoted.layer == 1 and redrawn(redraw, NET, "bud")[1] == ()
    total = 59 * (24 - sum(NET.widths))
    assert drawn_anew + activated == total
    low, high = binom.ppf([1e-6, 1 - 1e-6], total, 0.5)
    assert low <= drawn_anew <= high


def test_redrawing_and_layers_happen_once_an_epoch() -> None:
    settings = replace(ALWAYS, redraw=1.0)
    for step, whole in ((100, True), (110, False), (190, False), (200, True)):
        found = decided(settings, scores(buds={0: 0.9}), step=step)
        assert bool(edits(found, Redraw)) is whole
        assert bool(edits(found, PromoteBud)) is whole
    # A round that stands for steps across the beginning of an epoch stands for that too.
    found = decided(settings, scores(buds={0: 0.9}), step=104)
    assert edits(found, PromoteBud)


def test_the_best_bud_becomes_a_layer_where_it_passes() -> None:
    # bud_factor times the threshold: 0.3.
    for buds, expected in (({0: 0.29}, None), ({0: 0.31, 2: 0.4}, 2), ({1: 0.5, 2: 0.4}, 1)):
        found = edits(decided(ALWAYS, scores(buds=buds), step=100), PromoteBud)
        assert [e.layer for e in found] == ([] if expected is None else [expected])
    promoted = edits(decided(ALWAYS, scores(buds={1: 0.5}), step=100), PromoteBud)[0]
    assert promoted.capacity == 3  # two of two are more than nine tenths: room for half more
    assert not edits(
        decided(ALWAYS, scores(buds={1: 0.5}), step=100, layer_allowed=False), PromoteBud
    )


@pytest.mark.parametrize(
    ("limit", "value", "allowed"),
    [
        ("per_block", 2, [2]),
        ("per_block", 1, []),
        ("max_layers", 3, []),
        ("max_layers", 4, [1]),
        ("max_hidden", 11, [1]),
        ("max_hidden", 10, []),
        ("max_width", 1, []),
        ("deepens", False, []),
    ],
)
def test_no_layer_goes_beyond_a_limit(limit: str, value: Any, allowed: list[int]) -> None:
    changes: dict[str, Any] = {limit: value}
    settings = replace(ALWAYS, widens=False, **changes)
    found = decided(settings, scores(buds={1: 0.9, 2: 0.5}), step=100)
    assert [e.layer for e in edits(found, PromoteBud)] == allowed


def test_what_was_activated_leaves_no_room_for_a_layer_beyond_the_limit() -> None:
    settings = replace(ALWAYS, max_hidden=11)
    found = decided(settings, scores(gains={(0, 4): 0.5}, buds={1: 0.9}), step=100)
    after = carried_out(NET, found)
    assert sum(after.widths) <= 11 and edits(found, Activate)


def test_a_rejection_is_told_once_an_epoch() -> None:
    told = [decided(ALWAYS, scores(gains={(0, 4): 0.05}), step=s) for s in range(10, 310, 10)]
    assert [len(d) for d in told].count(1) == 3
    for step, decisions in zip(range(10, 310, 10), told, strict=True):
        assert bool(decisions) is (step % 100 == 0)
        for decision in decisions:
            assert decision.edit is None and "is not above tau = 0.1" in decision.reason
            assert decision.candidates[0].score == pytest.approx(0.05)
            assert not decision.candidates[0].passes


def test_room_is_made_for_what_is_too_full() -> None:
    net = NET.with_layer(1, width=8)
    found = decided(ALWAYS, scores(net), net)
    (edit,) = edits(found, Enlarge)
    assert (edit.layer, edit.capacity) == (1, 12)
    assert decided(replace(ALWAYS, max_width=8), scores(net), net) == []
    most = edits(decided(replace(ALWAYS, max_width=10), scores(net), net), Enlarge)
    assert [e.capacity for e in most] == [10]
    # What is activated in the round finds the room that there was before.
    gains = {(0, c): 0.5 for c in range(3, 8)}
    rest = decided(ALWAYS, scores(gains=gains))
    assert carried_out(NET, rest).widths[0] == 8 and not edits(rest, Enlarge)


def test_draws_do_not_depend_on_capacity() -> None:
    wide = NET.with_layer(0, capacity=20).with_layer(2, capacity=11)
    settings = replace(ALWAYS, activate=0.05, leave=0.02, redraw=0.3)
    costs = {(2, 0): 0.01, (0, 1): 0.02}
    different = 0
    for step in range(100, 3000, 50):
        one, two = (
            decided(settings, scores(n, gains=EVERYTHING, costs=costs), n, step)
            for n in (NET, wide)
        )
        first, second = edits(one, Activate), edits(two, Activate)
        assert [(e.layer, sorted(e.units)) for e in first] == [
            (e.layer, sorted(c for c in e.units)) for e in second
        ]
        different += len(first)
        assert edits(one, RemoveUnit) == [] or [
            (e.layer, e.unit) for e in edits(one, RemoveUnit)
        ] == [(e.layer, e.unit) for e in edits(two, RemoveUnit)]
        for a, b in zip(edits(one, Redraw), edits(two, Redraw), strict=False):
            for mine, theirs, layer in zip(
                redrawn(a, NET), redrawn(b, NET), NET.hidden, strict=True
            ):
                assert mine == tuple(c for c in theirs if c < layer.capacity)
    assert different > 10


def test_what_comes_into_use_pays_for_its_parameters() -> None:
    # A channel of the first layer has 9 input weights, and 9 x 2 output weights; N is 1000.
    data: Any = SimpleNamespace(y=np.zeros(1000), rows=None)
    for price, expected in ((1.0, [0]), (0.5 * 1000 * 0.4 / 27 - 1e-3, [0]), (20.0, [])):
        settings = replace(ALWAYS, price=price, deepens=False)
        found = decided(settings, scores(gains={(0, 3): 0.4}), data=data)
        assert [e.layer for e in edits(found, Activate)] == expected


def test_nobody_pays_from_a_loss_that_the_present_weights_can_take_away() -> None:
    data: Any = SimpleNamespace(y=np.zeros(1000), rows=None)
    settings = replace(ALWAYS, price=1.0, deepens=False)
    # eta is 1: of a loss of 0.5 + d, additions can gain d an example; a channel has 27 weights.
    for more, passes in ((0.0, False), (0.026, False), (0.028, True)):
        found = decided(
            settings, scores(gains={(0, 3): 0.4}), data=data, loss=lambda more=more: 0.5 + more
        )
        assert bool(edits(found, Activate)) is passes
