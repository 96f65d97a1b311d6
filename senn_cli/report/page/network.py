"""The network as a diagram: its features in columns and the maps between them.

The page draws it at any step of the history: which layers there were, and how wide, is told by the
widths over the steps (`growth.layers`). What an architecture is made of is asked of its features
and maps alone, so that every kind of network can be drawn.
"""

from __future__ import annotations

from typing import Any

from senn_cli.nets.features import Architecture
from senn_cli.report.overview import last_architecture
from senn_cli.report.record import Record
from senn_cli.report.tracks import tracks


def network(record: Record) -> dict[str, Any]:
    """`features`, `maps`, and `connected`, whether it is known which map reads what.

    A feature has `name`, `group` (such as `block 0`; empty where there are none), `role` (`data`,
    `hidden` or `outputs`), `layer` (its place among the layers of the page, null of others),
    `width` (of data and outputs; null where that is not known) and `column`, in which it is drawn:
    the most maps that lie between the data and it. A map has `target` and `sources`, places among
    the features, and `window`, the positions of a convolution (empty of a dense map).

    Raises:
      RunError: what is saved of the network is damaged.
    """
    found = last_architecture(record)
    if found is not None:
        return _of(found.without_buds(), [track.group for track in tracks(record)])
    # Nothing is saved yet: the layers alone are known, and of a network without blocks their order.
    names = [(track.name, track.group) for track in tracks(record)]
    features = [_feature("inputs", "", "data", None, None, 0)]
    for index, (name, group) in enumerate(names):
        features.append(_feature(name, group, "hidden", index, None, index + 1))
    features.append(_feature("outputs", "", "outputs", None, None, len(names) + 1))
    connected = record.kind == "mlp"
    pairs = range(len(features) - 1) if connected else ()
    maps = [{"target": k + 1, "sources": [k], "window": []} for k in pairs]
    return {"features": features, "maps": maps, "connected": connected}


def _of(architecture: Architecture, groups: list[str]) -> dict[str, Any]:
    places = {feature.name: place for place, feature in enumerate(architecture.features)}
    columns = dict.fromkeys(places, 0)
    for m in architecture.maps:
        columns[m.target.name] = 1 + max(columns[source.feature.name] for source in m.sources)
    return {
        "features": [
            _feature(f.site, groups[f.index], "hidden", f.index, None, columns[f.name])
            if f.role == "hidden"
            else _feature(f.site or f.name, "", f.role, None, f.width, columns[f.name])
            for f in architecture.features
        ],
        "maps": [
            {
                "target": places[m.target.name],
                "sources": sorted({places[source.feature.name] for source in m.sources}),
                "window": list(m.window),
            }
            for m in architecture.maps
        ],
        "connected": True,
    }


def _feature(
    name: str, group: str, role: str, layer: int | None, width: int | None, column: int
) -> dict[str, Any]:
    found = {"name": name, "group": group, "role": role, "layer": layer, "width": width}
    return found | {"column": column}
