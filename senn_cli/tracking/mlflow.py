"""A run of MLflow, through its client: nothing of the process-wide state that MLflow has."""

from __future__ import annotations

import importlib
import logging
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from senn_cli.spec.spec import Spec
from senn_cli.tracking.curves import event_curves, row_curves, summary_curves
from senn_cli.tracking.remembered import recall, remember

_SQLITE = "sqlite:///"

ENVIRONMENT = {
    # By default a server that is down holds the training up for minutes before it is given up.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    # A run talks to nobody but whom its spec names.
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
"""Settings of MLflow where the environment has none."""

ARTIFACTS = ("spec.yaml", "history.jsonl")
"""Files of the run's directory that are sent at its end."""


class MLflowTracker:
    """Writes a row's curves as metrics; the spec is the run's parameters, and an artifact.

    MLflow has no place for a text at a step: the growth events in full are an artifact.

    Args:
      spec: of the run; `track.mlflow` says where to.
      run: the run's directory.
      step: where the run starts from; what MLflow has after it is not sent a second time, as it
        cannot be taken back.
    """

    def __init__(self, spec: Spec, run: Path, step: int) -> None:
        self._run, self._status, self._closed = run, "KILLED", False
        # SQLAlchemy 2.1 deprecates what MLflow asks of it; no user can do anything about that.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            self._client, self._entities = _client(spec.track.mlflow.uri)
            self._id, known = self._open(spec)
        self._sent = self._last("parameters") if known else -1
        self._told = self._last("growth/delta_eta") if known else -1

    def _open(self, spec: Spec) -> tuple[str, bool]:
        """The run's identifier, and whether it was there before."""
        client, options = self._client, spec.track.mlflow
        place = {
            "store": client.tracking_uri.rpartition("@")[2],  # without a password
            "experiment": options.experiment,
        }
        known = recall(self._run, "mlflow")
        if {key: known.get(key) for key in place} == place:
            identifier = str(known["run"])
            client.update_run(identifier, status="RUNNING")
            return identifier, True
        experiment = client.get_experiment_by_name(options.experiment)
        number = (
            client.create_experiment(options.experiment, _artifacts(client.tracking_uri))
            if experiment is None
            else experiment.experiment_id
        )
        identifier = str(client.create_run(number, run_name=self._run.name).info.run_id)
        remember(self._run, "mlflow", place | {"run": identifier})
        values = spec.model_dump(mode="json", exclude={"track"})
        flat = [self._entities.Param(key, str(value)) for key, value in _flat(values).items()]
        client.log_batch(identifier, params=flat)
        return identifier, False

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Sends the curves of a row."""
        if row["step"] > self._sent:
            self._send(row["step"], row_curves(row))

    def event(self, event: Mapping[str, Any]) -> None:
        """Sends the curves of an event."""
        if event["step"] > self._told:
            self._send(event["step"], event_curves(event))

    def end(self, summary: Mapping[str, Any]) -> None:
        """Sends the results on the test part."""
        self._status = "FINISHED" if summary["status"] == "finished" else "FAILED"
        self._send(summary["steps"], summary_curves(summary))

    def close(self) -> None:
        """Sends `ARTIFACTS` and marks the run as finished, failed or, without an end, killed."""
        if self._closed:
            return
        self._closed = True
        try:
            for name in ARTIFACTS:
                if (self._run / name).is_file():
                    self._client.log_artifact(self._id, str(self._run / name))
        finally:
            self._client.set_terminated(self._id, self._status)

    def _send(self, step: int, curves: Mapping[str, float]) -> None:
        now = int(1000 * time.time())
        points = [self._entities.Metric(key, value, now, step) for key, value in curves.items()]
        if points:
            self._client.log_batch(self._id, metrics=points)

    def _last(self, key: str) -> int:
        """The last step of a curve that was sent, or -1."""
        return max((p.step for p in self._client.get_metric_history(self._id, key)), default=-1)


def _client(uri: str | None) -> tuple[Any, Any]:
    """A client, and the module of the things that it is given."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    mlflow = importlib.import_module("mlflow")
    for name in ("mlflow", "alembic"):  # their news of a new database are none for a user of senn
        logging.getLogger(name).setLevel(logging.WARNING)
    return mlflow.MlflowClient(tracking_uri=uri), importlib.import_module("mlflow.entities")


def _artifacts(uri: str) -> str | None:
    """Where the artifacts of a new experiment go: beside a local database, else MLflow decides."""
    if not uri.startswith(_SQLITE):
        return None
    return (Path(uri.removeprefix(_SQLITE)).absolute().parent / "mlruns").as_uri()


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """The values of nested mappings by their dotted keys."""
    if not isinstance(value, dict):
        return {path: value}
    return {
        key: item
        for name, inner in value.items()
        for key, item in _flat(inner, f"{path}.{name}" if path else name).items()
    }
