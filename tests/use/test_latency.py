from __future__ import annotations

import pytest

from senn_cli.nets.architecture import Layer
from senn_cli.nets.mlp import MlpArchitecture, initial_parameters
from senn_cli.use import latency
from senn_cli.use.latency import IN_A_ROW, REPEATS, measure_latency


def test_medians_of_both_networks_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which the compact network takes 1 s, then 2 s, ..., the padded one 10 times that.

    The median of 1 to 50 is 25.5.
    """
    assert REPEATS == 50
    now, times = 0.0, []
    for first in range(1, REPEATS + 1, IN_A_ROW):
        for factor in (1, 10):
            for i in range(first, first + IN_A_ROW):
                times += [now, now + factor * i]
                now += factor * i + 0.5
    ticks = iter(times)
    monkeypatch.setattr(latency.time, "perf_counter", lambda: next(ticks))  # made up
    architecture = MlpArchitecture(3, 2, (Layer(2, 4, "tanh"),))
    found = measure_latency(architecture, initial_parameters(architecture, 0))
    assert (found.compact, found.padded) == pytest.approx((25.5, 255.0))
    assert next(ticks, None) is None
