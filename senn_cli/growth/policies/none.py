"""The policy `none`: a fixed architecture, the static control."""

from __future__ import annotations

from senn_cli.growth.policy import Policy, Round, View


class NoGrowth(Policy):
    """Decides nothing."""

    def decide(self, view: View) -> Round:
        """Nothing, and nothing to record."""
        return Round(())
