"""What a run keeps on each of its devices, worked out without running it. No JAX.

Memory counts arrays that stay for the whole run, plus those that one batch or one growth round
needs at a time. What the compiler adds for its own purposes is not known in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from senn_cli.growth.samples import examples_of
from senn_cli.nets.features import Architecture, Map, standing
from senn_cli.nets.registry import kind_named
from senn_cli.spec import Spec
from senn_cli.spec.aimed import AimedSpec
from senn_cli.spec.expansion import SearchSpec
from senn_cli.spec.optimizer import NaturalGradientSpec, OptimizerSpec

LARGEST_SPECTRUM = 4096
"""Inputs above which their second moment is not eigendecomposed (its memory and time grow fast)."""

_FLOAT = 4  # bytes of a float32


@dataclass(frozen=True)
class Memory:
    """Bytes on a device.

    Attributes:
      parameters: the network's, at its capacity.
      optimizer: momentum or moments of Adam.
      curvature: Kronecker factors and their inverses, and the spectrum of the inputs.
      data: the training and validation parts as they are stored.
      activations: what a batch's forward and backward pass keep: inputs and pre-activations of
        every map, and the gradients of the latter.
      growth: the two samples that a growth round observes; of standing proposals what a look at its
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


def looks(architecture: Architecture) -> bool:
    """Whether growth is by curvature that is tracked: of convolutions, or dormant units."""
    return _convolves(architecture) or any(f.spare == "dormant" for f in architecture.features)


def _convolves(architecture: Architecture) -> bool:
    return any(m.window for m in architecture.maps)


def memory(
    spec: Spec,
    architecture: Architecture,
    batch: int,
    examples: int,
    data: int,
    devices: int = 1,
) -> Memory:
    """What a run with `architecture` keeps on each of its devices; see `Memory`.

    Args:
      batch: examples a step.
      examples: of the training part.
      data: bytes of the training and validation parts on a device.
      devices: over which batches and samples are divided; all else is whole on each.
    """
    parameters = sum((m.rows + m.target.own) * m.columns for m in architecture.maps)
    a_round = _look if spec.proposals == "dormant" and looks(architecture) else _samples
    return Memory(
        parameters=_FLOAT * parameters,
        optimizer=_FLOAT * parameters * _moments(spec.optimizer),
        curvature=_FLOAT * _curvature(spec, architecture),
        data=data,
        activations=math.ceil(batch / devices) * _activations(spec, architecture),
        growth=_FLOAT * a_round(spec, architecture, batch, examples, devices) if spec.grows else 0,
    )


def _activations(spec: Spec, architecture: Architecture) -> int:
    """Bytes that a step's forward and backward pass keep of one example."""
    kind, maps = kind_named(spec.network.kind), architecture.maps
    size = _FLOAT // 2 if kind.compute(spec) == "bfloat16" else _FLOAT
    if not kind.recompute(spec):
        return size * sum(map(_signals, maps))
    read = max(m.positions * m.inputs for m in maps)  # by one map at a time
    return size * (read + sum(2 * m.positions * m.columns for m in maps))


def _signals(m: Map) -> int:
    """Numbers that one example's forward and backward pass keep: what a map reads, yields, is told.

    A convolution's inputs are kept once, not once for every position of its window.
    """
    return m.positions * (m.inputs + 2 * m.columns)


def _samples(
    spec: Spec, architecture: Architecture, batch: int, examples: int, devices: int
) -> int:
    """Numbers in the two samples of a round that searches or aims.

    What every map reads (twice, once with room) and yields, each with the constant, and is told.
    """
    if isinstance(spec.growth, AimedSpec):
        one = sum(2 * m.rows + 2 * m.columns for m in architecture.maps)
        return math.ceil(min(2 * spec.growth.samples, examples) / devices) * one
    if not isinstance(spec.growth, SearchSpec):
        return 0
    halved = spec.growth.score_on == "held_out"
    if _convolves(architecture):
        return _fields(spec.growth, architecture, examples, devices, held_out=halved)
    most = examples // 2 if halved else examples
    one = sum(2 * m.rows + (1 + m.columns) + m.columns for m in architecture.maps)
    return 2 * math.ceil(min(spec.growth.samples, most) / devices) * one


def _fields(
    growth: SearchSpec,
    architecture: Architecture,
    examples: int,
    devices: int,
    *,
    held_out: bool,
) -> int:
    """Numbers in the two samples of a round that searches for channels, and in its scores.

    Of every example what maps read, yield and are told; of every map that reads channels A, its
    inverse and its noise, with as many rows for proposals as there will be.
    """
    count = examples_of(architecture, growth.samples, examples, held_out=held_out)
    sample = math.ceil(count / devices) * sum(map(_signals, standing(architecture)))
    proposed = growth.width.polished if growth.width.enabled else 0
    moments = 0
    for m in standing(architecture):
        sites = sum(source.feature.role == "hidden" for source in m.sources)
        rows = m.rows + max(m.taps, 1) * proposed * sites
        moments += 2 * m.rows**2 + 2 * rows**2 + rows * m.columns
    return (2 if held_out else 1) * sample + moments


def _look(spec: Spec, architecture: Architecture, batch: int, examples: int, devices: int) -> int:
    """Numbers that a look at the curvature of a growing network needs, and the scores after it.

    What every map reads and yields and is told in both backward passes; its patches, of one map at
    a time; and for every map the two factors and the gradient of the look, and the scores' own.
    """
    samples = batch if spec.curvature.samples is None else spec.curvature.samples
    stride = spec.curvature.stride
    passes = sum(_signals(m) + m.positions * m.columns for m in architecture.maps)
    maps = standing(architecture)
    of_maps = (math.ceil(m.positions / stride**2) * m.rows for m in maps if m.window)
    patches = max(of_maps, default=0)
    kept = sum(2 * (m.rows**2 + m.columns**2 + m.rows * m.columns) for m in maps)
    return math.ceil(samples / devices) * (passes + patches) + kept


def _moments(optimizer: OptimizerSpec) -> int:
    """Copies of the parameters' shape in Optax's state."""
    momentum = int(getattr(optimizer, "momentum", 0.0) > 0)
    own = {"adam": 2, "adamw": 2, "rmsprop": 1, "lion": 1, "muon": 1}
    return own.get(optimizer.kind, 0) + momentum


def _curvature(spec: Spec, architecture: Architecture) -> int:
    """Numbers in the Kronecker factors, their inverses, and the inputs' spectrum.

    Where growth is by tracked curvature, gradients are averaged, too.
    """
    optimizer, maps = spec.optimizer, standing(architecture)
    natural = optimizer if isinstance(optimizer, NaturalGradientSpec) else None
    kfac = natural is not None and natural.factored
    growing = spec.proposals is not None and looks(architecture)
    numbers = 0
    if kfac or growing:
        numbers += sum(2 * (m.rows**2 + m.columns**2) for m in maps)
        numbers += sum(2 * f.own**2 * f.capacity for f in architecture.features)
    if growing and not isinstance(spec.growth, SearchSpec):
        numbers += sum(2 * m.rows * m.columns for m in maps)
    if _convolves(architecture) or architecture.inputs > LARGEST_SPECTRUM:
        return numbers
    if spec.proposals == "search" or (natural is not None and kfac and natural.fixed_input_factor):
        n = 1 + architecture.inputs
        numbers += 2 * n * n + n  # the matrix, its eigenvectors and eigenvalues
    return numbers
