"""Over which devices a run goes, and which of its arrays lie where.

One axis, `data`: batches and samples lie on it by their rows, whatever is learnt lies whole on
every device. A program runs where its arguments lie (`programs.py`): it is traced with their mesh
around it, so that `by_rows` has the compiler divide a batch, and what follows, over the devices.
Sums over the batch then are sums over all devices, and random numbers are those of one device: the
same in all but rounding. On one device no mesh is there, and nothing of this is in any program.

All holds for several processes, too, each of which has some of the devices and runs the same
programs in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from senn_cli.engine.hosts import here
from senn_cli.errors import DeviceError
from senn_cli.runs.environment import machine_memory
from senn_cli.spec.device import DeviceSpec
from senn_cli.words import plural

AXIS = "data"

Lying: TypeAlias = "tuple[Mesh, tuple[bool, ...]] | None"
"""A mesh, and of every array whether it lies by rows; None where arrays lie on one device."""


@dataclass(frozen=True)
class Placement:
    """Over which devices a run goes.

    Attributes:
      mesh: of all of them; None for JAX's default device.
      limit: bytes of one array of data that a device takes whole.
    """

    mesh: Mesh | None = None
    limit: float = math.inf

    @property
    def count(self) -> int:
        """How many devices there are, in all processes."""
        return 1 if self.mesh is None else self.mesh.size

    def divides(self, size: int) -> bool:
        """Whether data of `size` bytes are divided over the devices, not whole on each."""
        return self.mesh is not None and size > self.limit

    def replicated(self, tree: Any) -> Any:
        """`tree` whole on every device. Every process has the same values."""
        if self.mesh is None:
            return jax.device_put(tree)
        whole = _lying(self.mesh, rows=False)
        if jax.process_count() == 1:
            return jax.device_put(tree, whole)

        def put(array: Any) -> jax.Array:
            if getattr(array, "sharding", None) == whole:
                there: jax.Array = array
                return there
            here = np.asarray(array)
            return jax.make_array_from_callback(here.shape, whole, lambda index: here[index])

        return jax.tree.map(put, tree)

    def shapes(self, tree: Any) -> Any:
        """What `replicated` would make of `tree`, as shapes and types to compile for."""
        leaves, structure = jax.tree.flatten(tree)
        where = None if self.mesh is None else (self.mesh, (False,) * len(leaves))
        return jax.tree.unflatten(structure, structs(leaves, where))

    def rows(self, tree: Any) -> Any:
        """`tree` with the rows of its arrays divided evenly, in their order, over the devices.

        So that they can be, rows of zeros follow the last: `padded` says how many there are then.
        Of an array in NumPy's memory, or on a disk, a process reads what its own devices get.
        """
        if self.mesh is None:
            return jax.device_put(tree)
        return jax.tree.map(self._divided, tree)

    def _divided(self, array: Any) -> jax.Array:
        assert self.mesh is not None
        shape = (self.padded(len(array)), *array.shape[1:])

        def piece(index: tuple[slice, ...] | None) -> np.ndarray:
            assert index is not None
            start, stop, _ = index[0].indices(shape[0])
            there = np.asarray(array[start:stop])
            gap = [(0, stop - start - len(there))] + [(0, 0)] * (there.ndim - 1)
            return np.pad(there, gap) if gap[0][1] else there

        return jax.make_array_from_callback(shape, _lying(self.mesh, rows=True), piece)

    def padded(self, count: int) -> int:
        """The least multiple of the number of devices that is no less than `count`."""
        return -(-count // self.count) * self.count


ONE = Placement()
"""One device: JAX's default."""


def placement(wanted: DeviceSpec) -> Placement:
    """The placement over the first devices of every process that a spec asks for.

    Raises:
      DeviceError: a process has fewer.
    """
    every = [jax.local_devices(process) for process in range(jax.process_count())]
    there = min(map(len, every))
    count = there if wanted.count == "all" else wanted.count
    if count > there:
        forced = "; a CPU is more than one where XLA_FLAGS says so"
        raise DeviceError(
            f"device.count is {count}, but JAX finds {plural(there, 'device')}",
            hint="Write `device: {count: all}` for those that there are; `senn doctor` lists them"
            f"{forced if every[0][0].platform == 'cpu' else ''}.",
        )
    devices = [device for own in every for device in own[:count]]
    limit = wanted.limit(here().agreed("the memory", _room(jax.local_devices())))
    if len(devices) == 1:
        return Placement(None, limit)
    # Axes that the compiler divides as it sees fit: explicit ones would make every operation on a
    # batch say how its result lies, and one program could not serve one device and several.
    return Placement(Mesh(np.array(devices), (AXIS,), axis_types=(AxisType.Auto,)), limit)


def _room(devices: Sequence[jax.Device]) -> float:
    """Bytes of memory that each of the devices of a process has; those of a CPU share its own."""
    told = devices[0].memory_stats() or {}
    return told.get("bytes_limit") or (machine_memory() or math.inf) / len(devices)


def placement_of(array: jax.Array) -> Placement:
    """Over which devices a run goes of which this is an array."""
    found = _named(array)
    return ONE if found is None else Placement(_mesh(found))


def by_rows(array: jax.Array) -> jax.Array:
    """`array`, its rows divided over the devices of the program that is being traced.

    They need not be a multiple of the devices: the compiler gives some of them fewer.
    """
    if jax.sharding.get_abstract_mesh().empty:
        return array
    return _lie(array, divided=True)


def settled(result: Any, rows: Sequence[int]) -> Any:
    """The result of the program that is being traced, lying as it shall.

    Args:
      rows: which of its entries lie by rows. Arrays whose rows are no multiple of the devices lie
        whole, like all others.
    """
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty:
        return result
    entries, structure = jax.tree.flatten(result, is_leaf=lambda part: part is not result)

    def lie(array: jax.Array, *, divided: bool) -> jax.Array:
        return _lie(array, divided=divided and array.shape[0] % mesh.size == 0)

    return jax.tree.unflatten(
        structure,
        [
            jax.tree.map(partial(lie, divided=number in rows), entry)
            for number, entry in enumerate(entries)
        ],
    )


def lying(arrays: Sequence[Any]) -> Lying:
    """How the arguments of a program lie; those of NumPy's go whole to wherever the others are."""
    first = next((s for s in map(_named, arrays) if s is not None), None)
    if first is None:
        return None
    return _mesh(first), tuple(
        (s := _named(a)) is not None and not s.is_fully_replicated for a in arrays
    )


def structs(arrays: Iterable[Any], where: Lying) -> list[jax.ShapeDtypeStruct]:
    """Shapes and types of `arrays` with how they lie, to compile for."""
    if where is None:
        return [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    mesh, rows = where
    return [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=_lying(mesh, rows=divided))
        for a, divided in zip(arrays, rows, strict=True)
    ]


def _named(array: Any) -> NamedSharding | None:
    sharding = getattr(array, "sharding", None)
    return sharding if type(sharding) is NamedSharding else None


def _mesh(sharding: NamedSharding) -> Mesh:
    assert isinstance(sharding.mesh, Mesh)
    return sharding.mesh


def _spec(*, divided: bool) -> PartitionSpec:
    return PartitionSpec(AXIS) if divided else PartitionSpec()


def _lying(mesh: Mesh, *, rows: bool) -> NamedSharding:
    return NamedSharding(mesh, _spec(divided=rows))


def _lie(array: jax.Array, *, divided: bool) -> jax.Array:
    """Has the program that is being traced put an array there."""
    lying_there: jax.Array = jax.lax.with_sharding_constraint(array, _spec(divided=divided))
    return lying_there
