"""Writing a spec as YAML, with every default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from senn_cli.spec.duration import UNITS
from senn_cli.spec.earlier import HEADER
from senn_cli.spec.paths import BASE_DIRECTORY
from senn_cli.spec.spec import Spec
from senn_cli.spec.yaml import core_tag

_TEXT = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or 1.2 would read as something else."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a plain scalar; a text that looks like a 1.2 number must not be plain."""
        tag = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]
        if kind is yaml.ScalarNode and implicit[0] and tag == _TEXT:
            return f"tag:yaml.org,2002:{core_tag(value)}"
        return tag

    def ignore_aliases(self, data: Any) -> bool:
        """Writes everything out."""
        return True


class _Inline(dict[str, Any]):
    """A mapping that is written in braces."""


def _inline(dumper: _Dumper, value: Any) -> yaml.Node:
    if isinstance(value, _Inline):
        return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=True)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)


def _string(dumper: _Dumper, value: str) -> yaml.Node:
    # Line ends would be folded; PyYAML loses those that only YAML 1.1 takes for line ends.
    style = '"' if value.splitlines() != [value] else None
    return dumper.represent_scalar(_TEXT, value, style=style)


_Dumper.add_representer(str, _string)
_Dumper.add_representer(_Inline, _inline)
_Dumper.add_representer(list, _inline)


def dump_spec(spec: Spec, base_dir: Path | None = None) -> str:
    """The spec as YAML with every default written out; loading it gives an equal spec.

    Args:
      spec: its paths are written as they are, absolute if the spec was loaded.
      base_dir: where it will lie; paths below are written relative to it.
    """
    written = _styled(spec.model_dump(mode="json", context={BASE_DIRECTORY: base_dir}))
    return f"{HEADER}\n{_dumped(written)}"


def as_yaml(values: dict[str, Any]) -> str:
    """Plain values as YAML: lists in one line each, but a list of mappings with one a line."""
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            rows = "".join(f"  - {_dumped(_Inline(one))}" for one in value)
            lines.append(f"{key}:\n{rows}")
        else:
            lines.append(_dumped({key: _Inline(value) if isinstance(value, dict) else value}))
    return "".join(lines)


def _dumped(value: Any) -> str:
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _styled(value: Any) -> Any:
    if isinstance(value, dict):
        # What names a section's variant stands first, whichever class declares it.
        names = ("source", "kind", *(("policy", "proposals") if "policy" in value else ()))
        first = [key for key in names if key in value]
        order = [*first, *(key for key in value if key not in first)]
        styled = {key: _styled(value[key]) for key in order}
        return _Inline(styled) if len(styled) == 1 and next(iter(styled)) in UNITS else styled
    return value
