"""Which units an edit brings into use, and where they are after later edits."""

from __future__ import annotations

import numpy as np

from senn_cli.growth.edits import Edit, edit_architecture
from senn_cli.growth.lineage import NEW, lineage
from senn_cli.nets.features import Architecture, feature_named

Units = dict[str, np.ndarray]
"""By the name of a hidden feature some of its units, bool `(capacity,)`."""


def newborn(architecture: Architecture, edit: Edit) -> Units:
    """The units in use after `edit` that were not before it: new, woken, or copies of others.

    Of a unit that was split the first in order goes on; the others are new.
    """
    lines, found = lineage(architecture, edit), {}
    for feature in edit_architecture(architecture, edit).features:
        if feature.role != "hidden":
            continue
        line, here = lines[feature.name], np.arange(feature.capacity)
        width = 0 if line.before is None else feature_named(architecture, line.before).width
        kept = (line.units != NEW) & (line.units < width)
        first = np.zeros(feature.capacity, bool)
        first[np.unique(line.units, return_index=True)[1]] = True
        found[feature.name] = (here < feature.width) & ~(kept & first)
    return found


def followed(units: Units, architecture: Architecture, edit: Edit) -> Units:
    """Where `units` of `architecture` are after `edit`; copies of them are of them, too."""
    lines, found = lineage(architecture, edit), {}
    for feature in edit_architecture(architecture, edit).features:
        if feature.role != "hidden":
            continue
        line = lines[feature.name]
        before = units.get(line.before or "", np.zeros(1, bool))
        there = (line.units != NEW) & (line.units < len(before))
        found[feature.name] = there & before[np.where(there, line.units, 0)]
    return found
