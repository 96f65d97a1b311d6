"""A run of Weights & Biases."""

from __future__ import annotations

import importlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from senn_cli.errors import UsageError
from senn_cli.spec.spec import Spec
from senn_cli.tracking.curves import event_curves, event_text, row_curves, summary_curves
from senn_cli.tracking.remembered import recall, remember

PATIENCE = 60
"""Seconds to wait for the network at the start and at the end; what is left can be synced later."""


class WandbTracker:
    """Logs rows and events over `step`, and the summary.

    The steps are values of our own, not W&B's counter, which would drop the events of a step that
    has a row already when a run is resumed there.

    Args:
      spec: of the run; `track.wandb` says where to.
      run: the run's directory; W&B's files go to `wandb/` in it.
      step: where the run starts from; what was logged after it is not logged a second time, as it
        cannot be taken back.

    Raises:
      UsageError: `mode` is `online` and nobody is logged in; asking for a key would stop a run
        that nobody watches.
    """

    def __init__(self, spec: Spec, run: Path, step: int) -> None:
        options = spec.track.wandb
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # as with MLflow's telemetry
        wandb = importlib.import_module("wandb")
        mode = options.mode or os.environ.get("WANDB_MODE") or "online"
        settings = wandb.Settings(
            silent=True,  # the terminal belongs to the live view ...
            console="off",  # ... and is nobody else's to record
            init_timeout=PATIENCE,
            finish_timeout=PATIENCE,
        )
        wandb.setup(settings=settings)
        if mode == "online" and not wandb.login(prompt=False):
            raise UsageError(
                "there is no API key; run `wandb login`, set WANDB_API_KEY or write `mode: offline`"
            )
        place = {"project": options.project, "entity": options.entity}
        known = recall(run, "wandb")
        if {key: known.get(key) for key in place} != place:
            known = place | {"id": secrets.token_hex(4), "metrics": -1, "event": -1}
            remember(run, "wandb", known)  # before anything is sent under the name
        self._directory, self._known, self._exit_code = run, known, 0
        self._sent, self._told = int(known["metrics"]), int(known["event"])
        self._run = wandb.init(
            **place,
            id=known["id"],
            resume="allow",
            name=run.name,
            dir=str(run),
            config=spec.model_dump(mode="json", exclude={"track"}),
            allow_val_change=True,
            mode=mode,
            reinit="create_new",  # a run that a Python user has open is not ours
            settings=settings,
        )
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Logs the curves of a row."""
        if row["step"] > self._sent:
            self._run.log({"step": row["step"]} | row_curves(row))
            self._note("metrics", row["step"])

    def event(self, event: Mapping[str, Any]) -> None:
        """Logs the curves of an event, and what happened as the text `growth/event`."""
        if event["step"] > self._told:
            text = {"growth/event": event_text(event)}
            self._run.log({"step": event["step"]} | event_curves(event) | text)
            self._note("event", event["step"])

    def end(self, summary: Mapping[str, Any]) -> None:
        """Adds the results on the test part to W&B's summary."""
        self._exit_code = 0 if summary["status"] == "finished" else 1
        self._run.summary.update({"status": summary["status"]} | summary_curves(summary))

    def close(self) -> None:
        """Waits until all is sent, at most `PATIENCE` seconds."""
        self._run.finish(exit_code=self._exit_code)

    def _note(self, what: str, step: int) -> None:
        """Remembers how far the run has been logged, should it be resumed from before."""
        if self._known[what] != step:
            self._known = self._known | {what: step}
            remember(self._directory, "wandb", self._known)
