"""The `record` section: what a run keeps beyond its metrics and the course of its growth."""

from pydantic import Field

from senn_cli.spec.base import Model
from senn_cli.spec.duration import DurationField


class RecordSpec(Model):
    """Recordings for pictures, in `recordings/` of the run, and the audit; each costs some time."""

    landscape: bool = Field(
        default=False,
        description="Before and after every growth round that adds something and at the end: the "
        "score of a new neuron as a function of its location and scale (figure 2 of the paper). "
        "For networks with one input.",
    )
    boundary: bool = Field(
        default=False,
        description="At the start, before every inserted layer and at the end: the class "
        "probabilities over the plane of inputs (figure 3). For classifiers with two inputs.",
    )
    audit: DurationField | None = Field(
        default=None,
        description="For how long copies of the network train on after every round that changed "
        "it, with its edits and without, on the same batches: the history then has both losses on "
        "training examples, which tell what the edits gained by themselves, and how the new units "
        "fare. Costs so many steps twice a round; changes no number of the run.",
    )

    @property
    def anything(self) -> bool:
        """Whether anything is recorded for pictures."""
        return self.landscape or self.boundary
