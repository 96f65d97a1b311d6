"""What an origin's network becomes under another spec: layers, new parts, frozen parts.

Nothing here needs JAX. This is all of a transfer that depends on the kind of network; what is done
with the arrays does not. A part is an entry of the tree of parameters, such as `map_0`, or one
array of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.errors import SpecError, UsageError
from senn_cli.nets.features import Architecture, Map, readers, standing, writer
from senn_cli.nets.registry import kind_of
from senn_cli.nets.tables import entries
from senn_cli.spec import Spec
from senn_cli.spec.checks import cross_faults
from senn_cli.spec.describe import dotted
from senn_cli.training.origin import Origin
from senn_cli.words import plural


def adopted(spec: Spec, origin: Origin) -> tuple[Spec, tuple[str, ...]]:
    """The spec with the origin's layers in place of its own, and notes on what it had written.

    Raises:
      SpecError: the layers break a limit of the spec, such as `expansion.max_hidden`.
    """
    section, found, kind = spec.network, origin.architecture, kind_of(origin.architecture)
    changes = kind.section(found)
    notes = [
        f"network.{key} is {_shown(getattr(section, key))} in the spec; the origin's "
        f"{_shown(value)} is used."
        for key, value in changes.items()
        if key in section.model_fields_set and getattr(section, key) != value
    ]
    written = getattr(getattr(section, "capacity", None), "initial", None)
    capacities = found.capacities
    if written is not None:
        each = written if isinstance(written, tuple) else (written,) * len(capacities)
        if each != capacities:
            notes.append(
                f"network.capacity.initial is {_shown(written)} in the spec; the origin's "
                f"{_shown(capacities)} are used."
            )
    spec = spec.model_copy(update={"network": section.model_copy(update=changes)})
    changes = kind.kept(spec, found)
    spec = spec.model_copy(update={"network": spec.network.model_copy(update=changes)})
    faults = [f"{dotted(one.path)} {one.message}" for one in cross_faults(spec)]
    if faults:
        raise SpecError(
            f"with the layers of {origin.name}, {_shown(found.widths)}, "
            f"the spec does not fit: {'; '.join(faults)}",
            hint="Raise the limit in the spec or with --set.",
        )
    return spec, tuple(notes)


def _shown(value: Any) -> str:
    """A value as YAML has it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)


def destination(
    origin: Origin, dataset: Dataset, spec: Spec
) -> tuple[Architecture, dict[str, str]]:
    """The architecture for these data, and the parts that start anew, each with the reason.

    Args:
      spec: as `adopted` gives it.

    Raises:
      UsageError: the origin has other inputs or outputs than the data, where those should be kept,
        or nothing of it would be left.
    """
    found, settings = origin.architecture, spec.transfer
    example = dataset.train.x.shape[1:]
    begun = kind_of(found).start(spec, example, dataset.outputs, "cpu")
    after = begun.with_blocks(found.blocks)  # with its capacities
    replaced = _new_buds(found, after)
    first, head = _first_parts(found), head_of(found)
    if settings.head == "keep":
        if found.outputs != after.outputs:
            raise UsageError(
                f"transfer.head is keep, but {origin.path} has "
                f"{plural(found.outputs, 'output')} and the data of source {dataset.name} need "
                f"{after.outputs}",
                hint="A new head starts at zero by default: leave transfer.head out.",
            )
    else:
        how = "zero" if settings.head == "zero" else "fresh weights"
        replaced[head] = f"a new head of {how} for {plural(after.outputs, 'output')}"
    if settings.inputs == "fresh":
        anew = f"transfer.inputs is fresh; {_reads(after)}, the origin {_reads(found)}"
        replaced |= {part: anew for part in first if part not in replaced}
    elif _reads(found) != _reads(after):
        raise UsageError(
            f"{first[0]} of {origin.path} reads {_reads(found)}, but an example of source "
            f"{dataset.name} has {_reads(after)}",
            hint="Use data of that size, or start the map from the inputs anew with "
            "--set transfer.inputs=fresh.",
        )
    if all(_anew(m, replaced) for m in standing(found)):
        raise UsageError(
            f"nothing would be left of {origin.path}: its maps are {', '.join(replaced)}, and all "
            "of them would start anew",
            hint="Keep one with transfer.head or transfer.inputs, or use `senn train`.",
        )
    return after, replaced


def _anew(m: Map, replaced: Mapping[str, str]) -> bool:
    """Whether nothing of a map is kept."""
    return m.name in replaced or all(f"{m.name}/{leaf}" in replaced for leaf in m.shapes())


def _new_buds(found: Architecture, after: Architecture) -> dict[str, str]:
    """The parts that are new because the buds have other sizes, or the origin has none."""
    had = {f.name: f.capacity for f in found.features if f.role == "bud"}
    parts: dict[str, str] = {}
    for bud in after.features:
        if bud.role == "bud" and had.get(bud.name) != bud.capacity:
            anew = f"new buds of {plural(bud.capacity, kind_of(after).unit)}, the origin has "
            anew += str(had.get(bud.name, "none"))
            parts[writer(after, bud.name).name] = anew
            parts |= {f"{m.name}/{source.leaf}": anew for m, source in readers(after, bud.name)}
    return parts


def other_inputs(
    found: Architecture, after: Architecture, replaced: Mapping[str, str]
) -> dict[str, str]:
    """The maps whose curvature cannot be kept though some of their weights are, with the reason.

    The factors of a map are over all that it reads; one that reads something else begins anew.
    """
    before = {m.name: _read(m) for m in found.maps}
    return {
        m.name: "the map reads other channels"
        for m in after.maps
        if m.name in before
        and m.name not in replaced
        and (
            _read(m) != before[m.name]
            or any(f"{m.name}/{source.leaf}" in replaced for source in m.sources)
        )
    }


def _read(m: Map) -> list[tuple[str, int]]:
    return [(source.leaf, source.rows) for source in m.sources]


def _reads(architecture: Architecture) -> str:
    """What the first map reads, in words: convolutions take images of any size."""
    data = next(f for f in architecture.features if f.role == "data")
    windows = any(m.window for m, _ in readers(architecture, data.name))
    return plural(data.width, "channel" if windows else "input")


def _first_parts(architecture: Architecture) -> tuple[str, ...]:
    """The parts that read the data: of a map with a bias all of it."""
    return tuple(
        m.name if m.bias else f"{m.name}/{source.leaf}"
        for m in architecture.maps
        for source in m.sources
        if source.feature.role == "data"
    )


def head_of(architecture: Architecture) -> str:
    """The part that feeds the outputs."""
    return next(m.name for m in architecture.maps if m.target.role == "outputs")


def frozen_parts(architecture: Architecture, names: tuple[str, ...]) -> dict[str, str]:
    """The parts that `transfer.freeze` names, each with the name that was written.

    Raises:
      UsageError: a name that is none of this architecture.
    """
    known: dict[str, tuple[str, ...]] = {}
    for m in architecture.maps:
        own = () if m.target.coefficients is None else (m.target.coefficients,)
        site = "output" if m.target.role == "outputs" else m.target.site
        known |= {site: (m.name, *own)} | {part: (part,) for part in (m.name, *own)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(
            f"transfer.freeze names {', '.join(unknown)}; the origin has: {', '.join(known)}"
        )
    return {part: name for name in names for part in known[name]}


def frozen_entries(
    architecture: Architecture,
    names: tuple[str, ...],
    params: Mapping[str, Mapping[str, np.ndarray]],
    replaced: Mapping[str, str],
) -> dict[str, np.ndarray]:
    """For every array of a frozen part a mask of its shape: 1 where an entry in use stays.

    Entries of spare units are not frozen: growth takes them for new units, which are trained.

    Args:
      params: of the new network.
      replaced: the parts that start anew, which cannot be frozen.

    Raises:
      UsageError: a part starts anew, or a name is none of this architecture.
    """
    masks, used = {}, entries(architecture, buds=False)
    for part, name in frozen_parts(architecture, names).items():
        for leaf, array in params[part].items():
            why = replaced.get(part) or replaced.get(f"{part}/{leaf}")
            if why is not None:
                raise UsageError(
                    f"transfer.freeze names {name}, but {part} starts anew ({why}): frozen, it "
                    "would never learn",
                    hint="Leave it out of transfer.freeze, or keep it.",
                )
            mask = np.zeros(array.shape, np.float32)
            mask[used[part][leaf]] = 1.0
            masks[f"{part}/{leaf}"] = mask
    return masks
