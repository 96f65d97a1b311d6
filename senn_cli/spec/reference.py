"""What is known of options as text: for a terminal, and as the reference of all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from senn_cli.spec.describe import alternatives
from senn_cli.spec.explain import Entry, Form, entries, explained

_HEAD = """# Every option of a spec

Written by `senn explain --all`; `senn explain NAME` shows one. Names are keys from the top of a
spec, joined by dots. Places are those of the paper, "Self-Expanding Neural Networks" (ICML 2024).
"""


def as_text(entry: Entry, width: int = 100, kind: str = "") -> str:
    """An entry for a terminal: what an option is, or the options of a section under a kind."""
    lines = [entry.name]
    lines += [_wrapped(meaning, "  ", width) for meaning in _meanings(entry)]
    rows = list(_rows(entry))
    label = max((len(name) for name, _ in rows), default=0) + 2
    lines += [""] if rows else []
    lines += [_wrapped(text, f"  {name:<{label}}", width, 2 + label) for name, text in rows]
    if entry.members:
        names = [name.rpartition(".")[2] for name in entry.members]
        room = max(map(len, names)) + 2
        lines.append("")
        for member, name in zip(entry.members, names, strict=True):
            first = explained(member, kind).forms[0].meaning
            lines.append(_wrapped(_sentence(first), f"  {name:<{room}}", width, 2 + room))
        lines += ["", f"One of them: senn explain {entry.members[0]}"]
    return "\n".join(lines) + "\n"


def as_list(width: int = 100) -> str:
    """The top of a spec: its sections and single options, a line each."""
    top = [entry for name, entry in entries().items() if "." not in name]
    room = max(len(entry.name) for entry in top) + 2
    lines = [
        _wrapped(_sentence(entry.forms[0].meaning), f"{entry.name:<{room}}", width, room)
        for entry in top
    ]
    return "\n".join([*lines, "", "More of one: senn explain data, senn explain optimizer.kl_clip"])


def as_markdown() -> str:
    """The reference of all options."""
    parts = [_HEAD]
    for name, entry in entries().items():
        if entry.members or "." not in name:
            level = "#" * (2 + name.count("."))
            parts.append(f"{level} {name}\n")
            parts += [f"{meaning}\n" for meaning in _meanings(entry)]
            if not entry.members:
                parts.append("\n".join(f"- {label}: {text}" for label, text in _rows(entry)) + "\n")
            parts += [_item(entries()[m]) for m in entry.members if not entries()[m].members]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _item(entry: Entry) -> str:
    """An option as an item of a list."""
    lines = [f"- **`{entry.name}`**: {' / '.join(_meanings(entry))}"]
    lines += [f"  - {label}: {text}" for label, text in _rows(entry)]
    return "\n".join(lines) + "\n"


def _meanings(entry: Entry) -> list[str]:
    """What it is: once, or for every member of a union for which it differs."""
    told = list(dict.fromkeys(form.meaning for form in entry.forms))
    if len(told) == 1:
        return told
    return [
        f"{form.meaning} ({_members(form)})" if form.members else form.meaning
        for form in entry.forms
    ]


def _rows(entry: Entry) -> Iterator[tuple[str, str]]:
    """What else is told of an option: a label and its text."""
    if not entry.members:
        yield "takes", _each(entry, [form.takes for form in entry.forms])
        if entry.note is not None and entry.note.unit:
            yield "unit", entry.note.unit
        yield "default", _each(entry, [form.default for form in entry.forms])
    members = tuple(dict.fromkeys(m for form in entry.forms for m in form.members))
    if members:
        yield "belongs to", _collapsed(members)
    needs = tuple(dict.fromkeys(need for form in entry.forms for need in form.needs))
    if needs:
        yield "read where", "; and ".join(needs)
    if entry.note is not None:
        yield "trades", entry.note.trade
        if entry.note.paper:
            yield "paper", entry.note.paper


def _each(entry: Entry, values: list[str]) -> str:
    """A value, or where members differ each with those that it is of."""
    if len(set(values)) == 1:
        return values[0]
    own = [form.members[0].rpartition(": ")[2] if form.members else "" for form in entry.forms]
    if values == own:  # what says which member it is
        return alternatives(values)
    grouped: dict[str, list[str]] = {}
    for form, value in zip(entry.forms, values, strict=True):
        grouped.setdefault(value, []).extend(form.members)
    return "; ".join(
        f"{value} ({_collapsed(tuple(members))})" if members else value
        for value, members in grouped.items()
    )


def _members(form: Form) -> str:
    return _collapsed(form.members)


def _collapsed(members: tuple[str, ...]) -> str:
    """`kind: adam, adamw or lion`, with every key once."""
    by_key: dict[str, list[str]] = {}
    for member in members:
        key, _, value = member.partition(": ")
        by_key.setdefault(key, []).append(value)
    return " or ".join(f"{key}: {alternatives(values)}" for key, values in by_key.items())


def _sentence(text: str) -> str:
    """The first part of a text, up to a colon, a semicolon or a full stop."""
    for stop in (". ", "; ", ": "):
        text = text.partition(stop)[0]
    return text.rstrip(".")


def _wrapped(text: str, head: str, width: int, indent: int | None = None) -> str:
    rest = " " * (len(head) if indent is None else indent)
    return textwrap.fill(text, width, initial_indent=head, subsequent_indent=rest)
