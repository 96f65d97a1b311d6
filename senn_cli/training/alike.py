"""Whether all processes of a run train the same: other code or data would part them."""

from __future__ import annotations

import zlib

import jax

from senn_cli.engine.hosts import here
from senn_cli.errors import UsageError
from senn_cli.runs.environment import code
from senn_cli.spec import Spec


def require_alike(spec: Spec, data: str) -> None:
    """Compares code, spec and data of all processes; nothing happens in one alone.

    Args:
      data: a digest of the data.

    Raises:
      UsageError: in every process; says which one differs from process 0, and in what.
    """
    hosts = here()
    if hosts.count == 1:
        return
    mine = {
        "jax": jax.__version__,
        "code": code(),
        "spec": f"{zlib.crc32(spec.model_dump_json().encode()):08x}",
        "data": data,
    }
    first, *others = hosts.gathered("code, spec and data", mine)
    for index, found in enumerate(others, start=1):
        for what, value in found.items():
            if value != first[what]:
                raise UsageError(
                    f"process {index} has another {what} ({value}) than process 0 ({first[what]})",
                    hint="Start all processes with the same installation, spec and data.",
                )
