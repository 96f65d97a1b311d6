"""Faults that involve several keys: each is valid by itself, together they make no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import eq
from typing import TYPE_CHECKING

from senn_cli.spec.augment import ColorSpec, walk
from senn_cli.spec.data import CsvSpec, MoonsSpec, NpzSpec, RegressionSpec, augmentation
from senn_cli.spec.expansion import SearchSpec, StandingSpec
from senn_cli.spec.images import DigitsSpec, FolderSpec
from senn_cli.spec.network import DenseNetSpec, NetworkSpec
from senn_cli.spec.optimizer import NaturalGradientSpec
from senn_cli.spec.under import unread

if TYPE_CHECKING:
    from senn_cli.spec.spec import Spec


@dataclass(frozen=True)
class Found:
    """A fault, before its place in a file is known.

    Attributes:
      path: the key that is blamed.
      message: what is wrong, starting with a verb.
      others: the other keys that the fault depends on, each with dots between its parts.
      unread: whether nothing is wrong but that the key is not read under the spec's choices.
    """

    path: tuple[str | int, ...]
    message: str
    others: tuple[str, ...] = ()
    unread: bool = False

    def involves(self, path: tuple[str | int, ...]) -> bool:
        """Whether the fault depends on a key, or on something above or below it."""
        mine = [self.path, *(tuple(other.split(".")) for other in self.others)]
        return any(all(map(eq, own, path)) for own in mine)  # `map` stops at the shorter path


def cross_faults(spec: Spec) -> list[Found]:
    """All faults that involve several keys, in the order of the checks below."""
    return [found for check in _CHECKS for found in check(spec)]


def unread_faults(spec: Spec) -> Iterator[Found]:
    """What is written and not read under the choices of the spec."""
    for one in unread(spec):
        if one.written:
            others = one.condition.keys(one.path[:-1])
            told = f"is not read here; it belongs to {one.condition.words()}"
            yield Found(one.path, told, others, unread=True)


def _test_part(spec: Spec) -> Iterator[Found]:
    if not isinstance(spec.data, NpzSpec | CsvSpec):
        return
    path, others = ("data", "test"), ("data.test_path",)
    if spec.data.test_path is None and spec.data.test == 0:
        yield Found(path, "should not be 0 without data.test_path: a test set is needed", others)
    if spec.data.test_path is not None and spec.data.test != 0:
        yield Found(path, "should be left out when data.test_path names the test set", others)


def _validation(spec: Spec) -> Iterator[Found]:
    path, validation = ("data", "validation"), spec.data.validation
    if isinstance(spec.data, MoonsSpec | RegressionSpec):
        drawn = spec.data.train
        if isinstance(validation, int) and validation >= drawn:
            yield Found(
                path,
                f"should be below data.train, {drawn}, to leave examples to train on, found "
                f"{validation}",
                ("data.train",),
            )
        return
    # Folders may bring a test set of their own, which makes `test` void.
    test = 0 if isinstance(spec.data, FolderSpec) else getattr(spec.data, "test", 0)
    if isinstance(test, float) and isinstance(validation, float) and test + validation >= 1:
        yield Found(
            path,
            f"should leave something to train on: data.test takes {test:g} and data.validation "
            f"{validation:g}",
            ("data.test",),
        )


def _augment(spec: Spec) -> Iterator[Found]:
    if not isinstance(spec.data, DigitsSpec):
        return
    for path, step in walk(augmentation(spec.data)):
        if isinstance(step, ColorSpec):
            yield Found(
                ("data", "augment", *path),
                "should not be color for digits: their pixels go from 0 to 16, not to 255",
                ("data.source",),
            )


def _densenet(spec: Spec) -> Iterator[Found]:
    if not isinstance(spec.network, DenseNetSpec):
        return
    if isinstance(spec.data, CsvSpec | MoonsSpec | RegressionSpec):
        yield Found(
            ("network", "kind"),
            f"should be mlp for data.source {spec.data.source}: a densenet needs images",
            ("data.source",),
        )
    if isinstance(spec.expansion, SearchSpec):
        for name in ("depth", "prune"):
            if getattr(spec.expansion, name).enabled:
                yield Found(
                    ("expansion", name),
                    f"should be off where a densenet searches for its channels; write `{name}: "
                    "false`, or `proposals: dormant`",
                    ("network.kind", "expansion.proposals", "expansion.policy"),
                )
    if isinstance(spec.optimizer, NaturalGradientSpec) and spec.optimizer.solver != "kfac":
        yield Found(
            ("optimizer", "solver"),
            f"should be kfac for a densenet, found {spec.optimizer.solver}",
            ("network.kind", "optimizer.preset"),
        )
    initial = spec.network.capacity.initial
    if initial is not None and initial < max(spec.network.hidden):
        yield Found(
            ("network", "capacity", "initial"),
            f"should be at least {max(spec.network.hidden)}, the largest of network.blocks, found "
            f"{initial}",
            ("network.blocks",),
        )


def _dormant(spec: Spec) -> Iterator[Found]:
    if not isinstance(spec.network, NetworkSpec) or not isinstance(spec.expansion, StandingSpec):
        return
    if spec.expansion.depth.enabled:
        yield Found(
            ("expansion", "depth"),
            "should be off for the dormant proposals of an mlp, which has no buds; write "
            "`depth: false`, or `proposals: search`",
            ("network.kind", "expansion.proposals", "expansion.policy"),
        )


def _capacity(spec: Spec) -> Iterator[Found]:
    if not isinstance(spec.network, NetworkSpec):
        return
    hidden, initial = spec.network.hidden, spec.network.capacity.initial
    if initial is None:
        return
    path, others = ("network", "capacity", "initial"), ("network.hidden",)
    if len(initial) != len(hidden):
        yield Found(
            path,
            f"should have one capacity a hidden layer, {len(hidden)} for network.hidden, found "
            f"{len(initial)}",
            others,
        )
        return
    for index, (capacity, width) in enumerate(zip(initial, hidden, strict=True)):
        if capacity < width:
            yield Found(
                (*path, index),
                f"should be at least network.hidden.{index}, {width}, found {capacity}",
                others,
            )


def _metric(spec: Spec) -> Iterator[Found]:
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


def _limits(spec: Spec) -> Iterator[Found]:
    expansion, hidden = spec.growth, spec.network.hidden
    if expansion is None:
        return
    others = ("network.hidden", "expansion.policy")
    most = expansion.max_hidden
    if most is not None and most < sum(hidden):
        yield Found(
            ("expansion", "max_hidden"),
            f"should be at least {sum(hidden)}, the sum of network.hidden, found {most}",
            others,
        )
    most = expansion.width.max_width
    if expansion.width.enabled and most is not None and most < max(hidden, default=0):
        yield Found(
            ("expansion", "width", "max_width"),
            f"should be at least {max(hidden)}, the largest of network.hidden, found {most}",
            (*others, "expansion.width.enabled"),
        )
    most = expansion.depth.max_layers
    if expansion.depth.enabled and most is not None and most < len(hidden):
        yield Found(
            ("expansion", "depth", "max_layers"),
            f"should be at least {len(hidden)}, the layers of network.hidden, found {most}",
            (*others, "expansion.depth.enabled"),
        )


def _growth(spec: Spec) -> Iterator[Found]:
    expansion = spec.growth
    if expansion is None or expansion.depth.enabled or expansion.prune.enabled:
        return
    others = ("expansion.width.enabled", "expansion.depth.enabled", "expansion.prune.enabled")
    if not expansion.width.enabled:
        yield Found(
            ("expansion", "policy"),
            f"should not be {expansion.policy} when width, depth and prune are all switched off, "
            "as nothing can change; write `policy: none` for a fixed architecture",
            others,
        )
    elif not spec.network.hidden:
        yield Found(
            ("expansion", "depth"),
            "should not be switched off when network.hidden is empty: there is no layer to widen",
            (*others, "network.hidden", "expansion.policy"),
        )


def _searches(spec: Spec) -> Iterator[Found]:
    if not isinstance(spec.expansion, SearchSpec):
        return
    for name, search in (("width", spec.expansion.width), ("depth", spec.expansion.depth)):
        draws_one = search.method == "mala"
        if search.enabled and search.polished > search.proposals and not draws_one:
            yield Found(
                ("expansion", name, "polished"),
                f"should be at most expansion.{name}.proposals, {search.proposals}, found "
                f"{search.polished}",
                (f"expansion.{name}.proposals", f"expansion.{name}.enabled"),
            )


def _window(spec: Spec) -> Iterator[Found]:
    growth = spec.growth
    start, until = (None, None) if growth is None else (growth.start, growth.until)
    if start is None or until is None or start.unit != until.unit:
        return
    if until.value < start.value:
        yield Found(
            ("expansion", "until"),
            f"should not come before expansion.start, {start}, found {until}",
            ("expansion.start",),
        )


def _warmup(spec: Spec) -> Iterator[Found]:
    warmup, length = spec.optimizer.schedule.warmup, spec.training.length()
    if warmup is not None and warmup.unit == length.unit and warmup.value > length.value:
        yield Found(
            ("optimizer", "schedule", "warmup"),
            f"should not be longer than training, {length}, found {warmup}",
            ("training.steps", "training.epochs", "training.minutes"),
        )


def _schedule(spec: Spec) -> Iterator[Found]:
    kind, length = spec.optimizer.schedule.kind, spec.training.length()
    if length.unit == "minutes" and kind != "constant":
        yield Found(
            ("optimizer", "schedule"),
            f"should be constant when training is limited in minutes, found {kind}: its end is "
            "not known in advance",
            ("optimizer.schedule.kind", "training.minutes"),
        )


def _best(spec: Spec) -> Iterator[Found]:
    stop, task = spec.training.stop, spec.data.task
    watched = {("checkpoints", "best"): spec.checkpoints.best}
    watched |= {("training", "stop"): None if stop is None else stop.metric}
    figures = {"classification": "validation_accuracy", "regression": "validation_mse"}
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


_CHECKS: tuple[Callable[[Spec], Iterator[Found]], ...] = (
    _test_part,
    _validation,
    _augment,
    _densenet,
    _dormant,
    _capacity,
    _metric,
    _limits,
    _growth,
    _searches,
    _window,
    _warmup,
    _schedule,
    _best,
)
