"""A third kind of network, known to the tests alone: two branches that join.

`left` and `right` read the data, each by a map of its own; the first joint layer reads both; more
joint layers may follow, and the outputs read the last. Everything else a network can do (training,
growing, checkpoints, reports, exports) it can only do if the package asks nobody but the registry.
`known()` registers the kind and its section of the spec.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from pydantic import Field

from senn_cli.nets import registry
from senn_cli.nets.activation import activate
from senn_cli.nets.architecture import Layer
from senn_cli.nets.draws import draw_units
from senn_cli.nets.features import ArrayTree, Feature, Map, Source, used_units
from senn_cli.nets.graph import written
from senn_cli.nets.leaves import split
from senn_cli.nets.registry import Graph, Kind, Parameters, Shifts, Signals, Used, register
from senn_cli.nets.silenced import silenced
from senn_cli.spec import Spec
from senn_cli.spec.base import Listed, Width
from senn_cli.spec.network import NetworkModel
from senn_cli.spec.spec import register_network


class ToySpec(NetworkModel):
    """Two branches that join."""

    kind: Literal["toy"] = Field(description="The kind of network: two branches that join.")
    hidden: Annotated[tuple[Width, ...], Field(min_length=3), Listed] = Field(
        default=(2, 3, 4), description="Widths of the left, the right and the joint layers."
    )
    room: Width = Field(default=2, description="Units allocated beyond those in use.")


@dataclass(frozen=True)
class ToyArchitecture:
    """`inputs` -> left and right -> joint layers -> `outputs`."""

    inputs: int
    outputs: int
    hidden: tuple[Layer, ...]
    kind: str = "toy"
    spare: Literal["empty", "dormant"] = "empty"

    @property
    def blocks(self) -> tuple[tuple[Layer, ...], ...]:
        """The left branch, the right one, and the joint layers."""
        return self.hidden[:1], self.hidden[1:2], self.hidden[2:]

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(layer.width for layer in self.hidden)

    @property
    def capacities(self) -> tuple[int, ...]:
        return tuple(layer.capacity for layer in self.hidden)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        names = ["left", "right", *(f"joint_{i}" for i in range(len(self.hidden) - 2))]
        data = Feature("data", "data", 0, self.inputs, self.inputs, site="data")
        outputs = Feature("classes", "outputs", 0, self.outputs, self.outputs, site="classes")
        hidden = [
            Feature(
                name,
                "hidden",
                index,
                layer.width,
                layer.capacity,
                layer.activation,
                self.spare,
                site=name,
                coefficients=f"{name}_bend" if layer.activation == "rational" else None,
            )
            for index, (name, layer) in enumerate(zip(names, self.hidden, strict=True))
        ]
        return (data, *hidden, outputs)

    @cached_property
    def maps(self) -> tuple[Map, ...]:
        data, left, right, *rest = self.features
        found = [Map(f"to_{f.name}", (Source("data", data),), f, True) for f in (left, right)]
        sources: tuple[Source, ...] = (Source("left", left), Source("right", right))
        for feature in rest:
            found.append(Map(f"to_{feature.name}", sources, feature, True))
            sources = (Source("kernel", feature),)
        return tuple(found)

    @property
    def parameters(self) -> int:
        own = sum(feature.own * feature.width for feature in self.features)
        return sum(m.parameters for m in self.maps) + own

    def shape(self) -> ToyArchitecture:
        return replace(self, hidden=tuple(replace(h, width=h.capacity) for h in self.hidden))

    def compact(self) -> ToyArchitecture:
        return replace(self, hidden=tuple(replace(h, capacity=h.width) for h in self.hidden))

    def without_buds(self) -> ToyArchitecture:
        return self

    def with_layer(self, index: int, **changes: Any) -> ToyArchitecture:
        hidden = list(self.hidden)
        hidden[index] = replace(hidden[index], **changes)
        return replace(self, hidden=tuple(hidden))

    def with_blocks(self, blocks: Sequence[Sequence[Layer]]) -> ToyArchitecture:
        return replace(self, hidden=tuple(layer for block in blocks for layer in block))

    def with_inserted(self, index: int, layer: Layer) -> ToyArchitecture:
        if index < 3:
            raise ValueError("a layer can come behind the joint ones alone")
        return replace(self, hidden=(*self.hidden[:index], layer, *self.hidden[index:]))

    def to_json(self) -> dict[str, Any]:
        hidden = [vars(layer) for layer in self.hidden]
        return {
            "kind": self.kind,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "hidden": hidden,
            "spare": self.spare,
        }


class Toy(Kind[ToyArchitecture]):
    """Two branches that join."""

    name = "toy"
    unit = "unit"

    def from_json(self, value: Mapping[str, Any]) -> ToyArchitecture:
        layers = tuple(Layer(**layer) for layer in value["hidden"])
        sizes = value["inputs"], value["outputs"]
        return ToyArchitecture(*sizes, layers, spare=value["spare"])

    def start(
        self, spec: Spec, example: tuple[int, ...], outputs: int, platform: str
    ) -> ToyArchitecture:
        section = cast(ToySpec, spec.network)
        layers = tuple(Layer(width, width + section.room, "rational") for width in section.hidden)
        spare: Any = "dormant" if spec.proposals == "dormant" else "empty"
        return ToyArchitecture(math.prod(example), outputs, layers, spare=spare)

    def section(self, architecture: ToyArchitecture) -> dict[str, Any]:
        return {"hidden": architecture.widths}

    def divisible(self, architecture: ToyArchitecture) -> tuple[tuple[int, Map], ...]:
        return tuple(enumerate(architecture.maps))[3:]

    def initial_parameters(self, architecture: ToyArchitecture, seed: int) -> ArrayTree:
        params: ArrayTree = {}
        used = used_units(architecture)
        for m in architecture.maps:
            width = m.columns if m.target.spare == "dormant" else m.target.width
            spare = m.columns - width
            drawn = draw_units(m, used, range(width), seed, "initial", 0)
            params[m.name] = split(m, np.pad(drawn.weights, ((0, 0), (0, spare))))
            if m.target.coefficients is not None and drawn.coefficients is not None:
                bend = np.pad(drawn.coefficients, ((0, 0), (0, spare)))
                params[m.target.coefficients] = {"coefficients": bend}
        return params

    def apply(
        self,
        shape: ToyArchitecture,
        params: Parameters,
        x: jax.Array,
        used: Used,
        shifts: Shifts | None = None,
        *,
        compute_dtype: DTypeLike | None = None,
    ) -> Signals:
        shifts = shifts or Shifts({})
        values, inputs, preactivations = {"data": x}, {}, {}
        for m in shape.maps:
            read = jnp.concatenate([values[s.feature.name] for s in m.sources], axis=1)
            kernel = jnp.concatenate(
                [silenced(params[m.name][s.leaf], used[s.feature.name]) for s in m.sources]
            )
            z = read @ kernel + params[m.name]["bias"] + shifts.pre.get(m.name, 0.0)
            inputs[m.name], preactivations[m.name], target = read, z, m.target
            if target.activation is not None:
                own = params.get(target.coefficients or "", {}).get("coefficients")
                z = activate(target.activation, z, own) + shifts.post.get(target.name, 0.0)
                z = z if target.spare == "dormant" else jnp.where(used[target.name], z, 0.0)
            values[target.name] = z
        return Signals(values["classes"], inputs, preactivations)

    def graph(
        self, architecture: ToyArchitecture, params: ArrayTree, graph: Graph, x: str, output: str
    ) -> None:
        values = {"data": x}
        for m in architecture.maps:
            z = graph.constant(f"{m.name}.bias", params[m.name]["bias"])
            last = m.target.role == "outputs"
            for source in m.sources:
                kernel = graph.constant(f"{m.name}.{source.leaf}", params[m.name][source.leaf])
                product = graph.add("MatMul", values[source.feature.name], kernel)
                z = graph.add("Add", product, z, output=output if last else "")
            values[m.target.name] = z if last else written(graph, m.target, params, z)


@contextmanager
def known() -> Iterator[None]:
    """Makes the kind known as long as this lasts: to other tests there are two kinds alone."""
    field = Spec.model_fields["network"]
    before = field.annotation
    register(Toy())
    register_network(ToySpec)
    try:
        yield
    finally:
        del registry._KINDS["toy"]
        field.annotation = before
        Spec.model_rebuild(force=True)
