"""The `record` section: what a run keeps for pictures beyond its metrics and its history."""

from pydantic import Field

from senn_cli.spec.base import Model


class RecordSpec(Model):
    """Recordings for pictures, in `recordings/` of the run; each costs some time and space."""

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

    @property
    def anything(self) -> bool:
        """Whether anything is recorded."""
        return self.landscape or self.boundary
