"""Runs in a real MLflow store, a local database."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from senn_cli.spec import Spec, parse_spec
from senn_cli.tracking.mlflow import ENVIRONMENT, MLflowTracker
from senn_cli.tracking.remembered import FILE

for name in ("mlflow", "sqlalchemy", "alembic"):
    pytest.importorskip(name, reason="needs the extra mlflow")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/store.db"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in ENVIRONMENT.items():  # so that what the tracker sets is undone
        monkeypatch.setenv(key, value)


def spec_of(store: str, experiment: str = "senn", more: str = "") -> Spec:
    track = f"track: {{mlflow: {{uri: '{store}', experiment: {experiment}}}}}\n"
    return parse_spec(f"data: digits\nnetwork: mlp\nseed: 7\n{more}{track}", "s.yaml")


def client(store: str) -> Any:
    import mlflow

    with warnings.catch_warnings():
        # SQLAlchemy deprecates what MLflow asks of it when it opens a database.
        warnings.simplefilter("ignore", DeprecationWarning)
        return mlflow.MlflowClient(tracking_uri=store)


def identifier(run: Path) -> str:
    return str(json.loads((run / FILE).read_text())["mlflow"]["run"])


def history(store: str, run: Path, key: str) -> list[tuple[int, float]]:
    found = client(store).get_metric_history(identifier(run), key)
    return [(point.step, point.value) for point in found]


def row(step: int, parameters: int) -> dict[str, Any]:
    return {"step": step, "train_loss": 0.5, "hidden": [3, 2], "parameters": parameters}


def test_a_whole_run(tmp_path: Path, store: str) -> None:
    (tmp_path / "history.jsonl").write_text('{"step": 10}\n')
    tracker = MLflowTracker(spec_of(store), tmp_path, 0)
    tracker.metrics(row(10, 38))
    tracker.event({"step": 10, "accepted": False, "delta_eta": 0.25, "ratio": 2.0})
    tracker.event({"step": 10, "accepted": True, "edit": "enlarge_capacity"})
    tracker.metrics(row(20, 46))
    assert client(store).get_run(identifier(tmp_path)).info.status == "RUNNING"
    tracker.end({"steps": 20, "status": "finished", "test_accuracy": 0.875})
    tracker.close()
    tracker.close()
    found = client(store).get_run(identifier(tmp_path))
    assert found.info.status == "FINISHED"
    assert found.info.run_name == tmp_path.name
    assert client(store).get_experiment(found.info.experiment_id).name == "senn"
    assert found.data.params["seed"] == "7"
    assert found.data.params["data.source"] == "digits"
    assert not any(key.startswith("track") for key in found.data.params)
    assert history(store, tmp_path, "parameters") == [(10, 38.0), (20, 46.0)]
    assert history(store, tmp_path, "hidden/1") == [(10, 2.0), (20, 2.0)]
    assert history(store, tmp_path, "hidden/total") == [(10, 5.0), (20, 5.0)]
    assert history(store, tmp_path, "growth/delta_eta") == [(10, 0.25)]
    assert history(store, tmp_path, "growth/ratio") == [(10, 2.0)]
    assert history(store, tmp_path, "accuracy/test") == [(20, 0.875)]
    assert [file.path for file in client(store).list_artifacts(identifier(tmp_path))] == [
        "history.jsonl"
    ]


def test_a_resumed_run_goes_on_and_repeats_no_step(tmp_path: Path, store: str) -> None:
    tracker = MLflowTracker(spec_of(store), tmp_path, 0)
    for step in (10, 20, 30):
        tracker.metrics(row(step, step))
        tracker.event({"step": step, "delta_eta": 1.0})
    first = identifier(tmp_path)
    # Killed; goes on from step 10 with another spec, and interrupted after that.
    tracker = MLflowTracker(spec_of(store, more="training: {epochs: 99}\n"), tmp_path, 10)
    for step in (20, 30, 40):
        tracker.metrics(row(step, -step))
        tracker.event({"step": step, "delta_eta": 2.0})
    tracker.close()
    assert identifier(tmp_path) == first
    assert history(store, tmp_path, "parameters") == [(10, 10), (20, 20), (30, 30), (40, -40)]
    assert history(store, tmp_path, "growth/delta_eta") == [(10, 1), (20, 1), (30, 1), (40, 2)]
    assert client(store).get_run(first).info.status == "KILLED"


def test_the_growth_round_that_an_interruption_put_off_is_sent(tmp_path: Path, store: str) -> None:
    tracker = MLflowTracker(spec_of(store), tmp_path, 0)
    tracker.metrics(row(10, 1))
    tracker.close()
    tracker = MLflowTracker(spec_of(store), tmp_path, 10)
    assert client(store).get_run(identifier(tmp_path)).info.status == "RUNNING"
    tracker.event({"step": 10, "delta_eta": 1.0})
    tracker.close()
    assert history(store, tmp_path, "growth/delta_eta") == [(10, 1.0)]


def test_another_experiment_is_another_run(tmp_path: Path, store: str) -> None:
    MLflowTracker(spec_of(store), tmp_path, 0).close()
    first = identifier(tmp_path)
    MLflowTracker(spec_of(store, "other"), tmp_path, 10).close()
    assert identifier(tmp_path) != first


def test_a_run_that_diverged_has_failed(tmp_path: Path, store: str) -> None:
    tracker = MLflowTracker(spec_of(store), tmp_path, 0)
    tracker.end({"steps": 3, "status": "diverged"})
    tracker.close()
    assert client(store).get_run(identifier(tmp_path)).info.status == "FAILED"


def test_a_server_that_is_down_raises_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    # Nothing listens on port 9 (discard) of a machine that runs no ancient services.
    with pytest.raises(Exception, match="failed with exception"):
        MLflowTracker(spec_of("http://127.0.0.1:9"), tmp_path, 0)
    assert not (tmp_path / FILE).exists()


def test_a_password_in_the_environment_is_not_written_down(
    tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Client:
        tracking_uri = "https://user:secret@host/mlflow"

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kwargs: Found()

    class Found:
        experiment_id = "1"

        class info:
            run_id = "abc"

    class Entities:
        Param = staticmethod(lambda key, value: (key, value))

    monkeypatch.setattr("senn_cli.tracking.mlflow._client", lambda uri: (Client(), Entities))
    MLflowTracker(spec_of(store), tmp_path, 0)
    assert json.loads((tmp_path / FILE).read_text()) == {
        "mlflow": {"store": "host/mlflow", "experiment": "senn", "run": "abc"}
    }
