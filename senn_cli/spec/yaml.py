"""YAML 1.2 for specs: PyYAML with the core schema, and with the place of every value.

PyYAML reads YAML 1.1, where `no` is false, `12:30` is 750, `017` is 15 and `3e-4` is a text. Here
its resolvers are replaced by those of YAML 1.2's core schema: null, true, false, integers (also
`0x` and `0o`) and real numbers are what they look like and everything else is a text. Decimal
numbers with leading zeros (`017`) are texts too, since nobody agrees on what they mean.
Anchors, aliases and `<<` merges work. A key given twice is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from senn_cli.spec.describe import printable
from senn_cli.spec.nodes import Entry, Node, YamlFault

_TAG = "tag:yaml.org,2002:"
_MOST_DIGITS = 4000  # Python refuses to read integers of more than 4300 digits


class _Resolver(yaml.resolver.BaseResolver):
    """Which plain scalars are something else than texts: YAML 1.2's core schema."""


_SIGNED = list("-+0123456789.")
for _kind, _pattern, _first in (
    ("null", r"^(?:null|Null|NULL|~|)$", ["n", "N", "~", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^(?:[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)$", _SIGNED),
    (
        "float",
        r"^(?:[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        _SIGNED,
    ),
    ("merge", r"^<<$", ["<"]),
):
    _Resolver.add_implicit_resolver(_TAG + _kind, re.compile(_pattern), _first)


def core_tag(text: str) -> str:
    """The kind of value a plain scalar is read as: `str`, `null`, `bool`, `int` or `float`."""
    resolver: Any = _Resolver()  # PyYAML's stubs leave `resolve` untyped
    tag: str = resolver.resolve(yaml.ScalarNode, text, (True, False))
    return tag.removeprefix(_TAG)


class _Composer(
    yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser, yaml.composer.Composer, _Resolver
):
    """Text to PyYAML's nodes; nothing is constructed, so no tag can run code."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)
        yaml.composer.Composer.__init__(self)
        _Resolver.__init__(self)


@dataclass
class _Builder:
    """PyYAML's nodes to ours, collecting faults on the way."""

    filename: str | None
    origin: str
    faults: list[YamlFault] = field(default_factory=list)
    done: dict[int, Node] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)

    def place(self, node: yaml.Node) -> tuple[str, int | None]:
        """The origin and line of a node."""
        if self.filename is None:
            return self.origin, None
        line = node.start_mark.line + 1
        return f"{self.filename}:{line}", line

    def blame(
        self, node: yaml.Node, path: tuple[str | int, ...], message: str, *, lost: bool = True
    ) -> None:
        """Notes a fault at a node."""
        whole = "" if path else "the value " if self.filename is None else "the spec "
        self.faults.append(YamlFault(*self.place(node), path, whole + message, lost))

    def build(self, node: yaml.Node, path: tuple[str | int, ...]) -> Node:
        """Our node; an alias gives the very node of its anchor."""
        if id(node) in self.open:
            self.blame(node, path, "contains itself through an alias")
            return Node(None, *self.place(node))
        if id(node) not in self.done:
            self.open.add(id(node))
            self.done[id(node)] = Node(self._value(node, path), *self.place(node))
            self.open.discard(id(node))
        return self.done[id(node)]

    def _value(self, node: yaml.Node, path: tuple[str | int, ...]) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self.blame(node, path, f"has the tag {_shown(node.tag)}, which specs don't know")
        return None

    def _scalar(self, node: yaml.ScalarNode, path: tuple[str | int, ...]) -> Any:
        text, kind = node.value, node.tag.removeprefix(_TAG)
        if kind in ("str", "merge"):
            return text
        # A tag can be written out, so the text need not look like what the tag says.
        if kind not in ("null", "bool", "int", "float"):
            self.blame(node, path, f"has the tag {_shown(node.tag)}, which specs don't know")
        elif core_tag(text) != kind and not (kind == "float" and core_tag(text) == "int"):
            self.blame(node, path, f'has the tag !!{kind} but is "{printable(text[:40])}"')
        elif kind == "bool":
            return text.lower() == "true"
        elif kind == "float":
            return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        elif kind == "int" and len(text) > _MOST_DIGITS:
            self.blame(node, path, "is a number of too many digits")
        elif kind == "int":
            return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        return None

    def _mapping(self, node: yaml.MappingNode, path: tuple[str | int, ...]) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: list[yaml.Node] = []
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.blame(key_node, path, "has a key that is not a text", lost=False)
                continue
            key = key_node.value
            origin, line = self.place(key_node)
            if key_node.tag == _TAG + "merge":
                merged.append(value_node)
                continue
            if key in entries:
                before = entries[key].line
                lines = f", on line {before} and on line {line}" if line is not None else ""
                self.blame(key_node, (*path, key), f"is given twice{lines}", lost=False)
                continue
            entries[key] = Entry(origin, line, self.build(value_node, (*path, key)))
        for value_node in merged:
            for source in self._merge_sources(value_node, path):
                for key, entry in source.items():
                    entries.setdefault(key, entry)
        return entries

    def _merge_sources(
        self, node: yaml.Node, path: tuple[str | int, ...]
    ) -> Iterator[dict[str, Entry]]:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.build(source, (*path, "<<")).value
            if isinstance(value, dict):
                yield value
            else:
                self.blame(source, (*path, "<<"), "should name mappings, such as `<<: *base`")


def _shown(tag: str) -> str:
    return printable(tag.replace(_TAG, "!!"))


def read_yaml(
    text: str, *, filename: str | None = None, origin: str = ""
) -> tuple[Node, list[YamlFault]]:
    """Reads one YAML document.

    Args:
      text: the document.
      filename: its name in messages; None for text that has no lines worth naming.
      origin: what messages say instead of a file and line where there is no filename.

    Returns:
      the root and the faults found in it. After a syntax error the root is empty and the error
      is the only fault.
    """
    builder = _Builder(filename, origin)
    try:
        root = _Composer(text).get_single_node()
        if root is not None:
            return builder.build(root, ()), builder.faults
        where, line = (origin, None) if filename is None else (f"{filename}:1", 1)
        return Node(None, where, line), []
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None and filename is not None else None
        message = _syntax(error, text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if filename is not None else None
        message = f"the character {error.character!r} is not allowed in YAML"
        if isinstance(error.character, int):
            message = f"the character U+{error.character:04X} is not allowed in YAML"
    except RecursionError:
        line, message = (None if filename is None else 1), "nested too deeply"
    where = origin if filename is None else f"{filename}:{line or 1}"
    return Node(None, where, line), [YamlFault(where, line, (), message, lost=True)]


# PyYAML's words for the most frequent slips, in a user's terms.
_MEANINGS = {
    "mapping values are not allowed": "a `: ` where none can be; put quotes around a text that "
    "contains it",
    "expected <block end>": "indented differently from the lines above it, or something before it "
    "is not closed",
    "could not find expected ':'": "a key without `: ` behind it",
    "found unexpected end of stream": "a quote or bracket is not closed",
    "expected ',' or ']'": "a list in brackets that is not closed, or lacks a comma",
    "expected ',' or '}'": "a mapping in braces that is not closed, or lacks a comma",
}


def _syntax(error: yaml.MarkedYAMLError, text: str) -> str:
    problem = error.problem or error.context or "not valid YAML"
    mark = error.problem_mark
    if "expected a single document" in (error.context or ""):
        return "a second document begins here; a spec is a single one"
    if mark is not None:
        line = text.splitlines()[mark.line] if mark.line < len(text.splitlines()) else ""
        indentation = line[: len(line) - len(line.lstrip())]
        if "\t" in indentation or "'\\t'" in problem:
            return f"a tab in column {mark.column + 1}; YAML is indented with spaces alone"
    where = f" (column {mark.column + 1})" if mark is not None else ""
    for beginning, meaning in _MEANINGS.items():
        if problem.startswith(beginning):
            return f"not valid YAML: {meaning}{where}"
    return f"not valid YAML: {printable(problem)}{where}"
