"""What of a spec may change when a run is resumed: nothing that its earlier part was made from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from senn_cli.errors import UsageError
from senn_cli.spec import Spec

FIXED = (
    "name",
    "seed",
    "data",
    "network",
    "loss",
    "transfer",
    "optimizer.kind",
    "optimizer.solver",
    "optimizer.momentum",
    "optimizer.nesterov",
    "optimizer.fixed_input_factor",
    "training.batch_size",
)
"""Keys that stay, with all below them; the optimizer's decide what state it has."""


def require_compatible(before: Spec, after: Spec) -> None:
    """Raises `UsageError` naming the keys that were changed and cannot be."""
    changed = [
        key
        for fixed in FIXED
        for key in _differences(_at(before, fixed), _at(after, fixed), fixed)
        # Of another kind, so with other options: those are not what was changed.
        if before.optimizer.kind == after.optimizer.kind or _not_below_optimizer(key)
    ]
    if changed:
        raise UsageError(
            f"{' and '.join(changed)} cannot be changed when a run is resumed",
            hint="Start a new run with: senn train SPEC",
        )


def _not_below_optimizer(key: str) -> bool:
    return key == "optimizer.kind" or not key.startswith("optimizer.")


def _at(spec: Spec, path: str) -> Any:
    """The value of a key such as `optimizer.kind`; None where the kind has no such option."""
    value: Any = spec.model_dump()
    for name in path.split("."):
        value = value.get(name)
    return value


def _differences(before: Any, after: Any, path: str) -> Iterator[str]:
    """The deepest keys whose values differ, but only the kind where that differs."""
    if before == after:
        return
    if not (isinstance(before, dict) and isinstance(after, dict)):
        yield path
        return
    for name in ("kind", "source"):
        if before.get(name) != after.get(name):
            yield f"{path}.{name}"
            return
    for name in before:
        yield from _differences(before[name], after.get(name), f"{path}.{name}")
