"""scikit-learn's interface: its own checks, its tools, and what is fitted bit by bit."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import senn_cli
from senn_cli.data.python import ArgumentError
from senn_cli.errors import InterruptedRun, SpecError
from senn_cli.python import estimators
from tests.counting import compilations

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
NAMES = np.where(X[:, 0] > 0.3, "warm", np.where(X[:, 1] > 0, "wet", "cold"))
VALUES = X[:, 0] - 2 * X[:, 1] + 5

SMALL: dict[str, Any] = {
    "hidden": [2],
    "activation": "tanh",
    "optimizer": "adam",
    "learning_rate": 1e-2,
    "expansion": "none",
    "batch_size": 12,
    "epochs": 2,
    "random_state": 0,
}
"""A network that compiles and trains in a moment."""


def classifier(**more: Any) -> senn_cli.SennClassifier:
    return senn_cli.SennClassifier(**{**SMALL, **more})


@pytest.fixture(scope="module")
def fitted() -> senn_cli.SennClassifier:
    return classifier().fit(X, NAMES)


def test_labels_come_back_as_they_were_given(fitted: senn_cli.SennClassifier) -> None:
    assert fitted.classes_.tolist() == ["cold", "warm", "wet"]
    shares = fitted.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    assert fitted.predict(X).tolist() == fitted.classes_[shares.argmax(axis=1)].tolist()
    assert fitted.score(X, NAMES) == accuracy_score(NAMES, fitted.predict(X))
    assert (fitted.n_features_in_, fitted.n_iter_) == (3, 10)  # two epochs of five batches
    # Everything is learned from: nothing is set aside.
    assert not any(key.startswith("test_") for key in fitted.run_.summary)


@pytest.mark.parametrize(
    "labels", [[10, 9, -1], [2.0, 10.0, -1.0], [False, True, True], ["10", "9", "b"]]
)
def test_labels_of_every_kind(labels: list[Any]) -> None:
    """The network's own order is that of the texts; the estimator's that of the values."""
    y = np.array(labels)[np.digitize(X[:, 0], [-0.4, 0.4])]
    model = classifier(epochs=20, learning_rate=0.05).fit(X, y)
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.predict(X).dtype == y.dtype
    assert model.score(X, y) > 0.75


def test_the_same_seed_gives_the_same_bits(fitted: senn_cli.SennClassifier) -> None:
    again = classifier().fit(X, NAMES)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    other = classifier(random_state=1).fit(X, NAMES)
    assert (other.predict_proba(X) != fitted.predict_proba(X)).any()
    drawn = [classifier(random_state=np.random.RandomState(3)).fit(X, NAMES) for _ in range(2)]
    np.testing.assert_array_equal(*(one.predict_proba(X) for one in drawn))


def test_a_second_fit_of_the_same_form_compiles_nothing(fitted: senn_cli.SennClassifier) -> None:
    with compilations() as found:
        classifier(random_state=6).fit(X + 1, NAMES).predict(X)
    assert found == []


@pytest.mark.parametrize("through", [pickle, joblib])
def test_a_pickle_is_whole_and_holds_no_data(
    fitted: senn_cli.SennClassifier, through: Any, tmp_path: Path
) -> None:
    if through is joblib:
        joblib.dump(fitted, tmp_path / "model")
        other = joblib.load(tmp_path / "model")
    else:
        other = pickle.loads(pickle.dumps(fitted))
    assert other.run_.path != fitted.run_.path
    np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
    assert other.run_.rows == fitted.run_.rows
    np.testing.assert_array_equal(senn_cli.load(other.run_)(X), senn_cli.load(fitted.run_)(X))
    files = {str(path.relative_to(other.run_.path)) for path in other.run_.path.rglob("*")}
    assert not any(name.startswith(("checkpoints", "data.")) for name in files)
    assert {"spec.yaml", "summary.json", "weights"} <= files
    again = pickle.loads(pickle.dumps(other))  # also of what came from a pickle
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert not hasattr(pickle.loads(pickle.dumps(classifier())), "run_")


def test_a_pickle_outlives_the_run(tmp_path: Path) -> None:
    model = classifier(root=tmp_path / "runs").fit(X, NAMES)
    assert model.run_.path.parent == tmp_path / "runs"
    content, expected = pickle.dumps(model), model.predict_proba(X)
    shutil.rmtree(tmp_path / "runs")
    np.testing.assert_array_equal(pickle.loads(content).predict_proba(X), expected)


def test_a_temporary_run_goes_with_its_estimator() -> None:
    model = classifier().fit(X, NAMES)
    path = model.run_.path
    assert path.is_dir()
    del model
    assert not path.exists()


def test_scikit_learns_tools() -> None:
    model = make_pipeline(StandardScaler(), classifier()).set_output(transform="default")
    assert cross_val_score(model, X, NAMES, cv=2).shape == (2,)
    search = GridSearchCV(classifier(), {"epochs": [1, 2], "learning_rate": [1e-3, 0.1]}, cv=2)
    search.fit(X, NAMES)
    assert search.best_params_["learning_rate"] == 0.1
    copy = clone(search.best_estimator_)
    assert not hasattr(copy, "run_") and copy.get_params() == search.best_estimator_.get_params()
    assert copy.set_params(epochs=3).epochs == 3


def test_values_of_one_and_of_several_targets() -> None:
    model = senn_cli.SennRegressor(**{**SMALL, "epochs": 200, "learning_rate": 0.03})
    assert model.fit(X, VALUES).predict(X).shape == (60,)
    assert model.score(X, VALUES) == r2_score(VALUES, model.predict(X)) > 0.8
    both = np.stack([VALUES, X[:, 2]], axis=1)
    assert model.set_params(epochs=2).fit(X, both).predict(X).shape == (60, 2)


def test_several_labels_an_example() -> None:
    y = np.stack([X[:, 0] > 0, X[:, 1] > 0], axis=1).astype(int)
    model = classifier(epochs=60, learning_rate=0.05).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (60, 2) and ((shares >= 0) & (shares <= 1)).all()
    np.testing.assert_array_equal(model.predict(X), shares > 0.5)
    assert model.score(X, y) > 0.6


def test_sparse_matrices_and_frames(fitted: senn_cli.SennClassifier) -> None:
    thin = classifier().fit(sparse.csr_array(X), NAMES)
    np.testing.assert_array_equal(thin.predict_proba(X), fitted.predict_proba(X))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"t": X[:, 0], "city": np.where(X[:, 1] > 0, "Rome", "Oslo")})
    model = classifier().fit(frame, pandas.Series(NAMES))
    assert model.feature_names_in_.tolist() == ["t", "city"]
    # Columns of text are inputs of 0 and 1.
    assert model.run_.preprocessing.encoding is not None and model.run_.architecture.inputs == 3
    assert model.predict(frame).shape == (60,)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"t": "s"}))


def test_weights_of_examples_count() -> None:
    """A weight of zero leaves an example out of the mean loss."""
    weights = np.where(NAMES == "wet", 0.0, 1.0)
    model = classifier(epochs=60, learning_rate=0.05).fit(X, NAMES, sample_weight=weights)
    assert "wet" not in model.predict(X)
    assert "wet" in classifier(epochs=60, learning_rate=0.05).fit(X, NAMES).predict(X)


def test_every_option_of_a_spec_and_the_last_word(tmp_path: Path) -> None:
    file = tmp_path / "rest.yaml"
    file.write_text("network: {kind: mlp, hidden: [5]}\ntraining: {steps: 3}\n")
    model = senn_cli.SennClassifier(
        activation="tanh",
        expansion="none",
        optimizer="adam",
        spec=file,
        overrides=["network.hidden=[4]"],
        random_state=0,
    )
    run = model.fit(X, NAMES).run_
    assert (run.architecture.widths, run.summary["steps"]) == ((4,), 3)
    with pytest.raises(SpecError, match="netwrok"):
        senn_cli.SennClassifier(spec={"netwrok": "mlp"}).fit(X, NAMES)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, None, "requires y to be passed"),
        (X, VALUES, "Unknown label type"),
        (X, np.zeros(60), "one class"),
        (X, np.where(X[:, 0] > 1, np.inf, 0.0), "infinity"),
        (X[0], NAMES, "Reshape your data"),
        (X[:0], NAMES[:0], "no examples"),
        (np.where(X > 2, np.nan, X), NAMES, "NaN or infinite"),
        (X + 1j, NAMES, "Complex data not supported"),
        (X, NAMES[1:], "inconsistent lengths"),
    ],
)
def test_what_cannot_be_learned_from_is_a_value_error(x: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier().fit(x, y)


def test_ctrl_c_ends_a_search_and_not_one_of_its_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **options: Any) -> Any:
        raise InterruptedRun("stopped at step 3", exit_code=130)

    monkeypatch.setattr(estimators, "fit_given", interrupted)
    with pytest.raises(KeyboardInterrupt, match="stopped at step 3"):
        cross_val_score(classifier(), X, NAMES, cv=2)


def test_an_estimator_that_was_not_fitted_says_so() -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        classifier().predict(X)
    assert issubclass(ArgumentError, ValueError)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["SennClassifier", "SennRegressor"])
def test_scikit_learns_own_checks(kind: str) -> None:
    estimator: BaseEstimator = getattr(senn_cli, kind)(epochs=10, random_state=0)
    check_estimator(estimator, expected_failed_checks=estimators.EXPECTED_FAILED_CHECKS)


@pytest.mark.parametrize(
    ("kind", "spec", "network"),
    [
        ("SennClassifier", None, {"kind": "mlp", "hidden": (64,)}),
        ("SennRegressor", None, {"kind": "mlp", "hidden": (10,)}),
        ("SennClassifier", {"network": {"hidden": [7]}}, {"kind": "mlp", "hidden": [7]}),
        ("SennClassifier", {"network": "densenet"}, "densenet"),
    ],
)
def test_where_a_network_starts(
    kind: str, spec: Any, network: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def stopped(x: Any, y: Any, spec: Any, **options: Any) -> Any:
        given.append(spec["network"])
        raise InterruptedRun("enough", exit_code=130)

    monkeypatch.setattr(estimators, "fit_given", stopped)
    model = getattr(senn_cli, kind)(spec=spec, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NAMES if kind == "SennClassifier" else VALUES)
    assert given == [network]
