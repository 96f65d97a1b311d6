from __future__ import annotations

import numpy as np

from senn_cli.growth.reader import Reader, Shares, make_reader
from tests.leastsquares import fit


def same(one: Reader, two: Reader) -> None:
    for name in ("a", "s", "gradient", "kernel"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)


def test_edits_of_a_reader_are_those_of_its_arrays() -> None:
    problem = fit(7)
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    s, extra = root @ root.T, rng.standard_normal((len(problem.x), 3))

    def reader(x: np.ndarray, g: np.ndarray, s: np.ndarray, w: np.ndarray) -> Reader:
        return make_reader(x, g, s, w, Shares(1e-3, 1e-3))

    wide = np.concatenate([problem.x, extra], axis=1)
    start = reader(wide, problem.g, s, problem.w)
    assert start.used == 7
    # Output 0 of 3 goes: output 2 takes its place.
    fewer = [2, 1]
    expected = reader(wide, problem.g[:, fewer], s[np.ix_(fewer, fewer)], problem.w[:, fewer])
    same(start.without_output(0), expected)
    # Neuron 1 goes without a substitute: neuron 5 takes its place, the proposals stay.
    rows = [0, 1, 6, 3, 4, 5]
    expected = reader(wide[:, [*rows, 7, 8, 9]], problem.g, s, problem.w[rows])
    same(start.without_input(1, np.zeros(7)), expected)


def test_the_statistics_are_means_over_the_sample() -> None:
    problem = fit(2, examples=11)
    found = problem.reader()
    g = problem.g
    np.testing.assert_allclose(found.a, problem.x.T @ problem.x / 11)
    np.testing.assert_allclose(found.gradient, problem.x.T @ g / 11)
    assert found.count == 11 and found.used == 7


def test_eta_by_a_dense_solve() -> None:
    problem = fit(4)
    rng = np.random.default_rng(1)
    root = rng.standard_normal((3, 3))
    s = root @ root.T
    found = make_reader(problem.x, problem.g, s, problem.w, Shares(1e-2, 1e-1))
    a = problem.x.T @ problem.x / len(problem.x)
    a += 1e-2 * np.trace(a) / 7 * np.eye(7)
    fisher = np.kron(a, s + 1e-1 * np.trace(s) / 3 * np.eye(3))
    g = (problem.x.T @ problem.g / len(problem.x)).ravel()
    np.testing.assert_allclose(found.eta, g @ np.linalg.solve(fisher, g))


def test_noise_has_the_score_that_is_expected_of_it() -> None:
    etas, biases = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = np.concatenate([np.ones((200, 1)), rng.standard_normal((200, 9))], axis=1)
        g = rng.standard_normal((200, 3))
        reader = make_reader(x, g, np.eye(3), np.zeros((10, 3)), Shares(1e-6, 1e-6))
        etas.append(reader.eta)
        biases.append(reader.eta_bias)
    # 10 rows times 3 outputs over 200 examples.
    np.testing.assert_allclose(np.mean(etas), 0.15, rtol=0.05)
    np.testing.assert_allclose(np.mean(biases), np.mean(etas), rtol=0.1)
