"""Runs written by hand for pages: one that grew, and a long one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.handmade import added, event, inserted, row, run_directory

SECONDS = {"train": 4.0, "score": 1.0, "surgery": 0.5, "compile": 3.0, "total": 10.0}


def candidate(kind: str, site: str, ratio: float | None) -> dict[str, Any]:
    """The best proposal of a site."""
    return {"kind": kind, "site": site, "ratio": ratio}


def grown_run(path: Path, **more: Any) -> Path:
    """A finished run of two layers, the first inserted, with a rejection in every round."""
    width, depth = candidate("width", "layer 0", 4.0), candidate("depth", "map 0", -0.25)
    return run_directory(
        path,
        history=[
            event(10, [2], site="layer 0", ratio=0.25, train_loss=1.0, candidates=[width, depth]),
            added(20, [3], 0, 0.5, ratio=4.0, train_loss=0.75, candidates=[width, depth]),
            inserted(30, [2, 3], 0, 0.25, ratio=9.0, train_loss=0.5, candidates=[depth, width]),
            added(40, [2, 4], 1, 0.125, ratio=2.0, train_loss=0.375, candidates=[width]),
            added(40, [2, 5], 1, 0.0625, ratio=1.0, train_loss=0.375),
            event(50, [2, 5], ratio=0.125, train_loss=0.25, reason="ratio 0.125 is too low"),
        ],
        metrics=[
            row(
                10 * k,
                [2] if k < 4 else [2, 4],
                train_loss=1 / k,
                validation_loss=1.25 / k,
                validation_accuracy=1 - 0.5 / k,
                parameters=20,
                seconds=2.0 * k,
            )
            for k in range(1, 6)
        ],
        summary={
            "status": "finished",
            "steps": 50,
            "epochs": 5.0,
            "test_accuracy": 0.875,
            "parameters": 70,
            "seconds": SECONDS,
        },
        **more,
    )


def long_run(path: Path, decisions: int) -> Path:
    """A run with this many decisions, every tenth accepted."""
    history, width = [], 2
    for k in range(decisions):
        step = k + 1
        found = [
            candidate("width", "layer 0", 0.001 * ((7 * k) % 4001) - 0.5),
            candidate("depth", "map 0", 0.01),
            candidate("depth", "map 1", 2.0**-k if k < 900 else 0.0),
        ]
        known: dict[str, Any] = {
            "candidates": found, "train_loss": 1 + 1 / step, "ratio": 0.001 * ((7 * k) % 4001),
            "seconds": {"score": 0.01},
        }  # fmt: skip
        if k % 10 == 0:
            width += 1
            history.append(added(step, [width], 0, 0.01, **known))
        else:
            reason = f"ratio {0.001 * k:.3g} of layer 0 is not above tau = 0.5"
            history.append(event(step, [width], site="layer 0", **known | {"reason": reason}))
    metrics = [row(k, [2], train_loss=1 + 1 / k) for k in range(1, decisions + 1)]
    return run_directory(path, history=history, metrics=metrics)
