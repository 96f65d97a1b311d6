"""Which name was meant."""

from __future__ import annotations

import pytest

from senn_cli.spec.suggest import closest


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("lerning_rate", ["learning_rate", "damping"], "learning_rate"),
        ("learningRate", ["learning_rate", "damping"], "learning_rate"),
        ("learning-rate", ["learning_rate"], "learning_rate"),
        ("Senn", ["senn", "random", "none"], "senn"),
        ("lr", ["learning_rate", "kind"], "learning_rate"),
        ("wd", ["weight_decay"], "weight_decay"),
        ("tau", ["threshold", "stop"], "threshold"),
        ("val", ["validation", "subset"], "validation"),
        ("mlp-clas", ["mlp-classification", "mlp-regression"], "mlp-classification"),
        ("mlp", ["mlp-classification", "mlp-regression"], None),
        ("accuracy", ["train_loss", "validation_accuracy"], "validation_accuracy"),
        ("loss", ["train_loss", "validation_loss"], None),
        ("lr", ["damping"], None),
        ("x", ["xy"], None),
        ("zebra", ["learning_rate", "damping"], None),
        ("", ["a"], None),
    ],
)
def test_closest(name: str, known: list[str], meant: str | None) -> None:
    assert closest(name, known) == meant
