from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from senn_cli.use.measures import classification, regression

NAMES = tuple("abcdefg")


def drawn(classes: int = 7, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    logits = 2 * rng.standard_normal((n, classes)) + 2 * np.eye(classes)[y]
    return logits.astype(np.float32), y.astype(np.int32)


def test_against_scikit_learn() -> None:
    outputs, y = drawn()
    found = classification(outputs, y, NAMES)
    p = np.exp(outputs.astype(np.float64))
    p /= p.sum(axis=1, keepdims=True)
    answers = outputs.argmax(axis=1)
    assert found.examples == 300
    assert found.loss == pytest.approx(metrics.log_loss(y, p))
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, answers))
    assert found.top5_accuracy == pytest.approx(metrics.top_k_accuracy_score(y, p, k=5))
    assert found.confusion == tuple(map(tuple, metrics.confusion_matrix(y, answers)))
    precision, recall, _, support = metrics.precision_recall_fscore_support(y, answers)
    assert [one.name for one in found.classes] == list(NAMES)
    np.testing.assert_allclose([one.precision for one in found.classes], precision)
    np.testing.assert_allclose([one.recall for one in found.classes], recall)
    assert [one.support for one in found.classes] == support.tolist()


def test_a_confusion_matrix_has_the_true_classes_in_its_rows() -> None:
    outputs = np.array([[2, 1, 0], [2, 1, 0], [0, 0, 9]], np.float32)
    found = classification(outputs, np.array([0, 1, 2]), "abc")
    assert found.confusion == ((1, 0, 0), (1, 0, 0), (0, 0, 1))
    assert found.top5_accuracy is None  # of three classes


def test_what_is_undefined_is_none() -> None:
    found = classification(np.array([[3, 0, 0], [3, 0, 0]], np.float32), np.array([0, 1]), "abc")
    assert [one.precision for one in found.classes] == [0.5, None, None]
    assert [one.recall for one in found.classes] == [1.0, 0.0, None]
    assert [one.support for one in found.classes] == [1, 1, 0]


def test_of_equal_logits_the_first_wins() -> None:
    outputs = np.zeros((7, 7), np.float32)
    found = classification(outputs, np.arange(7), NAMES)
    assert found.accuracy == pytest.approx(1 / 7)
    assert found.top5_accuracy == pytest.approx(5 / 7)
    assert found.loss == pytest.approx(np.log(7))


def test_large_logits_overflow_nothing() -> None:
    outputs = np.array([[1e4, 0.0], [-1e4, 0.0]], np.float32)
    assert classification(outputs, np.array([0, 0]), "ab").loss == pytest.approx(5e3)


def test_a_regression_against_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=(50, 2)) * (1, 200) + (0, 5000)
    guess = y + rng.normal(size=(50, 2)) * (0.1, 30)
    shift, scale = np.array([0.0, 5000.0]), np.array([1.0, 1 / 200])
    outputs = (guess - shift) * scale
    found = regression(outputs, y, shift, scale, ("near", "far"))
    mse = metrics.mean_squared_error(y, guess, multioutput="raw_values")
    mae = metrics.mean_absolute_error(y, guess, multioutput="raw_values")
    r2 = metrics.r2_score(y, guess, multioutput="raw_values")
    for i, one in enumerate(found.targets):
        assert one.mse == pytest.approx(mse[i])
        assert one.rmse == pytest.approx(mse[i] ** 0.5)
        assert one.mae == pytest.approx(mae[i])
        assert one.r2 == pytest.approx(r2[i])
    assert [one.name for one in found.targets] == ["near", "far"]
    assert found.mse == pytest.approx(mse.mean())
    assert found.rmse == pytest.approx(mse.mean() ** 0.5)
    assert found.mae == pytest.approx(mae.mean())
    assert found.loss == pytest.approx(0.5 * (((guess - y) * scale) ** 2).sum(axis=1).mean())


def test_equal_targets_have_no_variance_to_explain() -> None:
    y = np.full((4, 1), 0.1, np.float32)
    found = regression(np.zeros((4, 1)), y, np.zeros(1), np.ones(1), ("t",))
    assert found.targets[0].r2 is None
    assert found.mse == pytest.approx(0.01)


def test_small_errors_beside_a_large_shift() -> None:
    y = np.array([[1e6], [1e6 + 1]], np.float32)
    outputs = np.array([[0.0], [0.99]], np.float32)
    found = regression(outputs, y, np.array([1e6], np.float32), np.ones(1, np.float32), ("t",))
    assert found.mse == pytest.approx(0.5 * 0.01**2, rel=1e-5)
