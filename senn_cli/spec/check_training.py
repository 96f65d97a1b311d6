"""Faults between the optimizer, the length of training, the task and what is watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from senn_cli.spec.describe import alternatives
from senn_cli.spec.found import Found
from senn_cli.spec.loss import NATURAL, REGRESSION
from senn_cli.spec.optimizer import NaturalGradientSpec, SgdSpec

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec


def loss(spec: Spec) -> Iterator[Found]:
    """The loss is one of the task's."""
    kind, task = spec.loss.kind, spec.data.task
    natural = NATURAL[task]
    fitting = ("auto", natural) if task != "regression" else ("auto", *REGRESSION)
    if kind not in fitting:
        yield Found(
            ("loss", "kind"),
            f"should be {alternatives(fitting)}: the task of data.source {spec.data.source} is a "
            f"{task}, found {kind}",
            ("data.source", "data.task"),
        )


def metric(spec: Spec) -> Iterator[Found]:
    """The metric is that of the task."""
    if not isinstance(spec.optimizer, NaturalGradientSpec):
        return
    metric, task = spec.optimizer.metric, spec.data.task
    belongs = {"softmax": "classification", "gaussian": "regression"}.get(metric, task)
    if belongs != task:
        yield Found(
            ("optimizer", "metric"),
            f"should not be {metric}, the metric of a {belongs}: the task of data.source "
            f"{spec.data.source} is a {task}; auto chooses by task",
            ("data.source", "data.task"),
        )


def nesterov(spec: Spec) -> Iterator[Found]:
    """What looks ahead along the momentum needs some."""
    if (
        isinstance(spec.optimizer, SgdSpec)
        and spec.optimizer.nesterov
        and not spec.optimizer.momentum
    ):
        yield Found(
            ("optimizer", "nesterov"),
            "is not read here; it belongs to a momentum above 0",
            ("optimizer.momentum",),
            unread=True,
        )


def warmup(spec: Spec) -> Iterator[Found]:
    """The warmup ends before training does."""
    warmup, length = spec.optimizer.schedule.warmup, spec.training.length()
    if warmup is not None and warmup.unit == length.unit and warmup.value > length.value:
        yield Found(
            ("optimizer", "schedule", "warmup"),
            f"should not be longer than training, {length}, found {warmup}",
            ("training.steps", "training.epochs", "training.minutes"),
        )


def schedule(spec: Spec) -> Iterator[Found]:
    """A schedule whose end is not known is constant."""
    kind, length = spec.optimizer.schedule.kind, spec.training.length()
    if length.unit == "minutes" and kind != "constant":
        yield Found(
            ("optimizer", "schedule"),
            f"should be constant when training is limited in minutes, found {kind}: its end is "
            "not known in advance",
            ("optimizer.schedule.kind", "training.minutes"),
        )


def best(spec: Spec) -> Iterator[Found]:
    """What is watched is measured, and watching has a consequence."""
    stop, task = spec.training.stop, spec.data.task
    watched = {("checkpoints", "best"): spec.checkpoints.best}
    watched |= {("training", "stop"): None if stop is None else stop.metric}
    figures = dict.fromkeys(NATURAL, "validation_accuracy") | {"regression": "validation_mse"}
    for path, metric in watched.items():
        if metric is None:
            continue
        if metric in figures.values() and metric != figures[task]:
            yield Found(
                path,
                f"should not be {metric}: the task of data.source {spec.data.source} is a {task}, "
                f"which has {figures[task]}",
                ("data.source", "data.task"),
            )
        elif metric.startswith("validation_") and spec.data.validation == 0:
            yield Found(
                path,
                f"should not be {metric} when data.validation is 0; train_loss needs no "
                "validation part",
                ("data.validation",),
            )
    if stop is not None and stop.patience is None and not stop.restore:
        yield Found(
            ("training", "stop", "restore"),
            "should be true where training.stop.patience is null, or nothing comes of it; "
            f"`checkpoints.best: {stop.metric}` keeps the best network beside the last",
            ("training.stop.patience",),
        )
