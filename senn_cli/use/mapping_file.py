"""Reading a mapping, of a file of YAML or as it was found without one; all faults are told."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from senn_cli.errors import UsageError
from senn_cli.spec.describe import alternatives, describe, printable
from senn_cli.spec.errors import Fault, choose, explain
from senn_cli.spec.nodes import locate, plain
from senn_cli.spec.overrides import apply_overrides
from senn_cli.spec.suggest import closest
from senn_cli.spec.text import read_text
from senn_cli.spec.yaml import read_yaml
from senn_cli.use.import_mapping import DenseNetMapping, Mapping, MlpMapping

OTHERS = (
    "A network that was trained with another activation computes something else with one of these: "
    "put the closest in its place where the network was trained, train it on for some epochs, and "
    "import that."
)
"""What to do about a network with an activation that there is not."""

_KINDS: dict[str, type[MlpMapping] | type[DenseNetMapping]] = {
    "mlp": MlpMapping,
    "densenet": DenseNetMapping,
}


def read_mapping(path: Path, overrides: Sequence[str] = ()) -> Mapping:
    """The mapping in a YAML file, with `key=value` overrides as `--set` takes them.

    Raises:
      UsageError: it cannot be read, or has faults, all of which are listed.
    """
    shown = printable(str(path))
    try:
        text = read_text(path, "mapping", UsageError)
    except FileNotFoundError:
        raise UsageError(f"{shown}: no such file") from None
    return parse_mapping(text, shown, overrides)


def parse_mapping(text: str, shown: str, overrides: Sequence[str] = ()) -> Mapping:
    """The mapping in a text of YAML.

    Args:
      text: what a mapping file holds, or what was found without one.
      shown: how to call it in an error.
      overrides: `key=value`, values as YAML.

    Raises:
      UsageError: it has faults, all of which are listed.
    """
    root, found = read_yaml(text, filename=shown)
    if not found and isinstance(root.value, dict):
        root, found = apply_overrides(root, overrides)
    if found:
        raise _invalid([Fault(f.origin, f.line, f.path, f.message) for f in found])
    if not isinstance(root.value, dict):
        raise UsageError(
            f"{shown}: a mapping file has keys such as `kind: mlp`, found {describe(plain(root))}",
            title="Invalid mapping",
        )
    data = plain(root)
    kind = data.get("kind")
    model = _KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        told = "is missing; it should be mlp or densenet" if kind is None else choose(_KINDS, kind)
        raise _invalid([Fault(*locate(root, ("kind",)), ("kind",), told)])
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = [_explained(one, model) for one in error.errors(include_url=False)]
    raise _invalid([Fault(*locate(root, at), at, told) for at, told in faults])


def _invalid(faults: list[Fault]) -> UsageError:
    lines = [str(one) for one in sorted(faults, key=lambda one: one.line or 0)]
    other = any(one.path == ("activation",) and "should be one of" in one.message for one in faults)
    hint = OTHERS if other else None
    return UsageError("\n".join(dict.fromkeys(lines)), title="Invalid mapping", hint=hint)


def _explained(
    error: Dictionary[str, Any], model: type[MlpMapping | DenseNetMapping]
) -> tuple[tuple[str | int, ...], str]:
    """Where a key is wrong, and what about it."""
    path = tuple(error["loc"])
    if error["type"] == "extra_forbidden":
        known = list(model.model_fields) if len(path) == 1 else []
        near = closest(str(path[-1]), known)
        hint = f"; did you mean {near}?" if near else ""
        listed = f"; there are {alternatives(known, last='and')}" if known and not near else ""
        return path, f"is no key of a mapping{hint}{listed}"
    if error["type"] in ("too_short", "string_too_short"):
        return path, "should not be empty"
    (one,) = explain(error)
    return path, one.message
