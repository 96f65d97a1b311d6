"""What growth remembers between rounds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GrowthMemory:
    """Plain values, part of every checkpoint.

    Attributes:
      last_layer_step: the step at which the last layer was inserted.
      accepted: neurons and layers added so far.
      pending: whether a round is due at the present step that has not been carried out.
    """

    last_layer_step: int | None = None
    accepted: int = 0
    pending: bool = False

    def layer_allowed(self, step: int, every: int) -> bool:
        """Whether the cooldown since the last inserted layer has passed."""
        return self.last_layer_step is None or step - self.last_layer_step >= every
