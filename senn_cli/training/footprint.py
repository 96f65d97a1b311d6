"""What a run keeps on the device, worked out without running it. No JAX.

Memory counts arrays that stay for the whole run, plus those that one batch or one growth round
needs at a time. What the compiler adds for its own purposes is not known in advance.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields

from senn_cli.nets.densenet import TAPS, DenseArchitecture
from senn_cli.nets.features import Map
from senn_cli.nets.kinds import AnyArchitecture
from senn_cli.nets.mlp import MlpArchitecture
from senn_cli.spec import Spec
from senn_cli.spec.optimizer import AdamSpec, NaturalGradientSpec, OptimizerSpec

LARGEST_SPECTRUM = 4096
"""Inputs above which their second moment is not eigendecomposed (its memory and time grow fast)."""

_FLOAT = 4  # bytes of a float32


@dataclass(frozen=True)
class Memory:
    """Bytes on the device.

    Attributes:
      parameters: the network's, at its capacity.
      optimizer: momentum or moments of Adam.
      curvature: Kronecker factors and their inverses, and the spectrum of the inputs.
      data: the training and validation parts as they are stored.
      activations: what a batch's forward and backward pass keep: inputs and pre-activations of
        every map, and the gradients of the latter.
      growth: the two samples that a growth round observes; of a DenseNet what a look at its
        curvature needs, and the scores.
    """

    parameters: int
    optimizer: int
    curvature: int
    data: int
    activations: int
    growth: int

    @property
    def least(self) -> int:
        """What is in use at one time: batches and growth rounds take turns."""
        return self.total - min(self.activations, self.growth)

    @property
    def total(self) -> int:
        """All of them; never all in use at once, so more than is needed at any time."""
        return sum(getattr(self, field.name) for field in fields(self))


def machine_memory() -> int | None:
    """Bytes of memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return None


def _pixels(architecture: DenseArchitecture) -> int:
    """Numbers that one image's forward and backward pass keep: what maps read, yield, are told."""
    total = 0
    for wire in architecture.maps[:-1]:
        area = _area(architecture, wire)
        total += area * (
            sum(source.feature.capacity for source in wire.sources) + 2 * wire.target.capacity
        )
    return total


def memory(
    spec: Spec, architecture: AnyArchitecture, batch: int, examples: int, data: int
) -> Memory:
    """What a run with `architecture` keeps on the device; see `Memory`.

    Args:
      batch: examples a step.
      examples: of the training part.
      data: bytes of the training and validation parts.
    """
    parameters = architecture.shape().parameters
    if isinstance(architecture, DenseArchitecture):
        parameters += sum(
            TAPS * wire.target.capacity * sum(source.feature.capacity for source in wire.sources)
            for wire in architecture.maps
            if wire.target.role == "bud"
        )
        return Memory(
            parameters=_FLOAT * parameters,
            optimizer=_FLOAT * parameters * _moments(spec.optimizer),
            curvature=_FLOAT * _tracked(spec, architecture),
            data=data,
            activations=_FLOAT * batch * _pixels(architecture),
            growth=_FLOAT * _look(spec, architecture, batch) if spec.grows else 0,
        )
    maps = [architecture.map_capacity(index) for index in range(len(architecture.maps))]
    growing = spec.expansion.policy != "none"
    sampled = 0
    if growing:
        most = examples // 2 if spec.expansion.score_on == "held_out" else examples
        sampled = min(spec.expansion.samples, most)
    # A growth round holds what every map reads (twice, once with room), yields and is told.
    a_round = sum(2 * (1 + n_in) + (1 + n_out) + n_out for n_in, n_out in maps)
    return Memory(
        parameters=_FLOAT * parameters,
        optimizer=_FLOAT * parameters * _moments(spec.optimizer),
        curvature=_FLOAT * _curvature(spec, architecture),
        data=data,
        activations=_FLOAT * batch * sum(n_in + 2 * n_out for n_in, n_out in maps),
        growth=_FLOAT * 2 * sampled * a_round,
    )


def _look(spec: Spec, architecture: DenseArchitecture, batch: int) -> int:
    """Numbers that a look at the curvature of a growing DenseNet needs, and the scores after it.

    What every map reads and yields and is told in both backward passes; its patches, of one map at
    a time; and for every map the two factors and the gradient of the look, and the scores' own.
    """
    samples = batch if spec.curvature.samples is None else spec.curvature.samples
    stride = spec.curvature.stride
    patches, kept = 0, 0
    for wire in architecture.maps:
        if wire.target.role == "bud":
            continue
        rows = _rows(wire)
        kept += 2 * (rows**2 + wire.target.capacity**2 + rows * wire.target.capacity)
        if wire.target.role == "hidden":
            patches = max(
                patches, samples * math.ceil(_area(architecture, wire) / stride**2) * rows
            )
    told_twice = sum(
        wire.target.capacity * _area(architecture, wire) for wire in architecture.maps[:-1]
    )
    return samples * (_pixels(architecture) + told_twice) + patches + kept


def _rows(wire: Map) -> int:
    """Rows of a map's kernel as one matrix."""
    n_in = sum(source.feature.capacity for source in wire.sources)
    return 1 + n_in if wire.target.role == "outputs" else TAPS * n_in


def _area(architecture: DenseArchitecture, wire: Map) -> int:
    """Positions of what a convolution yields."""
    height, width, _ = architecture.image
    halved: int = 2 ** architecture.place(wire.target.index)[0]
    return math.ceil(height / halved) * math.ceil(width / halved)


def _tracked(spec: Spec, architecture: DenseArchitecture) -> int:
    """Numbers in the tracked factors, their inverses, and the averaged gradients."""
    natural = isinstance(spec.optimizer, NaturalGradientSpec)
    if not (natural or spec.grows):
        return 0
    numbers = 0
    for wire in architecture.maps:
        if wire.target.role == "bud":
            continue
        rows = _rows(wire)
        numbers += 2 * (rows**2 + wire.target.capacity**2)
        numbers += 2 * rows * wire.target.capacity if spec.grows else 0
    return numbers


def _moments(optimizer: OptimizerSpec) -> int:
    """Copies of the parameters' shape in Optax's state."""
    if isinstance(optimizer, AdamSpec):
        return 2
    return 1 if optimizer.momentum > 0 else 0


def _curvature(spec: Spec, architecture: MlpArchitecture) -> int:
    """Numbers in the Kronecker factors, their inverses, and the inputs' spectrum."""
    optimizer, numbers = spec.optimizer, 0
    kfac = isinstance(optimizer, NaturalGradientSpec) and optimizer.solver == "kfac"
    if kfac:
        for index in range(len(architecture.maps)):
            n_in, n_out = architecture.map_capacity(index)
            numbers += 2 * ((1 + n_in) ** 2 + n_out**2)
        rational = [h.capacity for h in architecture.hidden if h.activation == "rational"]
        numbers += 2 * 9 * sum(rational)
    fixed = kfac and isinstance(optimizer, NaturalGradientSpec) and optimizer.fixed_input_factor
    if architecture.inputs <= LARGEST_SPECTRUM and (fixed or spec.expansion.policy != "none"):
        n = 1 + architecture.inputs
        numbers += 2 * n * n + n  # the matrix, its eigenvectors and eigenvalues
    return numbers
