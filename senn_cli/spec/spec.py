"""A whole spec: everything that describes a run."""

import unicodedata
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from senn_cli.spec.base import Integral, Model, fault
from senn_cli.spec.checkpoints import CheckpointsField, CheckpointsSpec
from senn_cli.spec.checks import cross_faults, unread_faults
from senn_cli.spec.curvature import CurvatureSpec
from senn_cli.spec.data import DataSpec
from senn_cli.spec.describe import describe, dotted
from senn_cli.spec.device import DeviceField, DeviceSpec
from senn_cli.spec.expansion import (
    ExpansionField,
    FixedSpec,
    GrowingSpec,
    ScoredSpec,
    SearchSpec,
    with_proposals,
)
from senn_cli.spec.loss import LossField, LossSpec
from senn_cli.spec.network import NetworkField, NetworkModel
from senn_cli.spec.optimizer import NaturalGradientSpec, OptimizerSpec
from senn_cli.spec.record import RecordSpec
from senn_cli.spec.track import TrackSpec
from senn_cli.spec.training import TrainingSpec
from senn_cli.spec.transfer import TransferSpec, transfer_faults
from senn_cli.spec.under import Under, unread

# A run directory's name is made of it, and file systems stop at 255 bytes.
_LONGEST_NAME = 120
_SEEDS = 2**32  # what JAX and NumPy both take


def in_name(character: str) -> bool:
    """Whether a run's name may contain the character: letters, digits, `.`, `_` and `-`."""
    return character in "._-" or unicodedata.category(character)[0] in "LMN"


def _name(value: Any) -> Any:
    if not isinstance(value, str):
        quotes = "; put quotes around it" if isinstance(value, int | float) else ""
        raise fault(f"should be a text, found {describe(value)}{quotes}")
    if not value or value[0] in ".-" or not all(map(in_name, value)):
        raise fault(
            "should consist of letters, digits, `.`, `_` and `-`, and not begin with `.` or `-`, "
            f"found {describe(value)}"
        )
    if len(value.encode()) > _LONGEST_NAME:
        raise fault(f"should be at most {_LONGEST_NAME} bytes long, found {len(value.encode())}")
    return value


class Spec(Model):
    """Everything that describes a run; `data` and `network` are required."""

    name: Annotated[str, BeforeValidator(_name)] = Field(
        default="run",
        description="The run's name, which its directory's name begins with; by default the name "
        "of the spec file without its ending.",
    )
    seed: Annotated[int, Field(ge=0, lt=_SEEDS), Integral] = Field(
        default=0, description="Decides the split, the initial weights and all randomness."
    )
    device: DeviceField = Field(
        default=DeviceSpec(), description="Where to train, and over how many devices."
    )
    gpu_memory: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None,
        description="Share of the GPU's memory to reserve at the start; null to leave it to JAX.",
    )
    deterministic: bool = Field(
        default=False,
        description="On a GPU, use only operations that give the same bits every time; slower.",
    )
    data: DataSpec = Field(description="What the network learns from.")
    network: NetworkField = Field(description="The architecture that training starts from.")
    loss: LossField = Field(default=LossSpec(), description="What training minimises.")
    optimizer: OptimizerSpec = Field(
        default=NaturalGradientSpec(), description="How the weights are trained."
    )
    curvature: Annotated[
        CurvatureSpec,
        Under(("network.kind", ("densenet",)), ("expansion.proposals", ("dormant",))),
        Under(("expansion.policy", ("senn", "random")), ("optimizer.kind", ("natural_gradient",))),
        # The steps of an mlp under kfac see the curvature themselves.
        Under(("network.kind", ("densenet",)), ("optimizer.solver", (None, "cg", "rows"))),
    ] = Field(
        default=CurvatureSpec(),
        description="Curvature that is tracked beside the steps of training: of a densenet, and "
        "of an mlp for dormant proposals.",
    )
    expansion: ExpansionField = Field(
        default=SearchSpec(), description="Growth of the network: when, where and by what."
    )
    training: TrainingSpec = Field(
        default=TrainingSpec(), description="How long and in which batches the network is trained."
    )
    checkpoints: CheckpointsField = Field(
        default=CheckpointsSpec(),
        description="When the run saves itself and what it keeps; `false` leaves the last alone.",
    )

    record: RecordSpec = Field(
        default=RecordSpec(),
        description="What is kept beyond metrics and growth, for pictures and the audit.",
    )
    track: TrackSpec = Field(
        default=TrackSpec(),
        description="Outputs of the metrics beside the run's own files; all are off by default.",
    )
    transfer: TransferSpec = Field(
        default=TransferSpec(),
        description="For `senn transfer`: what is taken from another run's network.",
    )

    @property
    def growth(self) -> GrowingSpec | None:
        """How the architecture may change during training; None where it stays as it is."""
        return None if isinstance(self.expansion, FixedSpec) else self.expansion

    @property
    def proposals(self) -> Literal["search", "dormant"] | None:
        """Where proposals come from; None where there are none."""
        return self.growth.proposals if isinstance(self.growth, ScoredSpec) else None

    @property
    def grows(self) -> bool:
        """Whether the architecture may change during training."""
        return self.growth is not None

    @model_validator(mode="before")
    @classmethod
    def _proposals_of_the_kind(cls, value: Any) -> Any:
        """Where a spec does not say where proposals come from, the network's kind does."""
        if not isinstance(value, dict):
            return value
        network = value.get("network")
        kind = (
            network.get("kind") if isinstance(network, dict) else getattr(network, "kind", network)
        )
        sections = get_args(cls.model_fields["network"].annotation)
        found = (
            s.proposals for s in sections if kind in get_args(s.model_fields["kind"].annotation)
        )
        expansion = with_proposals(value.get("expansion", {}), next(found, "search"))
        return {**value, "expansion": expansion}

    @model_validator(mode="after")
    def _consistent(self) -> "Spec":
        found = [*unread_faults(self), *cross_faults(self), *transfer_faults(self)]
        if found:
            text = "; ".join(f"{dotted(one.path)} {one.message}" for one in found)
            raise PydanticCustomError("senn_cross", "{text}", {"text": text, "faults": found})
        return self

    @model_serializer(mode="wrap")
    def _read_alone(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is read: nothing that has no effect is written out."""
        written: dict[str, Any] = handler(self)
        for one in unread(self):
            *section, name = one.path
            within = written
            for key in section:
                within = within.get(key, {})
            within.pop(name, None)
        return written


def register_network(section: type[NetworkModel]) -> None:
    """Makes `section` one that `network` may be, by its `kind`: for kinds from elsewhere."""
    field = Spec.model_fields["network"]
    known: Any = field.annotation
    if section not in get_args(known):
        field.annotation = known | section
        Spec.model_rebuild(force=True)
