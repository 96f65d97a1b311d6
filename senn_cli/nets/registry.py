"""Kinds of network: each registers what it computes and decides for itself; no other code asks.

To everything else a network is its `features.Architecture`, and what depends on the kind is asked
of `kind_of(architecture)`. A new kind is a file that subclasses `Kind` and calls `register`. No
JAX: a kind imports it where it computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from senn_cli.nets.architecture import CapacityRule
from senn_cli.nets.features import Architecture, ArrayTree, Map, there

if TYPE_CHECKING:
    import jax
    from jax.typing import DTypeLike

    from senn_cli.spec import Spec

A = TypeVar("A", bound=Architecture)
Parameters: TypeAlias = "dict[str, dict[str, jax.Array]]"
"""As `ArrayTree`, on the device."""
Used: TypeAlias = "Mapping[str, jax.Array | np.ndarray]"
"""By the name of a feature which of its units are in use, bool `(capacity,)`."""


class Signals(NamedTuple):
    """What a forward pass computes, for N examples.

    Attributes:
      outputs: `(N, outputs)`, in the parameters' precision.
      inputs: by a map's name what it reads, `(N, n_in)` or `(N, H, W, n_in)`: all sources, one
        after the other, with the units of `dormant` features as they are and those of `empty` ones
        zero.
      preactivations: by a map's name what it yields, `(N, n_out)` or `(N, H, W, n_out)`.
    """

    outputs: jax.Array
    inputs: dict[str, jax.Array]
    preactivations: dict[str, jax.Array]


class Shifts(NamedTuple):
    """What is added to signals; the derivative with respect to one is that to the signal itself.

    Attributes:
      pre: by a map's name, added to what it yields. Maps may be missing.
      post: by a feature's name, added to its activations, before any pooling. So may features.
      factors: by a feature's name, what the sum is multiplied by; `dropout.scaled`.
    """

    pre: Mapping[str, jax.Array]
    post: Mapping[str, jax.Array] = {}
    factors: Mapping[str, jax.Array] = {}


class Graph(Protocol):
    """Where a kind writes its operators, those of ONNX; see `use.export_onnx.Graph`."""

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        """A constant; its name."""

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """An operator with one output; the output's name."""


class Kind(ABC, Generic[A]):
    """What is a matter of one kind of network alone.

    Attributes:
      name: as in the spec's `network.kind` and in every architecture's description.
      unit: the word for one unit of a hidden layer.
      layers: the key of the spec's section `network` that describes the hidden layers.
      block: examples of an evaluation that are computed at a time.
      sample: training examples on which the loss before and after a pruning is taken.
      one_by_one: whether steps on the CPU go one by one, not many in a loop that XLA compiles.
      tracked: whether curvature comes from looks of its own beside the steps, not from the steps.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = "neuron"
    layers: ClassVar[str] = "hidden"
    block: ClassVar[int] = 4096
    sample: ClassVar[int] = 2048
    one_by_one: ClassVar[bool] = False
    tracked: ClassVar[bool] = False

    @abstractmethod
    def from_json(self, value: Mapping[str, Any]) -> A:
        """The architecture that its `to_json` described; ValueError or KeyError if it is none."""

    @abstractmethod
    def start(self, spec: Spec, example: tuple[int, ...], outputs: int, platform: str) -> A:
        """The architecture that training starts from, with its capacities.

        Args:
          example: the shape of one example, one that `misfit` has nothing against.
          platform: that training runs on: `cpu` or some GPU's.
        """

    @abstractmethod
    def section(self, architecture: A) -> dict[str, Any]:
        """The fields of the spec's section `network` that describe the hidden layers."""

    def kept(self, spec: Spec, architecture: A) -> dict[str, Any]:
        """Other fields of it that a transfer takes from its origin: what is allocated there.

        Args:
          spec: whose section has those of `section` already.
        """
        return {}

    def misfit(self, example: tuple[int, ...]) -> str | None:
        """Why examples of that shape cannot be read, such as `needs images`; None if they can."""
        return None

    def capacity_rule(self, spec: Spec, platform: str) -> CapacityRule:
        """How a layer that is full is enlarged."""
        return CapacityRule(1, 0.5)

    def crowding(self, spec: Spec) -> tuple[float, float]:
        """Beyond which share in use a layer with dormant units gets more room, and how much more.

        The second is a share of what is allocated.
        """
        return 0.9, 0.5

    def compute(self, spec: Spec) -> str:
        """The precision of the forward pass in training: float32, tf32 or bfloat16."""
        return "float32"

    def recompute(self, spec: Spec) -> bool:
        """Whether the way back of steps puts together anew what maps read.

        The `apply` of a kind that offers it takes `recompute`, a bool.
        """
        return False

    def dropout(self, spec: Spec) -> float:
        """The share of hidden units that is left out in steps of training."""
        return 0.0

    def divisible(self, architecture: A) -> tuple[tuple[int, Map], ...]:
        """The maps within which a layer at the identity fits, and the number that it gets."""
        return ()

    def slotted(self, architecture: A) -> A | None:
        """A shape with places for more hidden layers, the same for many architectures; else None.

        The first places are those of the layers that there are; one whose width is 0 passes on what
        it reads. All arrays of the layers that there are, and of the outputs, keep their shapes.
        """
        return None

    @abstractmethod
    def initial_parameters(self, architecture: A, seed: int) -> ArrayTree:
        """Parameters at capacity, a function of seed and widths alone."""

    @abstractmethod
    def apply(
        self,
        shape: A,
        params: Parameters,
        x: jax.Array,
        used: Used,
        shifts: Shifts | None = None,
        *,
        compute_dtype: DTypeLike | None = None,
    ) -> Signals:
        """The signals of the network of `shape` with `params` on `x`, to be traced by JAX.

        Args:
          shape: `Architecture.shape()`, so that growth within capacity compiles nothing.
          x: `(N, inputs)`.
          used: what is in use, of `used`. A unit that is not adds nothing to any output, and no
            gradient flows back into it; the weights that read a dormant one receive the gradient
            that they would have at zero, which scores need.
          shifts: zeros where derivatives are wanted.
          compute_dtype: precision of maps and activations but for the last; None for that of the
            parameters.
        """

    def carried(self, shape: A, feature: str, m: Map, values: jax.Array) -> jax.Array:
        """What map `m` reads of units of `feature` that have these `values`, (N, ..., units).

        Units go their way alone: what comes between (a pooling, a mean) mixes positions, not units.
        """
        return values

    def graph(self, architecture: A, params: ArrayTree, graph: Graph, x: str, output: str) -> None:
        """Writes the network without buds as operators.

        Args:
          architecture, params: without spare capacity.
          x: the name of the scaled and flattened examples `(N, inputs)`.
          output: the name that its raw outputs get.

        Raises:
          NotImplementedError: networks of this kind have no such form.
        """
        raise NotImplementedError(f"a network of kind {self.name} cannot be written as a graph")


_KINDS: dict[str, Kind[Any]] = {}
_BUILT_IN = ("mlp", "densenet")


def register(kind: Kind[Any]) -> None:
    """Makes a kind known by its name; ValueError if another one has it."""
    known = _KINDS.setdefault(kind.name, kind)
    if type(known) is not type(kind):
        raise ValueError(f"there is a kind {kind.name} already, {known!r}")


def kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    for name in _BUILT_IN:
        import_module(f"senn_cli.nets.{name}")
    return tuple(_KINDS)


def kind_named(name: str) -> Kind[Any]:
    """The kind of that name; ValueError if there is none."""
    if name in _BUILT_IN:
        import_module(f"senn_cli.nets.{name}")
    if name not in _KINDS:
        raise ValueError(f"unknown kind of network {name!r}, expected {' or '.join(kinds())}")
    return _KINDS[name]


def kind_of(architecture: A) -> Kind[A]:
    """The kind of an architecture; ValueError if it is none that is registered."""
    return kind_named(architecture.kind)


def architecture_from_json(value: Mapping[str, Any]) -> Architecture:
    """The architecture that its `to_json` described; ValueError or KeyError if it is none."""
    found: Architecture = kind_named(value["kind"]).from_json(value)
    return found


def initial_parameters(architecture: Architecture, seed: int) -> ArrayTree:
    """Parameters of `architecture` at its capacity, a function of seed and widths alone."""
    return kind_of(architecture).initial_parameters(architecture, seed)


def used(shape: Architecture, widths: jax.Array) -> dict[str, jax.Array | np.ndarray]:
    """What is in use of every feature: the first `widths[i]` units of hidden layer i.

    For JAX to trace: `widths`, int `(layers,)`, is data, so that growth within capacity compiles
    nothing. All of the data and the outputs is in use, nothing of a bud; those are NumPy's arrays,
    constants of the program. On the host `features.used_units` is the same.
    """
    import jax.numpy as jnp

    found: dict[str, jax.Array | np.ndarray] = {}
    before = jnp.zeros((), jnp.int32)
    for feature in shape.features:
        if feature.role == "hidden":
            width = widths[feature.index]
            if feature.passes:  # what is read of it is in use all the same
                found[there(feature.name)] = width > 0
                width = jnp.where(width > 0, width, before)
            found[feature.name] = jnp.arange(feature.capacity) < width
            before = width
        else:
            found[feature.name] = np.full(feature.capacity, feature.role != "bud")
    return found


def apply(
    shape: A,
    params: Parameters,
    x: jax.Array,
    used: Used,
    shifts: Shifts | None = None,
    *,
    compute_dtype: DTypeLike | None = None,
    recompute: bool = False,
) -> Signals:
    """The signals of a network of any kind; arguments as of `Kind.apply` and `Kind.recompute`."""
    options: dict[str, Any] = {"recompute": True} if recompute else {}
    found = kind_of(shape)
    return found.apply(shape, params, x, used, shifts, compute_dtype=compute_dtype, **options)


def outputs(shape: Architecture, params: Parameters, x: jax.Array, widths: jax.Array) -> jax.Array:
    """The outputs `(N, m)` of the network of `shape` for flat inputs `x` (N, inputs)."""
    return apply(shape, params, x, used(shape, widths)).outputs
