"""scikit-learn's networks from Python: the same answers as the estimator's own."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import senn_cli
from senn_cli.errors import UsageError
from senn_cli.use.prediction import predict_files

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)) * [1, 10, 0.1, 3] + [0, 100, 0, -5]
NAMES = np.array(["egg", "ham", "sun"])[(X[:, 0] > 0).astype(int) + (X[:, 3] > -5)]


def fitted(estimator: Any, y: np.ndarray, x: Any = X) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged
        return estimator.fit(x, y)


def small(kind: Any, activation: str = "tanh", **how: Any) -> Any:
    return kind(hidden_layer_sizes=(7, 5), activation=activation, max_iter=5, random_state=0, **how)


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
def test_a_classifier_answers_alike(tmp_path: Path, activation: str) -> None:
    scalers = (StandardScaler(), MinMaxScaler((-1, 2)))
    estimator = fitted(make_pipeline(*scalers, small(MLPClassifier, activation)), NAMES)
    model = senn_cli.load(senn_cli.import_weights(estimator, output=tmp_path / "out").path)
    assert model.preprocessing.classes == ("egg", "ham", "sun")
    x = X.astype(np.float32)
    np.testing.assert_allclose(model(x), estimator.predict_proba(x), atol=2e-5)


def test_two_classes_have_one_output(tmp_path: Path) -> None:
    estimator = fitted(make_pipeline(StandardScaler(), small(MLPClassifier)), X[:, 0] > 0)
    assert estimator[-1].n_outputs_ == 1
    model = senn_cli.load(senn_cli.import_weights(estimator, output=tmp_path / "out").path)
    assert model.preprocessing.classes == ("False", "True")
    x = X.astype(np.float32)
    np.testing.assert_allclose(model(x), estimator.predict_proba(x), atol=2e-5)


def test_labels_on_their_own(tmp_path: Path) -> None:
    y = np.stack([X[:, 0] > 0, X[:, 3] > -5, X[:, 1] > 99], 1).astype(int)
    estimator = fitted(make_pipeline(StandardScaler(), small(MLPClassifier)), y)
    model = senn_cli.load(senn_cli.import_weights(estimator, output=tmp_path / "out").path)
    assert (model.preprocessing.task, model.preprocessing.classes) == (
        "multilabel",
        ("0", "1", "2"),
    )
    x = X.astype(np.float32)
    np.testing.assert_allclose(model(x), estimator.predict_proba(x), atol=2e-5)


def test_a_regressor_without_scaling(tmp_path: Path) -> None:
    y = np.stack([X[:, 0], 50 + X[:, 1]], 1)
    estimator = fitted(small(MLPRegressor), y)
    model = senn_cli.load(senn_cli.import_weights(estimator, output=tmp_path / "out").path)
    x = X.astype(np.float32)
    np.testing.assert_allclose(model(x), estimator.predict(x), rtol=1e-5, atol=1e-4)


def test_columns_keep_their_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    estimator = fitted(make_pipeline(StandardScaler(), small(MLPClassifier)), NAMES, frame)
    run = senn_cli.import_weights(estimator, output=tmp_path / "out").path
    frame[["d", "b", "a", "c"]].to_csv(tmp_path / "rows.csv", index=False)
    found = predict_files(run, [tmp_path / "rows.csv"])
    np.testing.assert_allclose(found.answers, estimator.predict_proba(frame), atol=2e-5)


def test_what_is_no_network_that_was_fitted() -> None:
    tree = DecisionTreeClassifier()
    for estimator, message in (
        (tree, "a DecisionTreeClassifier cannot be imported"),
        (MLPClassifier(), "the MLPClassifier was not fitted"),
        (
            fitted(make_pipeline(PCA(2), small(MLPClassifier)), NAMES),
            "the step PCA of the pipeline",
        ),
        ({"coefs_": 1}, "cannot be imported"),
        (None, "a NoneType cannot be imported"),
    ):
        with pytest.raises(UsageError, match=message) as caught:
            senn_cli.import_weights(estimator, output="never")
        assert "MLPRegressor" in str(caught.value.hint)
    assert not Path("never").exists()
