"""Options that nothing reads, where they are not the user's fault: they give way.

Up to format 1 a run's resolved spec held all options, those without effect included. It must go on
being read, so they are dropped there. Nor has anybody written those of a resolved spec that another
choice leaves without effect, as `--set training.stop=train_loss` does when a run is resumed. And
`--set expansion.policy=none` says of any file what is meant, though it says how it would grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from senn_cli.spec.found import Found
from senn_cli.spec.nodes import Node, locate, plain

FORMAT = 3
"""Of resolved specs: 1 had all options and no word of it, 2 has those that are read."""

HEADER = f"# A spec as senn resolved it, format {FORMAT}: everything that has an effect."
"""The first line of a resolved spec."""

_GIVES_WAY_TO = ("expansion.policy",)
# What a section of another kind shares with the old one, such as a learning rate, is for the old.
_KINDS = ("data.source", "network.kind", "optimizer.kind")


_OF_SAMPLES = ("samples", "bias_removed", "score_damping")


def without_samples(root: Node, *, old: bool) -> Node:
    """A resolved spec without the options of standing proposals that were scored on samples.

    An mlp's were once. The networks of such runs are read; `resume` refuses to go on with them.

    Args:
      old: whether it is one of format 1, whose standing proposals had a price that nobody asked.
    """
    values = plain(root)
    expansion, network = values.get("expansion"), values.get("network")
    if not isinstance(expansion, dict) or not isinstance(network, dict):
        return root
    proposals = expansion.get("proposals")
    left = proposals is None and "blocks" in network  # to the kind, and that was a densenet
    if proposals != "dormant" and not (old and left):
        return root
    return dropped(root, [("expansion", name) for name in (*_OF_SAMPLES, *(["price"] * old))])


def without_an_end(root: Node) -> Node:
    """A resolved spec that does not say what growth accepts, as it was meant: nothing ended growth.

    A price of 0 was the way to say `accept: paper`; others asked for no progress of rounds.
    """
    values = plain(root)
    expansion = values.get("expansion")
    if not isinstance(expansion, dict) or "accept" in expansion or "price" not in expansion:
        return root
    if expansion.get("policy") == "none":
        return root
    section = root.value["expansion"]
    entries = dict(section.node.value)
    price = entries["price"]
    if expansion["price"] == 0:
        del entries["price"]
        entries["accept"] = replace(price, node=replace(price.node, value="paper"))
    elif expansion.get("proposals") != "dormant":
        entries["patience"] = replace(price, node=replace(price.node, value=None))
    changed = replace(section, node=replace(section.node, value=entries))
    return replace(root, value={**root.value, "expansion": changed})


def is_old(file: Path, text: str) -> bool:
    """Whether `file` with `text` is the resolved spec of a run of format 1."""
    named = file.name == "spec.yaml" or (file.stem.startswith("spec-") and file.suffix == ".yaml")
    return named and not is_resolved(text) and (file.parent / "metrics.jsonl").is_file()


def is_resolved(text: str) -> bool:
    """Whether senn wrote it out."""
    return text.startswith(HEADER)


def gives_way(root: Node, one: Found, *, resolved: bool) -> bool:
    """Whether an override chose what leaves a key of the file without effect."""
    if _overridden(root, one.path):
        return False
    keys = [k for k in one.others if k in _GIVES_WAY_TO or (resolved and k not in _KINDS)]
    return any(_overridden(root, tuple(key.split("."))) for key in keys)


def _overridden(root: Node, path: tuple[str | int, ...]) -> bool:
    return locate(root, path)[1] is None  # what a file says has a line


def dropped(root: Node, paths: Iterable[tuple[str | int, ...]]) -> Node:
    """The spec without the keys at `paths`; `root` itself where there are none."""
    for path in paths:
        root = _without(root, path)
    return root


def _without(node: Node, path: tuple[str | int, ...]) -> Node:
    key, rest = path[0], path[1:]
    entries = node.value
    if not isinstance(entries, dict) or key not in entries:
        return node
    if not rest:
        return replace(node, value={name: e for name, e in entries.items() if name != key})
    below = entries[key].node
    inner = _without(below, rest)
    if inner is below:
        return node
    return replace(node, value={**entries, str(key): replace(entries[key], node=inner)})
