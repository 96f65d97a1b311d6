"""What a run keeps on the device, worked out without running it. No JAX.

Memory counts arrays that stay for the whole run, plus those that one batch or one growth round
needs at a time. What the compiler adds for its own purposes is not known in advance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from senn_cli.data.dataset import Dataset, Part
from senn_cli.nets.architecture import Architecture
from senn_cli.nets.conv_architecture import TAPS, DenseArchitecture
from senn_cli.nets.kinds import AnyArchitecture
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
      growth: the two samples that a growth round observes.
    """

    parameters: int
    optimizer: int
    curvature: int
    data: int
    activations: int
    growth: int

    @property
    def total(self) -> int:
        """All of them; never all in use at once, so more than is needed at any time."""
        return sum(getattr(self, field.name) for field in fields(self))


def _pixels(architecture: DenseArchitecture) -> int:
    """Numbers that one image's forward and backward pass keep: what maps read, yield, are told."""
    height, width, _ = architecture.image
    total = 0
    for wire in architecture.wiring[:-1]:
        block, _ = architecture.place(wire.index)
        area = -(-height // 2**block) * -(-width // 2**block)
        total += area * (sum(source.channels for source in wire.sources) + 2 * wire.channels)
    return total


def memory(spec: Spec, dataset: Dataset, architecture: AnyArchitecture, batch: int) -> Memory:
    """What a run with `architecture` keeps on the device; see `Memory`."""
    parameters = architecture.shape().parameters
    if isinstance(architecture, DenseArchitecture):
        parameters += sum(
            TAPS * wire.channels * sum(source.channels for source in wire.sources)
            for wire in architecture.wiring
            if wire.kind == "bud"
        )
        return Memory(
            parameters=_FLOAT * parameters,
            optimizer=_FLOAT * parameters * _moments(spec.optimizer),
            curvature=_FLOAT * _tracked(spec, architecture),
            data=_bytes(dataset.train) + _bytes(dataset.validation),
            activations=_FLOAT * batch * _pixels(architecture),
            growth=0,
        )
    maps = [architecture.map_capacity(index) for index in range(architecture.maps)]
    growing = spec.expansion.policy != "none"
    sampled = 0
    if growing:
        examples = len(dataset.train)
        most = examples // 2 if spec.expansion.score_on == "held_out" else examples
        sampled = min(spec.expansion.samples, most)
    # A growth round holds what every map reads (twice, once with room), yields and is told.
    a_round = sum(2 * (1 + n_in) + (1 + n_out) + n_out for n_in, n_out in maps)
    return Memory(
        parameters=_FLOAT * parameters,
        optimizer=_FLOAT * parameters * _moments(spec.optimizer),
        curvature=_FLOAT * _curvature(spec, architecture),
        data=_bytes(dataset.train) + _bytes(dataset.validation),
        activations=_FLOAT * batch * sum(n_in + 2 * n_out for n_in, n_out in maps),
        growth=_FLOAT * 2 * sampled * a_round,
    )


def _tracked(spec: Spec, architecture: DenseArchitecture) -> int:
    """Numbers in the tracked factors, their inverses, and the averaged gradients."""
    natural = isinstance(spec.optimizer, NaturalGradientSpec)
    if not (natural or spec.grows):
        return 0
    numbers = 0
    for wire in architecture.wiring:
        if wire.kind == "bud":
            continue
        n_in = sum(source.channels for source in wire.sources)
        rows = 1 + n_in if wire.kind == "head" else TAPS * n_in
        numbers += 2 * (rows**2 + wire.channels**2)
        numbers += 2 * rows * wire.channels if spec.grows else 0
    return numbers


def _moments(optimizer: OptimizerSpec) -> int:
    """Copies of the parameters' shape in Optax's state."""
    if isinstance(optimizer, AdamSpec):
        return 2
    return 1 if optimizer.momentum > 0 else 0


def _curvature(spec: Spec, architecture: Architecture) -> int:
    """Numbers in the Kronecker factors, their inverses, and the inputs' spectrum."""
    optimizer, numbers = spec.optimizer, 0
    kfac = isinstance(optimizer, NaturalGradientSpec) and optimizer.solver == "kfac"
    if kfac:
        for index in range(architecture.maps):
            n_in, n_out = architecture.map_capacity(index)
            numbers += 2 * ((1 + n_in) ** 2 + n_out**2)
        rational = [h.capacity for h in architecture.hidden if h.activation == "rational"]
        numbers += 2 * 9 * sum(rational)
    fixed = kfac and isinstance(optimizer, NaturalGradientSpec) and optimizer.fixed_input_factor
    if architecture.inputs <= LARGEST_SPECTRUM and (fixed or spec.expansion.policy != "none"):
        n = 1 + architecture.inputs
        numbers += 2 * n * n + n  # the matrix, its eigenvectors and eigenvalues
    return numbers


def _bytes(part: Part | None) -> int:
    return 0 if part is None else int(part.x.nbytes + part.y.nbytes)
