"""Short names that tell runs from each other."""

from __future__ import annotations

from collections.abc import Sequence

from senn_cli.report.record import Record


def labels(records: Sequence[Record], *, seeds_alone: bool = False) -> list[str]:
    """A short name for every run that no other has: its spec's, with its seed, or its directory.

    Args:
      records: the runs; what was read of one run up to different steps has different names, too.
      seeds_alone: leave the spec's name out where it is the same for several runs.
    """
    specs = [record.name for record in records]
    seeds = [f"seed {record.spec.get('seed')}" for record in records]
    both = [f"{name}, {seed}" for name, seed in zip(specs, seeds, strict=True)]
    folders = [record.path.name for record in records]
    steps = [f"{record.path}, step {record.last_step}" for record in records]
    same = seeds_alone and len(set(specs)) == 1 and len(records) > 1
    for choice in (seeds if same else specs, both, folders, steps):
        if len(set(choice)) == len(records):
            return choice
    return [str(record.path) for record in records]
