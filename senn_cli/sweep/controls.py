"""Controls: what a run that has grown is compared with, made from the run itself.

| control | what it is |
|---|---|
| `static` | a network of the final shape from the start, as many steps |
| `static_same_compute` | the same for as many steps as cost what the growing run's steps did |
| `random_growth` | the same times and sites, random weights, as many units at most |
| `width_only` | growth by units alone, up to the parameters that the run ended with |
| `depth_only` | growth by layers alone, likewise |

Seed, data, optimizer and all else are the run's own; of a run that started from another one's
network, so is the start of what grows, while `static` ones start from weights that are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from senn_cli.errors import UsageError
from senn_cli.nets.features import Architecture
from senn_cli.nets.registry import kind_of
from senn_cli.report.flops import PASSES, forward, training
from senn_cli.report.record import Record, architecture_at, read_record
from senn_cli.spec import dump_spec, load_spec, parse_spec
from senn_cli.spec.base import LARGEST
from senn_cli.spec.describe import dotted
from senn_cli.spec.errors import Fault, InvalidSpecError
from senn_cli.sweep.choices import drawn
from senn_cli.sweep.folder import Folder
from senn_cli.sweep.plan import Member
from senn_cli.sweep.read import Sweep

STATIC = ("static", "static_same_compute")
"""Those that do not grow."""


def made(folder: Folder, member: Member, origin: Member) -> Member:
    """A control with its spec.

    Args:
      folder: of the sweep.
      member: the control.
      origin: the run that it is made from, which has finished.

    Raises:
      SpecError, RunError, UsageError: it cannot be made from that run.
    """
    assert member.control is not None
    record = read_record(folder.run(origin))
    changes = {"name": member.setting} | _changes(member.control, record)
    overrides = [drawn(option, value, "the control") for option, value in changes.items()]
    start = None if member.control in STATIC else origin.origin
    return replace(member, spec=load_spec(folder.spec(origin), overrides), origin=start)


def require_makeable(sweep: Sweep, known: Sequence[Member]) -> None:
    """Refuses controls that cannot be made of a member, whatever comes of its run.

    Raises:
      SpecError: such as depth alone of a policy that inserts no layers; names the sweep's line.
    """
    origins = {member.name: member for member in known}
    faults: dict[Fault, None] = {}
    for member in known:
        origin = origins.get(member.of or "")
        if origin is None or origin.spec is None or member.control in STATIC:
            continue
        assert member.control is not None
        changes = _growth(member.control, LARGEST, LARGEST)
        overrides = [drawn(option, value, "the control") for option, value in changes.items()]
        try:
            parse_spec(dump_spec(origin.spec), overrides=overrides)
        except InvalidSpecError as error:
            place = sweep.root.value["controls"]
            why = "; ".join(f"{dotted(one.path)} {one.message}" for one in error.faults)
            told = f"has {member.control}, which cannot be made of {origin.setting}: {why}"
            faults[Fault(place.origin, place.line, ("controls",), told)] = None
    if faults:
        raise InvalidSpecError(list(faults))


def _changes(control: str, record: Record) -> dict[str, Any]:
    summary = record.summary or {}
    match control:
        case "static":
            return _static(record)
        case "static_same_compute":
            length = {"training.steps": _same_compute(record)}
            units = ("epochs", "minutes")
            gone = {f"training.{u}": None for u in units if u in record.spec["training"]}
            return _static(record) | gone | length
        case _:
            return _growth(control, sum(summary["hidden"]), summary["parameters"])


def _growth(control: str, hidden: int, parameters: int) -> dict[str, Any]:
    """Of a control that grows, with what its run ended with as its limits."""
    if control == "random_growth":
        return {"expansion.policy": "random", "expansion.max_hidden": hidden or None}
    other = "depth" if control == "width_only" else "width"
    return {f"expansion.{other}.enabled": False, "expansion.max_parameters": parameters}


def _final(record: Record) -> Architecture:
    """The shape that a run ended with: that of its best evaluation where it took that network."""
    end = (record.ending or {}).get("end") or {}
    if end.get("restored"):
        architecture = architecture_at(record.path, int(end["step"]))
    else:
        architecture = record.architecture
    if architecture is None:
        raise UsageError(
            f"{record.path} has no checkpoint that tells its final shape",
            hint="The sweep's specs should keep one: see checkpoints.",
        )
    return architecture


def _static(record: Record) -> dict[str, Any]:
    architecture = _final(record)
    shape = kind_of(architecture).section(architecture)
    capacity = {} if record.kind != "mlp" else {"network.capacity.initial": None}
    return (
        {"expansion.policy": "none"}
        | {f"network.{key}": value for key, value in shape.items()}
        | capacity
    )


def _same_compute(record: Record) -> int:
    """Steps of the final network that cost what the run's steps did."""
    spent = training(record)
    if spent is None:
        raise UsageError(f"{record.path} has no metrics that tell what its steps have cost")
    return max(1, round(spent / (PASSES * forward(_final(record)))))
