"""What an origin's network becomes under another spec: layers, new parts, frozen parts.

Nothing here needs JAX. This is all of a transfer that depends on the kind of network; what is done
with the arrays does not. A part is an entry of the tree of parameters, such as `map_0`, or one
array of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from senn_cli.data.dataset import Dataset
from senn_cli.errors import SpecError, UsageError
from senn_cli.nets.densenet import DenseArchitecture
from senn_cli.nets.features import Architecture, Map, readers, standing
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.nets.tables import entries
from senn_cli.spec import Spec
from senn_cli.spec.checks import cross_faults
from senn_cli.spec.describe import dotted
from senn_cli.spec.network import DenseNetSpec
from senn_cli.training.origin import Origin
from senn_cli.training.plan import bud_of
from senn_cli.words import plural


def adopted(spec: Spec, origin: Origin) -> tuple[Spec, tuple[str, ...]]:
    """The spec with the origin's layers in place of its own, and notes on what it had written.

    Raises:
      SpecError: the layers break a limit of the spec, such as `expansion.max_hidden`.
    """
    section, found = spec.network, origin.architecture
    # A spec knows one activation; where the origin has several, its first layer's.
    activation = next((h.activation for h in found.hidden), section.activation)
    changes: dict[str, Any] = {"activation": activation}
    if isinstance(found, DenseArchitecture):
        blocks = tuple(tuple(layer.width for layer in block) for block in found.blocks)
        changes |= {"blocks": blocks, "pool": found.pool}
        changes["bud"] = _bud(spec, found)
    else:
        changes["hidden"] = found.widths
    notes = [
        f"network.{key} is {_shown(getattr(section, key))} in the spec; the origin's "
        f"{_shown(value)} is used."
        for key, value in changes.items()
        if key not in ("bud", "capacity")
        and key in section.model_fields_set
        and getattr(section, key) != value
    ]
    if isinstance(found, DenseArchitecture) and section.kind == "densenet":
        room = section.capacity.initial
        if room is not None and any(capacity != room for capacity in found.capacities):
            notes.append(
                f"network.capacity.initial is {room} in the spec; the origin's "
                f"{_shown(found.capacities)} are used."
            )
    if isinstance(found, MlpArchitecture) and section.kind == "mlp":
        written, capacities = section.capacity.initial, found.capacities
        if written is not None and written != capacities:
            notes.append(
                f"network.capacity.initial is {_shown(written)} in the spec; the origin's "
                f"{_shown(capacities)} is used."
            )
        changes["capacity"] = section.capacity.model_copy(update={"initial": capacities})
    network = section.model_copy(update=changes)
    spec = spec.model_copy(update={"network": network})
    faults = [f"{dotted(one.path)} {one.message}" for one in cross_faults(spec)]
    if faults:
        raise SpecError(
            f"with the layers of {origin.name}, {_shown(found.widths)}, "
            f"the spec does not fit: {'; '.join(faults)}",
            hint="Raise the limit in the spec or with --set.",
        )
    return spec, tuple(notes)


def _bud(spec: Spec, found: DenseArchitecture) -> int:
    """Channels of the buds of the new run: as `network.bud` says, and by default the origin's.

    A run that inserts no layers has none. Where the origin has none, the default is that of a run
    of its own.
    """
    blocks = tuple(tuple(layer.width for layer in block) for block in found.blocks)
    network = spec.network.model_copy(update={"blocks": blocks})
    wanted = bud_of(spec.model_copy(update={"network": network}))
    assert isinstance(network, DenseNetSpec)
    return found.bud if wanted and network.bud is None and found.bud else wanted


def _shown(value: Any) -> str:
    """A value as YAML has it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return str(value)


def destination(
    origin: Origin, dataset: Dataset, spec: Spec
) -> tuple[AnyArchitecture, dict[str, str]]:
    """The architecture for these data, and the parts that start anew, each with the reason.

    Args:
      spec: as `adopted` gives it.

    Raises:
      UsageError: the origin has other inputs or outputs than the data, where those should be kept,
        or nothing of it would be left.
    """
    found, replaced, settings = origin.architecture, dict[str, str](), spec.transfer
    after = _for_data(found, dataset)
    if isinstance(after, DenseArchitecture) and isinstance(spec.network, DenseNetSpec):
        after, replaced = _with_buds(after, spec.network.bud or 0)
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


def _with_buds(found: DenseArchitecture, bud: int) -> tuple[DenseArchitecture, dict[str, str]]:
    """The architecture with buds of `bud` channels, and the parts that are new because of that."""
    after = replace(found, bud=bud)
    if bud in (0, found.bud):
        return after, {}
    anew = f"new buds of {plural(bud, 'channel')}, the origin has {found.bud or 'none'}"
    parts = {wire.name: anew for wire in after.maps if wire.target.role == "bud"}
    parts |= {f"{wire.name}/bud": anew for wire in after.maps if wire.target.role == "hidden"}
    return after, parts


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


def _for_data(found: AnyArchitecture, dataset: Dataset) -> AnyArchitecture:
    """The architecture with the inputs and outputs of the data."""
    if isinstance(found, DenseArchitecture):
        shape = tuple(dataset.train.x.shape[1:])
        if len(shape) not in (2, 3):
            raise UsageError(
                f"a densenet needs images, but an example of source {dataset.name} has shape "
                f"{shape}"
            )
        height, width, channels = (*shape, 1)[:3]
        return replace(found, image=(height, width, channels), outputs=dataset.outputs)
    return replace(found, inputs=dataset.inputs, outputs=dataset.outputs)


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
