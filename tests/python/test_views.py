"""What is shown of a fit: which view, and what that of a notebook says."""

from __future__ import annotations

import subprocess
import sys
import types
from typing import Any

import pytest

from senn_cli.cli.log import Plain
from senn_cli.python import views
from senn_cli.training.observer import Start


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


START = Start("<b>", "", "CPU", "classification", 10, 2, 3, 5, 20, 0, (2,), 9)


def test_which_view(monkeypatch: pytest.MonkeyPatch) -> None:
    assert views.view(0) == []
    for verbose in (1, 2):  # no terminal here, and no notebook
        (view,) = views.view(verbose)
        assert isinstance(view, Plain)
        view.close()
    monkeypatch.setattr(views, "notebook", lambda: lambda text: None)
    (view,) = views.view(1)
    assert isinstance(view, views.Notebook)
    (view,) = views.view(2)
    assert isinstance(view, Plain)
    view.close()


def test_the_view_of_a_notebook_is_redrawn_at_most_so_often() -> None:
    shown: list[str] = []
    clock = Clock()
    view = views.Notebook(shown.append, clock=clock)
    view.start(START)
    view.metrics({"train_loss": 0.5, "hidden": [2]})
    assert len(shown) == 1  # too soon for another
    clock.now += views.INTERVAL
    view.boundary(types.SimpleNamespace(step=5))  # type: ignore[arg-type]
    assert len(shown) == 2 and "step 5/20, loss 0.5" in shown[-1]
    assert '<progress max="20" value="5">' in shown[-1]
    assert "<b>" not in shown[-1] and "&lt;b&gt;" in shown[-1]
    view.note("something <odd>")
    assert "something &lt;odd&gt;" in shown[-1]


def test_the_view_lists_the_newest_rounds_alone() -> None:
    shown: list[str] = []
    view = views.Notebook(shown.append, clock=Clock())
    view.start(START)
    moment: Any = None
    for step in range(views.SHOWN + 3):
        event = {
            "step": step, "epoch": 1.0, "accepted": True, "edit": "add_neurons", "site": "layer 0",
            "layer": 0, "count": 1, "hidden": [step], "loss_before": 0.5,
        }  # fmt: skip
        view.round([event], moment, moment)
    view.end({"status": "finished"})
    view.close()
    text = shown[-1]
    assert "... 3 more" in text and "step 2," not in text
    assert f"step {views.SHOWN + 2}," in text and "finished" in text


def test_elsewhere_there_is_no_notebook() -> None:
    script = "import sys, senn_cli.python.views as v; print(v.notebook(), 'IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "None False\n"
