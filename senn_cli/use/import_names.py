"""The mapping of a fully connected network that the names of a file's arrays amount to.

`0.weight`, `0.bias`, `2.weight` ... of an `nn.Sequential`, with whatever before them; `fc1.weight`,
`out.weight`; `params/Dense_0/kernel` of Flax. The order of the maps is that of the numbers in their
names, and of sizes that fit; where more than one order is left, or none, the file is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from senn_cli.errors import UsageError
from senn_cli.use.import_tasks import task_of
from senn_cli.use.weights_files import Told, WeightsFile
from senn_cli.words import plural

_TRIES = 20_000
"""Steps in the search for the order of the maps: there are usually as many as maps."""

_PARTS = re.compile(r"[./]")
_HINT = (
    "Say in a mapping file which array is what: senn import WEIGHTS MAPPING. A fully connected "
    "network needs none; a DenseNet does."
)
_LAYERS = (
    (r"(running_(mean|var)|num_batches_tracked|moving_(mean|variance))$", "of a BatchNorm"),
    (r"(weight|bias)_(ih|hh)_l\d+(_reverse)?$", "of a recurrent layer (RNN, LSTM, GRU)"),
    (r"in_proj_(weight|bias)$", "of a MultiheadAttention"),
    (r"(gamma|beta|scale)$", "of a normalisation (LayerNorm, BatchNorm)"),
    (r"embedding[s]?$", "of an Embedding"),
)


def told(file: WeightsFile) -> Told:
    """The mapping of the arrays in `file`; its activation is not known.

    Raises:
      UsageError: arrays of layers that there are not, all of which are named; or sizes and names
        that leave no order, or more than one.
    """
    ignored = [name for name in file.names if _PARTS.split(name)[0].startswith("optim")]
    names = [name for name in file.names if name not in ignored]
    shapes = {name: tuple(file.shape(name)) for name in names}
    kernels = {
        _stem(name): name
        for name, shape in shapes.items()
        if len(shape) == 2 and _leaf(name) in ("weight", "kernel")
    }
    biases = {
        _stem(name): name
        for name, shape in shapes.items()
        if len(shape) == 1 and _leaf(name) == "bias" and _stem(name) in kernels
    }
    known = {*kernels.values(), *biases.values()}
    strange = [f"{n} {_shown(shapes[n])} {_what(n, shapes)}" for n in names if n not in known]
    if strange:
        raise UsageError(
            f"{file.path} holds more than the linear maps of a fully connected network: "
            f"{'; '.join(strange[:8])}{'; ...' if len(strange) > 8 else ''}",
            hint="Of these only the convolutions of a DenseNet can be imported, by a mapping file; "
            "what the function does not need is named in its `ignore:`.",
        )
    if not kernels:
        raise UsageError(f"{file.path} holds no linear maps: {', '.join(names)}", hint=_HINT)
    turned = {stem: _leaf(name) == "weight" for stem, name in kernels.items()}
    sizes: dict[str, tuple[int, int]] = {}
    for stem, name in kernels.items():
        first, second = shapes[name]
        sizes[stem] = (second, first) if turned[stem] else (first, second)
    order = _ordered(file, sizes)
    maps = []
    for stem in order:
        entry: dict[str, Any] = {"kernel": kernels[stem]}
        if stem in biases:
            entry["bias"] = biases[stem]
        maps.append(entry | ({"transpose": True} if turned[stem] else {}))
    task, notes = task_of(sizes[order[-1]][1], "identity")
    values = {"kind": "mlp", "maps": maps, "preprocessing": {}, **task}
    said = (
        "inputs are taken as the network was fed; `--set preprocessing={shift: S, scale: F}` "
        "scales them, (x - S) F"
    )
    ignoring = {"ignore": ignored} if ignored else {}
    return Told(values | ignoring, {"preprocessing": said} | notes)


def _stem(name: str) -> str:
    return name[: -len(_leaf(name))]


def _leaf(name: str) -> str:
    return _PARTS.split(name)[-1]


def _shown(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"


def _what(name: str, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """What a layer that there is not seems to be."""
    for pattern, layer in _LAYERS:
        if re.search(pattern, name):
            return layer
    stem, rank = _stem(name), len(shapes[name])
    if f"{stem}running_mean" in shapes:
        return "of a BatchNorm"
    main = next((shapes[stem + leaf] for leaf in ("weight", "kernel") if stem + leaf in shapes), ())
    rank = max(rank, len(main)) if _leaf(name) == "bias" else rank
    if rank == 1 and _leaf(name) in ("weight", "bias"):
        alone = f"{stem}bias" not in shapes
        return "of a PReLU" if alone else "of a normalisation (LayerNorm, BatchNorm)"
    return f"of a Conv{rank - 2}d" if rank in (3, 4, 5) else "of no layer that is known"


def _ordered(file: WeightsFile, sizes: Mapping[str, tuple[int, int]]) -> list[str]:
    """The only order in which every map reads what the one before yields.

    Names that differ in numbers alone stand in the order of these numbers.
    """
    groups: dict[str, list[str]] = {}
    for stem in sorted(sizes, key=_natural):
        groups.setdefault(re.sub(r"\d+", "#", stem), []).append(stem)
    found: list[list[str]] = []
    for order in _orders(tuple(groups.values()), sizes, file):
        found.append(order)
        if len(found) == 2:
            break
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{stem.rstrip('./')} {a} -> {b}" for stem, (a, b) in sizes.items())
    why = (
        f"could follow each other as {_arrows(found[0])}, or as {_arrows(found[1])}"
        if found
        else "do not follow each other in the order of their numbers, or in any"
    )
    raise UsageError(
        f"{file.path}: {plural(len(sizes), 'linear map')} ({listed}) {why}", hint=_HINT
    )


def _arrows(order: Sequence[str]) -> str:
    return " -> ".join(stem.rstrip("./") for stem in order)


def _natural(stem: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", stem)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def _orders(
    groups: tuple[list[str], ...], sizes: Mapping[str, tuple[int, int]], file: WeightsFile
) -> Iterator[list[str]]:
    """All orders of the stems that keep that of every group, and in which the sizes fit."""
    tries = 0

    def walk(places: tuple[int, ...], order: list[str]) -> Iterator[list[str]]:
        nonlocal tries
        tries += 1
        if tries > _TRIES:
            raise UsageError(f"{file.path}: the order of its maps is not found", hint=_HINT)
        if len(order) == len(sizes):
            yield order
        for number, (group, place) in enumerate(zip(groups, places, strict=True)):
            if place == len(group):
                continue
            stem = group[place]
            if not order or sizes[order[-1]][1] == sizes[stem][0]:
                after = tuple(p + (n == number) for n, p in enumerate(places))
                yield from walk(after, [*order, stem])

    yield from walk((0,) * len(groups), [])
